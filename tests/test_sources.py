"""Sources: taking items, giving them back, failing, being opened anew, being closed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any

import anyio
import pytest

import asynchooks as ah

DATA = ["a", "b", "c"]


class Rows:
    """An iterable that is no iterator, and logs when its reading ends."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def __iter__(self) -> Iterator[str]:
        try:
            yield from DATA
        finally:
            self.log.append("closed")


class AsyncRows(Rows):
    """The same, to be awaited."""

    __iter__ = None  # type: ignore[assignment]

    async def __aiter__(self) -> AsyncIterator[str]:
        try:
            for item in DATA:
                await anyio.lowlevel.checkpoint()
                yield item
        finally:
            self.log.append("closed")


class Stream:
    """An async iterator that is no generator."""

    def __init__(self) -> None:
        self._items = iter(DATA)

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> str:
        await anyio.lowlevel.checkpoint()
        try:
            return next(self._items)
        except StopIteration:
            raise StopAsyncIteration from None


def generate() -> Iterator[str]:
    yield from DATA


async def generate_later() -> AsyncIterator[str]:
    for item in DATA:
        await anyio.lowlevel.checkpoint()
        yield item


KINDS: dict[str, Callable[[], Any]] = {
    "list": lambda: DATA,
    "string": lambda: "abc",
    "iterator": lambda: iter(DATA),
    "generator": generate,
    "async generator": generate_later,
    "async iterator": Stream,
    "iterable": Rows,
    "async iterable": AsyncRows,
    "function of a list": lambda: lambda: DATA,
    "function of an iterator": lambda: lambda: iter(DATA),
    "generator function": lambda: generate,
    "async generator function": lambda: generate_later,
    "class": lambda: Stream,
}


def source_of(data: Any) -> tuple[ah.Graph, ah.Op[Any]]:
    """Returns a graph with a source of the data, and the op that takes an item."""
    with ah.Graph().as_default() as graph:
        return graph, ah.from_iterable(data).get_next()


async def drain(session: ah.Session, op: ah.Op[Any]) -> list[Any]:
    """Takes items until the end."""
    items: list[Any] = []
    try:
        while True:
            items.append(await session.run(op))
    except ah.OutOfRangeError:
        return items


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_items_are_taken_in_order(kind: Callable[[], Any]) -> None:
    """Each run takes the next item, and every run after the last item says that there is none."""
    graph, op = source_of(kind())
    async with ah.Session(graph) as session:
        assert await drain(session, op) == DATA
        for _ in range(2):
            with pytest.raises(ah.OutOfRangeError, match="has no more items"):
                await session.run(op)


@pytest.mark.parametrize("empty", [list, lambda: iter([]), lambda: list, dict])
async def test_empty_source_is_at_its_end(empty: Callable[[], Any]) -> None:
    """A source without items ends with the first run."""
    graph, op = source_of(empty())
    async with ah.Session(graph) as session:
        assert await drain(session, op) == []


@pytest.mark.parametrize("end", [ah.OutOfRangeError, anyio.EndOfStream, StopAsyncIteration])
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_any_end_of_the_input_ends_a_source(kind: str, end: type[Exception]) -> None:
    """Whichever error of the end comes out of the data, it is the end for good."""

    def ends() -> Iterator[int]:
        yield 1
        raise end

    async def ends_later() -> AsyncIterator[int]:
        yield 1
        raise anyio.EndOfStream if end is StopAsyncIteration else end

    graph, op = source_of(ends if kind == "sync" else ends_later)
    async with ah.Session(graph) as session:
        assert await drain(session, op) == [1]
        assert await drain(session, op) == []


async def test_function_that_raises_stop_iteration_is_at_its_end() -> None:
    """A function that has nothing to open says so with StopIteration."""

    def opens() -> Any:
        raise StopIteration

    graph, op = source_of(opens)
    async with ah.Session(graph) as session:
        assert await drain(session, op) == []


async def test_nothing_is_read_before_it_is_wanted() -> None:
    """Reading starts with the first run that takes an item, and is never ahead of it."""
    log: list[int] = []

    def reads() -> Iterator[int]:
        for item in range(3):
            log.append(item)
            yield item

    async def reads_later() -> AsyncIterator[int]:
        for item in reads():
            yield item

    for data in (reads, reads_later):
        log.clear()
        graph, op = source_of(data)
        async with ah.Session(graph) as session:
            await session.run([])
            assert log == []
            await session.run(op)
            await anyio.wait_all_tasks_blocked()
            assert log == [0]
            await session.run(op)
            assert log == [0, 1]


async def test_sessions_have_positions_of_their_own() -> None:
    """Two sessions, live or one after the other, each read from the start."""
    graph, op = source_of(generate)
    async with ah.Session(graph) as session, ah.Session(graph) as other:
        assert [await each.run(op) for each in (session, other, session)] == ["a", "a", "b"]
    async with ah.Session(graph) as session:
        assert await session.run(op) == "a"


async def test_sessions_share_what_can_be_read_once() -> None:
    """An iterator goes on in the next session where it was left; items are not doubled."""
    graph, op = source_of(iter(DATA))
    async with ah.Session(graph) as session:
        assert await session.run(op) == "a"
    async with ah.Session(graph) as session:
        assert await drain(session, op) == ["b", "c"]


async def test_state_carries_the_position() -> None:
    """A session that is given the state of another goes on where that one was."""
    graph, op = source_of(DATA)
    state = ah.SessionState()
    async with ah.Session(graph, state) as session:
        assert await session.run(op) == "a"
    async with ah.Session(graph, state) as session:
        assert await drain(session, op) == ["b", "c"]


async def test_ops_of_one_source_take_items_of_their_own() -> None:
    """Two ops of one source take two items in a run; one op taken by two takes one."""
    with ah.Graph().as_default() as graph:
        source = ah.from_iterable(DATA)
        first, second = source.get_next(), source.get_next("second")
        both = ah.op(lambda *items: items)(first, first)
    async with ah.Session(graph) as session:
        assert await session.run([both, first]) == [("a", "a"), "a"]
        assert sorted(await session.run([first, second])) == ["b", "c"]
    assert [first.name, second.name, repr(source)] == [
        "source/get_next",
        "second",
        "<Source 'source'>",
    ]


def test_source_is_named_after_its_function() -> None:
    """The name of a source is that of its function, or the one given."""
    with ah.Graph().as_default():
        sources = [ah.from_iterable(generate), ah.from_iterable(DATA), ah.from_iterable("", "s")]
        assert [source.name for source in sources] == ["generate", "source", "s"]
        assert [source.get_next().name for source in sources[:2]] == [
            "generate/get_next",
            "source/get_next",
        ]


class Failing:
    """An op function that fails the first times."""

    def __init__(self, times: int) -> None:
        self._times = times

    async def __call__(self, *items: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        if self._times:
            self._times -= 1
            raise ValueError("fails")
        return list(items)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_item_of_a_failed_run_is_taken_again(kind: Callable[[], Any]) -> None:
    """An item taken by a run that failed is the next one taken; nothing is lost or doubled."""
    with ah.Graph().as_default() as graph:
        item = ah.from_iterable(kind()).get_next()
        fails = ah.op(Failing(3))(item)
    async with ah.Session(graph) as session:
        for _ in range(3):
            with pytest.raises(ValueError, match="fails"):
                await session.run(fails)
        assert await session.run(fails) == ["a"]
        assert await drain(session, item) == ["b", "c"]


async def test_items_that_come_back_are_taken_in_their_order() -> None:
    """Whatever order runs give items back in, the earliest is the next; items need no order."""
    data = [object() for _ in range(4)]
    gates = [anyio.Event() for _ in range(3)]

    async def wait(number: int, item: object) -> None:
        await gates[number].wait()
        raise ValueError(str(number))

    with ah.Graph().as_default() as graph:
        item = ah.from_iterable(data).get_next()
        number = ah.placeholder()
        waits = ah.op(wait)(number, item)

    async def run(index: int) -> None:
        with pytest.raises(ValueError, match=str(index)):
            await session.run(waits, {number: index})

    async with ah.Session(graph) as session:
        async with anyio.create_task_group() as tasks:
            for index in range(3):
                tasks.start_soon(run, index)
                await anyio.wait_all_tasks_blocked()
            assert await session.run(item) is data[3]
            for index in (1, 2, 0):
                gates[index].set()
                await anyio.wait_all_tasks_blocked()
        assert await drain(session, item) == data[:3]


@pytest.mark.parametrize("longer_first", [True, False])
async def test_item_goes_back_when_another_source_is_at_its_end(longer_first: bool) -> None:
    """A run that meets the end of one source gives back the item of the other."""
    with ah.Graph().as_default() as graph:
        short = ah.from_iterable([1], "short").get_next()
        long = ah.from_iterable(["x", "y", "z"], "long").get_next()
    fetches = [long, short] if longer_first else [short, long]
    async with ah.Session(graph) as session:
        assert sorted(await session.run(fetches), key=str) == [1, "x"]
        for _ in range(2):
            with pytest.raises(ah.OutOfRangeError, match="'short' has no more items"):
                await session.run(fetches)
        assert await drain(session, long) == ["y", "z"]


@pytest.mark.parametrize("turns", range(1, 6))
async def test_cancelled_run_does_not_break_an_async_generator(turns: int) -> None:
    """A run cancelled at any point of reading leaves the generator whole, and no item is lost."""

    async def reads() -> AsyncIterator[int]:
        for item in range(5):
            for _ in range(3):
                await anyio.lowlevel.checkpoint()
            yield item

    graph, op = source_of(reads)
    got: list[int] = []
    async with ah.Session(graph) as session:

        async def run() -> None:
            got.append(await session.run(op))

        await run()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert [*got, *await drain(session, op)] == [0, 1, 2, 3, 4]


async def test_reading_goes_on_for_who_still_waits() -> None:
    """When one of two waiting runs is cancelled, the other one gets the item."""
    more, got = anyio.Event(), []

    async def reads() -> AsyncIterator[int]:
        await more.wait()
        yield 1

    graph, op = source_of(reads)
    async with ah.Session(graph) as session:

        async def run() -> None:
            got.append(await session.run(op))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            async with anyio.create_task_group() as others:
                others.start_soon(run)
                await anyio.wait_all_tasks_blocked()
                others.cancel_scope.cancel()
            more.set()
    assert got == [1]


@pytest.mark.parametrize("data", [generate, generate_later])
async def test_many_runs_share_the_items(data: Callable[[], Any]) -> None:
    """Runs that overlap get each an item of their own, and the end when there are no more."""
    graph, op = source_of(data)
    got: list[str] = []
    ends: list[Exception] = []

    async def run() -> None:
        try:
            got.append(await session.run(op))
        except ah.OutOfRangeError as error:
            ends.append(error)

    async with ah.Session(graph) as session, anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(run)
    assert (sorted(got), len(ends)) == (DATA, 2)


class Breaks:
    """Opens data that breaks off, each time at a later item, and logs each opening and end."""

    def __init__(self, *breaks: int) -> None:
        self.log: list[str] = []
        self._breaks = iter(breaks)

    def __call__(self) -> Iterator[int]:
        self.log.append("open")
        stop = next(self._breaks, 10)
        try:
            for item in range(5):
                if item == stop:
                    raise OSError(f"at {item}")
                yield item
        finally:
            self.log.append("closed")

    async def later(self) -> AsyncIterator[int]:
        for item in self():
            await anyio.lowlevel.checkpoint()
            yield item


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_source_that_fails_is_opened_anew_at_the_same_item(kind: str) -> None:
    """After an error the data is opened again and read on from the item that failed."""
    breaks = Breaks(2, 2, 0, 4)
    graph, op = source_of(breaks if kind == "sync" else breaks.later)
    story: list[Any] = []
    async with ah.Session(graph) as session:
        while len(story) < 9:
            try:
                story.append(await session.run(op))
            except OSError as error:
                story.append(str(error))
    assert story == [0, 1, "at 2", "at 2", "at 0", 2, 3, "at 4", 4]
    assert breaks.log == ["open", "closed"] * 5 or breaks.log == ["open", "closed"] * 4 + ["open"]


async def test_source_whose_opening_fails_is_opened_again() -> None:
    """An error of the function itself is the run's, and the next run calls it again."""
    planned = iter([OSError("refused"), OSError("refused again")])

    def opens() -> list[int]:
        for error in planned:
            raise error
        return [1]

    graph, op = source_of(opens)
    async with ah.Session(graph) as session:
        for message in ("refused", "refused again"):
            with pytest.raises(OSError, match=f"^{message}\n"):
                await session.run(op)
        assert await drain(session, op) == [1]


async def test_data_that_has_become_shorter_is_at_its_end() -> None:
    """Data that is opened anew and ends before the item that is due ends the source."""
    opened = iter([2, 1])

    def shrinks() -> Iterator[int]:
        length = next(opened)
        yield from range(length)
        if length == 2:
            raise OSError("breaks")

    async def shrinks_later() -> AsyncIterator[int]:
        for item in shrinks():
            yield item

    for data in (shrinks, shrinks_later):
        opened = iter([2, 1])
        graph, op = source_of(data)
        async with ah.Session(graph) as session:
            assert [await session.run(op), await session.run(op)] == [0, 1]
            with pytest.raises(OSError, match="breaks"):
                await session.run(op)
            assert await drain(session, op) == []


def fails_at_b() -> Iterator[str]:
    yield "a"
    raise OSError("at b")


async def fails_at_b_later() -> AsyncIterator[str]:
    yield "a"
    raise OSError("at b")


@pytest.mark.parametrize("data", [fails_at_b, fails_at_b_later])
async def test_generator_that_failed_raises_its_error_again(data: Callable[[], Any]) -> None:
    """A generator that failed has no end: every later run raises its error."""
    graph, op = source_of(data())
    async with ah.Session(graph) as session:
        assert await session.run(op) == "a"
        for _ in range(3):
            with pytest.raises(OSError, match="at b"):
                await session.run(op)


async def test_iterator_that_failed_is_read_on() -> None:
    """An iterator that is no generator is asked for its next item again after an error."""

    class Shaky:
        turn = 0

        def __iter__(self) -> Shaky:
            return self

        def __next__(self) -> int:
            self.turn += 1
            if self.turn == 2:
                raise OSError("shaky")
            return self.turn

    graph, op = source_of(Shaky())
    async with ah.Session(graph) as session:
        assert await session.run(op) == 1
        with pytest.raises(OSError, match="shaky"):
            await session.run(op)
        assert [await session.run(op), await session.run(op)] == [3, 4]


async def test_items_given_back_come_before_an_error() -> None:
    """What a failed run gave back is taken before the error of reading on is met."""
    with ah.Graph().as_default() as graph:
        source = ah.from_iterable(fails_at_b)
        item = source.get_next()
        fails = ah.op(Failing(1))(item, source.get_next())
    async with ah.Session(graph) as session:
        with pytest.raises(OSError, match="at b"):
            await session.run(fails)
        assert await session.run(item) == "a"
        with pytest.raises(OSError, match="at b"):
            await session.run(item)


async def test_every_waiting_run_is_told_of_an_error_or_reads_on() -> None:
    """When reading fails under two waiting runs, one gets the error and the other reads anew."""
    go = anyio.Event()
    opened: list[int] = []
    outcomes: list[Any] = []

    async def reads() -> AsyncIterator[str]:
        opened.append(1)
        await go.wait()
        if len(opened) == 1:
            raise OSError("first")
        yield "a"

    graph, op = source_of(reads)
    async with ah.Session(graph) as session:

        async def run() -> None:
            try:
                outcomes.append(await session.run(op))
            except OSError as error:
                outcomes.append(str(error))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            tasks.start_soon(run)
            await anyio.wait_all_tasks_blocked()
            go.set()
    assert sorted(outcomes) == ["a", "first"]


@pytest.mark.parametrize("kind", ["iterable", "async iterable", "function", "async function"])
async def test_what_a_session_opened_is_closed_with_it(kind: str) -> None:
    """A generator that the session has opened is closed when the session is, and not before."""
    rows = Rows() if kind in ("iterable", "function") else AsyncRows()
    data = rows if kind.endswith("iterable") else rows.__iter__ or rows.__aiter__
    graph, op = source_of(data)
    async with ah.Session(graph) as session:
        assert await session.run(op) == "a"
        assert rows.log == []
    assert rows.log == ["closed"]
    with pytest.raises(ah.SessionClosedError):
        await session.run(op)


async def test_generator_of_the_user_is_left_to_the_user() -> None:
    """A generator object is not closed with the session: another one may read on."""
    items, later = generate(), generate_later()
    for data in (items, later):
        graph, op = source_of(data)
        async with ah.Session(graph) as session:
            assert await session.run(op) == "a"
    assert list(items) == ["b", "c"]
    assert [item async for item in later] == ["b", "c"]


async def test_reading_under_way_ends_with_the_session() -> None:
    """A read that hangs is cancelled when the session is closed."""
    log: list[str] = []

    async def hangs() -> AsyncIterator[int]:
        try:
            yield 1
            await anyio.sleep_forever()
        finally:
            log.append("closed")

    graph, op = source_of(hangs)
    async with ah.Session(graph) as session:
        assert await session.run(op) == 1
        with anyio.move_on_after(0.005):
            await session.run(op)
    assert log == ["closed"]


async def test_sources_end_when_their_end_was_read() -> None:
    """A source that was read to its end leaves nothing to be closed."""
    rows = AsyncRows()
    graph, op = source_of(rows)
    async with ah.Session(graph) as session:
        assert await drain(session, op) == DATA
        assert rows.log == ["closed"]
    assert rows.log == ["closed"]


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_error_of_closing_leaves_the_session(kind: str) -> None:
    """An error out of the data's clean-up is a clean-up error of the session."""

    def fails() -> Iterator[int]:
        try:
            yield 1
        finally:
            raise OSError("closing")

    async def fails_later() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            raise OSError("closing")

    graph, op = source_of(fails if kind == "sync" else fails_later)
    with pytest.raises(OSError, match="closing"):
        async with ah.MonitoredSession(graph) as session:
            assert await session.run(op) == 1
    with pytest.raises(OSError, match="closing"):
        async with ah.Session(graph) as raw:
            assert await raw.run(op) == 1


@pytest.mark.parametrize("kind", ["raw", "monitored", "state"])
async def test_every_source_is_closed_whatever_the_others_raise(kind: str) -> None:
    """All sources are closed though some fail to; their errors leave together."""
    log: list[str] = []

    def reads(name: str, error: Exception | None) -> Iterator[str]:
        try:
            yield name
        finally:
            log.append(name)
            if error is not None:
                raise error

    plans = {"a": OSError("a"), "b": None, "c": ValueError("c"), "d": None}
    with ah.Graph().as_default() as graph:
        ops = [ah.from_iterable(partial(reads, *plan)).get_next() for plan in plans.items()]
    state = ah.SessionState()
    session = {
        "raw": lambda: ah.Session(graph),
        "monitored": lambda: ah.MonitoredSession(graph),
        "state": lambda: ah.Session(graph, state),
    }[kind]()
    with pytest.raises(ExceptionGroup) as caught:
        async with session:
            assert await session.run(ops) == list("abcd")
        await state.aclose()
    assert sorted(log) == list("abcd")
    assert sorted(map(repr, caught.value.exceptions)) == ["OSError('a')", "ValueError('c')"]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_state_that_was_closed_can_be_gone_on_with(kind: Callable[[], Any]) -> None:
    """Closing a state ends reading, not the position: the next session reads on from there."""
    graph, op = source_of(kind())
    state = ah.SessionState()
    got: list[Any] = []
    for _ in range(3):
        async with ah.Session(graph, state) as session:
            with anyio.fail_after(1):
                got.append(await session.run(op))
        await state.aclose()
        await state.aclose()
    async with ah.Session(graph, state) as session:
        assert (got, await drain(session, op)) == (DATA, [])
    await state.aclose()


async def test_source_survives_the_loss_of_a_session() -> None:
    """The next generation reads on where the last one was, and gets what it did not commit."""
    planned = [ah.AbortedError("lost"), None, ah.AbortedError("lost again"), None, None]

    async def use(item: str) -> str:
        error = planned.pop(0)
        if error is not None:
            raise error
        return item

    with ah.Graph().as_default() as graph:
        op = ah.op(use)(ah.from_iterable(generate_later).get_next())
    got: list[str] = []
    async with ah.MonitoredSession(graph) as session:
        while True:
            got.append(await session.run(op))
    assert (got, planned) == (DATA, [])


async def test_async_data_is_read_in_one_task_of_its_own() -> None:
    """Reading goes on in one task, which sees the context of the run that started it."""
    caller: ContextVar[str] = ContextVar("caller", default="nobody")
    seen: set[tuple[int, str]] = set()

    async def reads() -> AsyncIterator[int]:
        while True:
            seen.add((anyio.get_current_task().id, caller.get()))
            yield 1

    graph, op = source_of(reads)
    async with ah.Session(graph) as session:
        for name in ("first", "second"):
            caller.set(name)
            await session.run(op)
    assert [name for _, name in seen] == ["first"]
    assert anyio.get_current_task().id not in dict(seen)


@pytest.mark.parametrize("commits", [True, False])
async def test_end_waits_for_items_that_may_come_back(commits: bool) -> None:
    """A run that meets the end waits for what becomes of an item that another one holds."""
    go = anyio.Event()
    outcomes: list[str] = []

    async def hold(item: str) -> str:
        await go.wait()
        if not commits:
            raise ValueError("holder failed")
        return item

    with ah.Graph().as_default() as graph:
        item = ah.from_iterable(["last"]).get_next()
        held = ah.op(hold)(item)

    async def run(name: str, op: ah.Op[str]) -> None:
        try:
            outcomes.append(f"{name}: {await session.run(op)}")
        except (ValueError, ah.OutOfRangeError) as error:
            outcomes.append(f"{name}: {type(error).__name__}")

    async with ah.Session(graph) as session, anyio.create_task_group() as tasks:
        tasks.start_soon(run, "holder", held)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(run, "other", item)
        await anyio.wait_all_tasks_blocked()
        assert outcomes == []
        go.set()
    expected = ["holder: last", "other: OutOfRangeError"]
    assert sorted(outcomes) == (expected if commits else ["holder: ValueError", "other: last"])


async def test_source_that_never_closes_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    """A clean-up of the data that hangs is named in a warning, and the session is closed."""
    release = anyio.Event()

    async def hangs() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await release.wait()

    graph, op = source_of(hangs)
    async with ah.MonitoredSession(graph, close_timeout=0.005) as session:
        assert await session.run(op) == 1
    assert "closing hangs did not finish within 0.005 s" in caplog.text
    release.set()
    await anyio.wait_all_tasks_blocked()
