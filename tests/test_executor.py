"""Running ops: each once, those that are ready together, none after one has failed."""

from __future__ import annotations

import gc
import random
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import anyio
import pytest

import asynchooks as ah


class Together:
    """Async functions that all wait until a number of them run at the same time."""

    def __init__(self, number: int) -> None:
        self._missing = number
        self._all = anyio.Event()

    async def meet(self, *inputs: Any) -> None:
        self._missing -= 1
        if not self._missing:
            self._all.set()
        await self._all.wait()


async def run(graph: ah.Graph, fetches: Any) -> Any:
    """Makes one raw run, which must not take long."""
    async with ah.Session(graph) as session:
        with anyio.fail_after(5):
            return await session.run(fetches)


@pytest.mark.parametrize("number", [2, 3, 50, 500])
async def test_ready_ops_run_at_the_same_time(number: int) -> None:
    """Ops that do not need each other are all under way at once."""
    together = Together(number)
    with ah.Graph().as_default() as graph:
        ops = [ah.op(together.meet)() for _ in range(number)]
    assert await run(graph, ops) == [None] * number


@pytest.mark.parametrize("seed", range(12))
async def test_ready_ops_run_together_beside_quick_ones(seed: int) -> None:
    """Ops that wait for each other are all started, whatever others finish soon beside them."""
    draw = random.Random(seed)
    meeting, quick = draw.randint(17, 100), draw.randint(1, 100)
    together = Together(meeting)

    async def pauses(turns: int) -> None:
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()

    async def meet(turns: int) -> None:
        await pauses(turns)
        await together.meet()

    functions = [meet] * meeting + [pauses] * quick
    draw.shuffle(functions)
    with ah.Graph().as_default() as graph:
        ops = [ah.op(fn)(draw.randint(0, 3)) for fn in functions]
    assert await run(graph, ops) == [None] * len(ops)


async def test_ops_become_ready_at_the_same_time() -> None:
    """What one op was waited for runs together, also beside what was ready before."""
    together = Together(4)
    with ah.Graph().as_default() as graph:
        early = ah.op(together.meet)()
        first = ah.op(anyio.lowlevel.checkpoint)()
        late = [ah.op(together.meet)(first) for _ in range(3)]
    assert await run(graph, [early, late]) == [None, [None] * 3]


async def test_op_starts_as_soon_as_its_inputs_are_there() -> None:
    """An op does not wait for others that it does not need."""
    done = anyio.Event()
    with ah.Graph().as_default() as graph:
        slow = ah.op(done.wait)()
        quick = ah.op(anyio.lowlevel.checkpoint)()
        sets = ah.op(lambda _: done.set())(quick)
    assert await run(graph, [slow, sets]) == [None, None]


async def test_callables_that_are_fetched_run_at_the_same_time() -> None:
    """Callables among the fetches overlap like ops."""
    together = Together(3)

    def meets() -> Any:
        return together.meet()

    fetches = [partial(together.meet, 1), together.meet, (meets,)]
    assert await run(ah.Graph(), fetches) == [None, None, (None,)]


async def test_each_op_is_evaluated_once() -> None:
    """In a lattice of ops, each that is needed is evaluated exactly once, after its inputs."""
    log: list[tuple[int, int]] = []

    def at(row: int, column: int) -> Callable[..., Awaitable[int]]:
        async def value(*inputs: int) -> int:
            await anyio.lowlevel.checkpoint()
            log.append((row, column))
            return sum(inputs) or 1

        return value

    rows: list[list[ah.Op[int]]] = [[]]
    with ah.Graph().as_default() as graph:
        rows[0] = [ah.op(at(0, column))() for column in range(8)]
        for row in range(1, 8):
            rows.append([ah.op(at(row, column))(*rows[-1][column:]) for column in range(8 - row)])
    values = await run(graph, rows)
    assert sorted(log) == [(row, column) for row in range(8) for column in range(8 - row)]
    assert values[1] == [8, 7, 6, 5, 4, 3, 2]
    assert values[7] == [sum(values[6])]


@pytest.mark.parametrize("kind", ["async", "plain", "thread last"])
async def test_long_chain_needs_no_recursion(kind: str) -> None:
    """A chain of 10,000 ops is planned and run, whatever Python's recursion limit."""

    async def more(value: int) -> int:
        return value + 1

    fn = ah.op(more if kind == "async" else lambda value: value + 1)
    with ah.Graph().as_default() as graph:
        op = ah.constant(0)
        for _ in range(10_000):
            op = fn(op)
        if kind == "thread last":
            op = ah.op(thread=True)(lambda value: value)(op)
    assert await run(graph, op) == 10_000


async def test_wide_graph_needs_few_tasks() -> None:
    """Ops that never suspend are evaluated one after the other in the task of the run."""
    tasks: set[int] = set()

    async def note(*inputs: Any) -> None:
        tasks.add(anyio.get_current_task().id)

    with ah.Graph().as_default() as graph:
        ops = [ah.op(note)() for _ in range(100)]
    await run(graph, ops)
    assert tasks == {anyio.get_current_task().id}


async def test_single_ready_op_runs_in_the_task_of_the_run() -> None:
    """Ops that follow one another see the caller's task and its context."""
    tasks: list[int] = []

    async def note(*inputs: Any) -> None:
        await anyio.lowlevel.checkpoint()
        tasks.append(anyio.get_current_task().id)

    with ah.Graph().as_default() as graph:
        op = ah.op(note)()
        for _ in range(3):
            op = ah.op(note)(op)
    await run(graph, op)
    assert set(tasks) == {anyio.get_current_task().id}


def busy(seconds: float) -> None:
    """Holds the event loop."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


@pytest.mark.parametrize("number", [63, 64, 65, 128, 200])
async def test_many_slow_ops_are_all_evaluated(number: int) -> None:
    """However many ops hold the loop and however the workers take turns, each is evaluated."""
    log: list[int] = []

    async def slow(index: int) -> int:
        if index % 50 == 0:
            await anyio.lowlevel.checkpoint()
        busy(0.0003)
        log.append(index)
        return index

    with ah.Graph().as_default() as graph:
        ops = [ah.op(slow)(index) for index in range(number)]
    assert await run(graph, ops) == list(range(number))
    assert sorted(log) == list(range(number))


async def test_no_op_starts_after_one_has_failed() -> None:
    """What is ready or becomes ready when an op has failed is not started."""
    log: list[str] = []

    async def fails() -> None:
        await anyio.wait_all_tasks_blocked()
        raise ValueError("fails")

    async def waits() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            log.append("cancelled")

    async def swallows() -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            log.append("swallowed")

    with ah.Graph().as_default() as graph:
        first = ah.op(swallows)()
        later = ah.op(lambda _: log.append("later"))(first)
        ops = [ah.op(waits)(), ah.op(fails)(), later]
    with pytest.raises(ValueError, match="fails"):
        await run(graph, ops)
    assert sorted(log) == ["cancelled", "swallowed"]


async def test_ops_that_were_not_ready_are_not_started_after_a_failure() -> None:
    """An op that fails at once keeps those that stand after it from starting."""
    log: list[str] = []

    async def fails() -> None:
        raise ValueError("fails")

    async def notes() -> None:
        log.append("started")

    with ah.Graph().as_default() as graph:
        ops = [ah.op(fails)(), ah.op(notes)(), ah.op(notes)()]
    with pytest.raises(ValueError, match="fails"):
        await run(graph, ops)
    assert log == []


async def test_run_ends_after_all_of_its_ops_have() -> None:
    """The error leaves when the clean-up of the cancelled ops is over."""
    log: list[str] = []

    async def fails() -> None:
        await anyio.wait_all_tasks_blocked()
        raise ValueError("fails")

    async def cleans_up() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.001)
            log.append("clean")

    with ah.Graph().as_default() as graph:
        ops = [ah.op(fails)(), ah.op(cleans_up)(), ah.op(cleans_up)()]
    with pytest.raises(ValueError, match="fails"):
        await run(graph, ops)
    assert log == ["clean", "clean"]


async def test_op_in_a_thread_is_awaited_when_its_run_is_cancelled() -> None:
    """A run that is cancelled waits for its thread, so that nothing of it goes on."""
    release, log = threading.Event(), []

    def works() -> None:
        release.wait(5)
        log.append("worked")

    with ah.Graph().as_default() as graph:
        op = ah.op(thread=True)(works)()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, graph, op)
        await anyio.sleep(0.005)
        tasks.cancel_scope.cancel()
        release.set()
    assert log == ["worked"]


async def test_run_that_never_suspends_is_a_cancellation_point() -> None:
    """A loop of runs in which nothing suspends ends, between two runs, when it is cancelled."""
    committed = 0
    with ah.Graph().as_default() as graph:
        v = ah.Variable(0)
        add = v.assign_add(1)
    async with ah.MonitoredSession(graph) as session:
        with anyio.CancelScope() as scope:
            while True:
                committed = await session.run(add)
                if committed == 10:
                    scope.cancel()
        assert scope.cancelled_caught
        assert await session.run(v) == committed == 10


async def test_run_is_cancelled_before_its_ops() -> None:
    """A run that is called in a cancelled scope runs no op."""
    log: list[str] = []
    async with ah.Session(ah.Graph()) as session:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await session.run(lambda: log.append("ran"))
    assert scope.cancelled_caught
    assert log == []


RUNS = 100_000
LONGEST = 0.05


class Ticker:
    """A task that runs whenever it can, and notes how long others held the loop meanwhile.

    What counts is the time that this thread has worked, so that other processes and the garbage
    of earlier tests have no part in it.
    """

    def __init__(self) -> None:
        self.turns: list[float] = []

    async def tick(self) -> None:
        last = time.thread_time()
        while True:
            await anyio.lowlevel.checkpoint()
            now = time.thread_time()
            self.turns.append(now - last)
            last = now

    def check(self) -> None:
        *_, third, second, first = sorted(self.turns)
        print(f"longest turns {first:.4f}, {second:.4f}, {third:.4f} s of {len(self.turns)}")
        # The garbage collector may take its time twice.
        assert third < LONGEST


@pytest.fixture
def old_garbage_is_left_alone() -> Iterator[None]:
    """Keeps the garbage collector from looking through what other tests have made."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("old_garbage_is_left_alone")
@pytest.mark.parametrize("kind", ["raw", "monitored"])
async def test_runs_that_never_suspend_leave_the_loop_to_others(kind: str) -> None:
    """100,000 such runs in a loop never keep another task waiting for more than some ms."""
    runs = RUNS if kind == "monitored" else RUNS // 5
    session = (ah.Session if kind == "raw" else ah.MonitoredSession)(ah.Graph())
    ticker = Ticker()
    async with session, anyio.create_task_group() as tasks:
        tasks.start_soon(ticker.tick)
        for _ in range(runs):
            await session.run([])
        tasks.cancel_scope.cancel()
    ticker.check()


@pytest.mark.usefixtures("old_garbage_is_left_alone")
async def test_long_run_that_never_suspends_leaves_the_loop_to_others() -> None:
    """Many ops of one run that never suspend do not keep another task waiting either."""

    async def more(value: int) -> int:
        busy(0.00005)
        return value + 1

    with ah.Graph().as_default() as graph:
        op = ah.constant(0)
        for _ in range(2_000):
            op = ah.op(more)(op)
    ticker = Ticker()
    async with ah.Session(graph) as session, anyio.create_task_group() as tasks:
        tasks.start_soon(ticker.tick)
        assert await session.run(op) == 2_000
        tasks.cancel_scope.cancel()
    ticker.check()


async def test_long_run_that_never_suspends_can_be_cancelled() -> None:
    """A single run of many ops that never suspend still meets a cancellation."""
    count = 0

    async def more(value: int) -> int:
        nonlocal count
        count += 1
        busy(0.00005)
        if count == 100:
            scope.cancel()
        return value + 1

    with ah.Graph().as_default() as graph:
        op = ah.constant(0)
        for _ in range(1_000):
            op = ah.op(more)(op)
    with anyio.CancelScope() as scope:
        async with ah.Session(graph) as session:
            await session.run(op)
    assert scope.cancelled_caught
    assert count < 300


class Bulky:
    """A value that can be watched."""


@pytest.mark.parametrize("beside", [False, True])
async def test_value_that_nobody_takes_any_more_is_let_go(beside: bool) -> None:
    """A value in the middle of a run lives only until the last op that takes it, or is fetched."""
    alive: dict[str, weakref.ref[Bulky]] = {}
    seen: list[dict[str, bool]] = []

    def make(name: str) -> Any:
        async def value(*inputs: Any) -> Bulky:
            made = Bulky()
            alive[name] = weakref.ref(made)
            return made

        return value

    async def look(*inputs: Any) -> None:
        seen.append({name: ref() is not None for name, ref in alive.items()})

    with ah.Graph().as_default() as graph:
        a = ah.op(make("a"))()
        b, fetched = ah.op(make("b"))(a), ah.op(make("fetched"))(a)
        with ah.control_dependencies([b, fetched]):
            looks = ah.op(look)()
            looks_again = ah.op(look)(b)
    others = [anyio.lowlevel.checkpoint] if beside else []
    async with ah.Session(graph) as session:
        got = await session.run([fetched, looks, looks_again, *others])
    assert alive["fetched"]() is got[0]
    assert sorted(seen[0].items()) == [("a", False), ("b", True), ("fetched", True)]
    assert not alive["b"]()
