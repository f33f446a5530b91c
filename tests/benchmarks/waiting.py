"""Ops that really wait: how long they take together, and how many are under way at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from tests.benchmarks.effort import LOOPS, Effort
from tests.benchmarks.graph_contenders import anyio_group, repeated, session_on
from tests.benchmarks.measuring import Contender, measure_on
from tests.benchmarks.rows import Row, timed
from tests.benchmarks.section import Section
from tests.benchmarks.shapes import Shape, fan_out, graph_of, pausing

GROUP = "waiting"
WALL = "fan-out of 1,000 ops that wait 10 ms"
IN_FLIGHT = "ops in flight at once"
_SECONDS = 0.01
_WALL_GOAL = 1.2
_IN_FLIGHT_GOAL = 0.95


class _Waiting:
    """What the ops await: counts how many wait at once."""

    def __init__(self) -> None:
        self.most = 0
        self._now = 0

    async def __call__(self) -> None:
        self._now += 1
        self.most = max(self.most, self._now)
        await anyio.sleep(_SECONDS)
        self._now -= 1


class _Bench:
    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.waiting = {loop: _Waiting() for loop in LOOPS}
        self._built = {loop: graph_of(shape, pausing(self.waiting[loop])) for loop in LOOPS}
        self._tasks = repeated("tasks", shape, anyio_group(shape, pausing(_Waiting())))

    @asynccontextmanager
    async def __call__(self, loop: str) -> AsyncGenerator[list[Contender]]:
        async with session_on("ours", self._shape, *self._built[loop]) as ours:
            yield [self._tasks, ours]


def measured(effort: Effort) -> list[Row]:
    """Measures a fan-out on both event loops."""
    shape = fan_out(effort.ops)
    bench = _Bench(shape)
    taken = measure_on(LOOPS, bench, rounds=effort.rounds, seconds=effort.seconds)
    rows: list[Row] = []
    for loop in LOOPS:
        ours, tasks = taken[loop]["ours"], taken[loop]["tasks"]
        most, could = bench.waiting[loop].most, shape.size - 2
        limit_is = "anyio task group, a task per op"
        rows += [
            timed(GROUP, WALL, loop, ours, tasks, goal=_WALL_GOAL, unit="ms", limit_is=limit_is),
            Row(GROUP, IN_FLIGHT, loop, most, could, "", _IN_FLIGHT_GOAL, "all", at_least=True),
        ]
    return rows


SECTION = Section(GROUP, (WALL, IN_FLIGHT), measured)
