"""The raw session: its life, its plans, its timeout, its errors."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import pytest

import asynchooks as ah


async def test_session_takes_the_default_graph() -> None:
    """Without an argument the session runs the default graph of the moment."""
    with ah.Graph().as_default() as graph:
        x = ah.constant(1)
        session = ah.Session()
    assert session.graph is graph
    async with session as entered:
        assert entered is session
        assert await session.run(x) == 1


async def test_session_says_whether_it_is_closed() -> None:
    """A session is closed from the moment it is left."""
    session = ah.Session(ah.Graph())
    seen = [session.closed]
    async with session:
        seen.append(session.closed)
    assert [*seen, session.closed] == [False, False, True]


async def test_session_is_closed_while_it_closes() -> None:
    """A run that comes while resources are being closed is refused."""
    refused: list[BaseException] = []

    class Slow:
        async def __aenter__(self) -> None: ...

        async def __aexit__(self, *exc_info: object) -> None:
            try:
                await session.run([])
            except ah.SessionClosedError as error:
                refused.append(error)

    with ah.Graph().as_default() as graph:
        ah.resource(Slow)
    async with ah.Session(graph) as session:
        pass
    assert str(refused[0]).startswith("the session is closing")


async def test_graph_of_a_raw_session_may_grow() -> None:
    """A raw session does not make its graph final: ops that are added later can be run."""
    graph = ah.Graph()
    async with ah.Session(graph) as session:
        for number in range(3):
            with graph.as_default():
                x = ah.constant(number)
            assert await session.run(x) == number


async def test_many_different_fetches_do_not_wear_a_session_out() -> None:
    """A session that is asked for ever new things, and for old ones again, answers them all."""
    with ah.Graph().as_default() as graph:
        ops = [ah.constant(number) for number in range(300)]
    async with ah.Session(graph) as session:
        for _ in range(2):
            assert [await session.run(op) for op in ops] == list(range(300))
        assert await session.run(ops[0], {ops[0]: "fed"}) == "fed"
        assert await session.run(ops[0]) == 0


async def test_plan_is_made_for_what_is_fed() -> None:
    """The same fetches with other feeds are planned anew."""
    with ah.Graph().as_default() as graph:
        p, q = ah.placeholder("p"), ah.placeholder("q")
        x = ah.op(lambda *values: values)(p, q)
        y = ah.op(lambda x: ("y", x))(x)
    async with ah.Session(graph) as session:
        assert await session.run(y, {p: 1, q: 2}) == ("y", (1, 2))
        assert await session.run(y, {q: 2, p: 1}) == ("y", (1, 2))
        assert await session.run(y, {x: 3}) == ("y", 3)
        with pytest.raises(ah.InvalidArgumentError, match="'q'"):
            await session.run(y, {p: 1})


async def test_timeout_ends_the_ops() -> None:
    """Ops that take longer than the run's timeout are cancelled; the error says the limit."""
    ended: list[str] = []

    async def hangs() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("ended")

    async with ah.Session(ah.Graph()) as session:
        with pytest.raises(ah.DeadlineExceededError, match=r"timeout of 0.01 s") as caught:
            await session.run([partial(hangs) for _ in "abc"], options=ah.RunOptions(timeout=0.01))
        assert isinstance(caught.value, TimeoutError)
        assert caught.value.timeout == 0.01
        assert ended == ["ended"] * 3
        assert await session.run([], options=ah.RunOptions(timeout=1)) == []


async def test_timeout_of_a_run_leaves_no_trace() -> None:
    """A run that took too long assigns nothing and gives its item back."""
    with ah.Graph().as_default() as graph:
        v = ah.Variable(0)
        item = ah.from_iterable([1, 2]).get_next()
        hangs = ah.op(lambda *values: anyio.sleep_forever())(v.assign_add(item))
    async with ah.Session(graph) as session:
        with pytest.raises(ah.DeadlineExceededError):
            await session.run(hangs, options=ah.RunOptions(timeout=0.001))
        assert await session.run([v, item]) == [0, 1]


async def test_runs_overlap() -> None:
    """Any number of runs of one session are under way at the same time."""
    missing, everybody = 10, anyio.Event()

    async def meet() -> None:
        nonlocal missing
        missing -= 1
        if not missing:
            everybody.set()
        await everybody.wait()

    async with ah.Session(ah.Graph()) as session:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(session.run, meet)
    assert missing == 0


async def test_op_may_run_its_own_session() -> None:
    """A run inside an op is a run of its own: it commits by itself and sees what is committed."""
    with ah.Graph().as_default() as graph:
        v = ah.Variable(1)
        add = v.assign_add(1)

        async def inner(*inputs: Any) -> list[Any]:
            return [await session.run(add), await session.run(v)]

        outer = ah.op(inner)(v.assign_add(10))
    async with ah.Session(graph) as session:
        assert await session.run([outer, v]) == [[2, 2], 1]
        assert await session.run(v) == 12


async def test_body_error_leaves_the_session() -> None:
    """An error of the block leaves it as it is, the end of the input too."""
    for error in (ValueError("body"), ah.OutOfRangeError("end")):
        with pytest.raises(type(error)) as caught:
            async with ah.Session(ah.Graph()):
                raise error
        assert caught.value is error


async def test_session_that_was_not_entered_can_be_left() -> None:
    """Leaving a session that was never entered closes it."""
    session = ah.Session(ah.Graph())
    await session.__aexit__(None, None, None)
    assert session.closed
    with pytest.raises(ah.SessionClosedError, match="not entered yet -> closing -> closed"):
        await session.__aenter__()


async def test_cancelled_entering_closes_what_was_opened() -> None:
    """A session whose entering is cancelled is closed."""
    log: list[str] = []

    class Slow:
        async def __aenter__(self) -> None:
            log.append("opening")
            await anyio.sleep_forever()

        async def __aexit__(self, *exc_info: object) -> None:
            log.append("closed")

    class Quick(Slow):
        async def __aenter__(self) -> None:
            log.append("opened")

    with ah.Graph().as_default() as graph:
        ah.resource(Quick)
        ah.resource(Slow)
    session = ah.Session(graph)
    with anyio.move_on_after(0.001) as scope:
        await session.__aenter__()
    assert scope.cancelled_caught
    assert log == ["opened", "opening", "closed"]
    assert session.closed
