"""Many callers of one session: what a call costs and needs, also when the session is dead."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import trio

import asynchooks as ah
from tests.benchmarks import proof
from tests.benchmarks.dead_session import DeadSession
from tests.benchmarks.effort import LOOPS, Effort
from tests.benchmarks.hooks import ByHand, Quiet
from tests.benchmarks.measuring import Contender, Timing, measure_on
from tests.benchmarks.memory import peak_beyond_start
from tests.benchmarks.rows import Row, timed
from tests.benchmarks.section import Section
from tests.benchmarks.shapes import Function, suspension

GROUP = "callers"
CALL = "10,000 runs at once, 1 hook, per call"
MEMORY = "10,000 runs at once, memory per call beyond by hand"
RECREATIONS = "dead session met by 10,000: recreations"
WAIT = "dead session met by 10,000: wait per caller"
WHOLE = "dead session met by 10,000: whole time per caller"
NAMES = (CALL, MEMORY, RECREATIONS, WAIT, WHOLE)
_CALL_GOAL = 1.4
_MEMORY_ALLOWED = 700.0  # B
_WAIT_ALLOWED = 25.0  # us

Call = Callable[[], Coroutine[Any, Any, object]]


async def all_at_once(loop: str, call: Call, count: int) -> None:
    """Makes a call in many tasks, in the event loop's own way."""
    if loop == "asyncio":
        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(call())
    else:
        async with trio.open_nursery() as nursery:
            for _ in range(count):
                nursery.start_soon(call)


def measured(effort: Effort) -> list[Row]:
    """Measures calls by our session and by hand, then those that meet a dead session."""
    bench = partial(_calls, callers=effort.callers)
    taken = measure_on(LOOPS, bench, rounds=effort.rounds, seconds=effort.seconds)
    rows: list[Row] = []
    for loop in LOOPS:
        raw = "raw TaskGroup" if loop == "asyncio" else "raw nursery"
        ours, by_hand = taken[loop]["ours"], taken[loop]["by hand"]
        more = anyio.run(_memory, loop, effort.callers, backend=loop)
        rows += [
            timed(
                GROUP, CALL, loop, ours, by_hand, goal=_CALL_GOAL, per=effort.callers, limit_is=raw
            ),
            Row(GROUP, MEMORY, loop, more, _MEMORY_ALLOWED, "B", 1, "allowed"),
        ]
    return rows + _dead_rows(effort)


@asynccontextmanager
async def _calls(loop: str, callers: int) -> AsyncGenerator[list[Contender]]:
    op = _suspending(loop)
    with ah.Graph().as_default() as graph:
        fetched = ah.op(op)()
    async with ah.MonitoredSession(graph, hooks=[Quiet()]) as session:
        yield [
            _many("by hand", loop, _by_hand(op), callers, ByHand),
            _many("ours", loop, partial(session.run, fetched), callers, Quiet),
        ]


def _suspending(loop: str) -> Function:
    pause = suspension(loop)

    async def op() -> int:
        await pause()
        return 1

    return op


def _by_hand(op: Function) -> Call:
    hook = ByHand()

    async def call() -> int:
        await hook.before_run(None)
        value = await op()
        await hook.after_run(None, value)
        return value

    return call


def _many(name: str, loop: str, call: Call, callers: int, hook: type[object]) -> Contender:
    async def work(count: int) -> None:
        for _ in range(count):
            await all_at_once(loop, call, callers)

    async def check() -> None:
        await proof.gives(name, 1, call)
        for method in ("before_run", "after_run"):
            await proof.calls(name, getattr(hook, method), callers, partial(work, 1))

    return Contender(name, work, check)


async def _memory(loop: str, callers: int) -> float:
    peaks: dict[str, int] = {}
    async with _calls(loop, callers) as contenders:
        for each in contenders:
            once: Callable[[], Awaitable[object]] = partial(each.work, 1)
            await once()
            peaks[each.name] = await peak_beyond_start(once)
    return (peaks["ours"] - peaks["by hand"]) / callers


def _dead_rows(effort: Effort) -> list[Row]:
    bench = _DeadBench(effort.callers)
    taken = measure_on(LOOPS, bench, rounds=effort.rounds, seconds=effort.seconds)
    return [row for loop in LOOPS for row in _dead_rows_on(loop, taken[loop], bench)]


def _dead_rows_on(loop: str, taken: dict[str, Timing], bench: _DeadBench) -> list[Row]:
    dead, alive = taken["dead"], taken["alive"]
    wait = (dead.best - alive.best) / bench.callers * 1e6
    return [
        Row(GROUP, RECREATIONS, loop, bench.most_recreations, 1, "", 1, "one"),
        Row(GROUP, WAIT, loop, wait, _WAIT_ALLOWED, "us", 1, "allowed", noise=dead.noise),
        timed(GROUP, WHOLE, loop, dead, alive, goal=None, per=bench.callers, limit_is="not dead"),
    ]


class _DeadBench:
    """Callers of a session that is dead when they come, and of one that is not.

    What recreates the session takes no time of its own: all that callers wait for is counted.
    """

    def __init__(self, callers: int) -> None:
        self.callers = callers
        self.most_recreations = 0

    @asynccontextmanager
    async def __call__(self, loop: str) -> AsyncGenerator[list[Contender]]:
        async with DeadSession(suspension(loop)) as meeting:
            yield [
                Contender("alive", partial(self._work, loop, meeting, dies=False)),
                Contender("dead", partial(self._work, loop, meeting, dies=True)),
            ]

    async def _work(self, loop: str, meeting: DeadSession, count: int, *, dies: bool) -> None:
        for _ in range(count):
            before = meeting.connections, meeting.answers
            if dies:
                meeting.hang_up()
            await all_at_once(loop, meeting.run, self.callers)
            recreations = meeting.connections - before[0]
            self.most_recreations = max(self.most_recreations, recreations)
            assert recreations == dies, f"the session was recreated {recreations} times"
            proof.same("the callers", meeting.answers - before[1], self.callers)


SECTION = Section(GROUP, NAMES, measured)
