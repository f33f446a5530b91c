"""What an op costs in graphs of four shapes: by us, by hand, and with a task for each op."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asynchooks as ah
from tests.benchmarks.effort import LOOPS, Effort
from tests.benchmarks.graph_contenders import repeated, session_on, straight_line, task_group
from tests.benchmarks.measuring import Contender, Timing, measure_on
from tests.benchmarks.rows import Row, timed
from tests.benchmarks.section import Section
from tests.benchmarks.shapes import (
    SHAPES,
    Fetches,
    Shape,
    graph_of,
    inline,
    pausing,
    suspension,
)

GROUP = "graph, per op"
BESIDE_TASKS = ("chain", "fan-out + join", "layered")
_TASKS_GOAL = 0.5
_TRIO_GOAL = 1.3
_SUSPENDING_TRIO_GOAL = 2.5


@dataclass(frozen=True, slots=True)
class Mode:
    """Whether ops suspend, and what is wanted then.

    Attributes:
        name: what rows call it.
        suspending: whether each op suspends once.
        goals: what each shape may take, in times of straight-line code.
    """

    name: str
    suspending: bool
    goals: dict[str, float]


MODES = (
    Mode(
        "1,000 ops",
        False,
        {"chain": 4, "fan-out + join": 6, "layered": 9, "diamonds": 7},
    ),
    Mode(
        "1,000 ops that suspend",
        True,
        {"chain": 1.6, "fan-out + join": 1.6, "layered": 2, "diamonds": 5},
    ),
)
NAMES = tuple(
    f"{shape}, {mode.name}{beside}"
    for mode in MODES
    for shape in SHAPES
    for beside in ("", ", beside tasks")
    if not beside or shape in BESIDE_TASKS
)


class GraphBench:
    """The contenders on one shape, built once for each event loop."""

    def __init__(self, shape: Shape, *, suspending: bool) -> None:
        self._shape = shape
        self._suspending = suspending
        self._built: dict[str, tuple[list[Contender], ah.Graph, Fetches]] = {}

    @asynccontextmanager
    async def __call__(self, loop: str) -> AsyncGenerator[list[Contender]]:
        """Opens our session; the other contenders need nothing."""
        if loop not in self._built:
            self._built[loop] = self._build(loop)
        others, graph, fetches = self._built[loop]
        async with session_on("ours", self._shape, graph, fetches) as ours:
            yield [*others, ours]

    def _build(self, loop: str) -> tuple[list[Contender], ah.Graph, Fetches]:
        shape = self._shape
        functions = pausing(suspension(loop)) if self._suspending else inline()
        others = [repeated("by hand", shape, straight_line(shape, functions))]
        if loop == "asyncio":
            others.append(repeated("tasks", shape, task_group(shape, functions)))
        return others, *graph_of(shape, functions)


def measured(effort: Effort) -> list[Row]:
    """Measures all shapes, not suspending and suspending, on both event loops."""
    rows: list[Row] = []
    for mode in MODES:
        for name, make in SHAPES.items():
            bench = GraphBench(make(effort.ops), suspending=mode.suspending)
            taken = measure_on(LOOPS, bench, rounds=effort.rounds, seconds=effort.seconds)
            rows += _rows(name, mode, taken, effort.ops)
    return rows


def _rows(name: str, mode: Mode, taken: dict[str, dict[str, Timing]], size: int) -> list[Row]:
    what = f"{name}, {mode.name}"
    ours, hand = taken["asyncio"]["ours"], taken["asyncio"]["by hand"]
    rows = [timed(GROUP, what, "asyncio", ours, hand, goal=mode.goals[name], per=size)]
    if name in BESIDE_TASKS:
        rows.append(
            timed(
                GROUP,
                f"{what}, beside tasks",
                "asyncio",
                ours,
                taken["asyncio"]["tasks"],
                goal=_TASKS_GOAL,
                per=size,
                limit_is="TaskGroup, a task per op",
            )
        )
    return [*rows, _trio_row(name, mode, taken, size)]


def _trio_row(name: str, mode: Mode, taken: dict[str, dict[str, Timing]], size: int) -> Row:
    goal: float | None = _TRIO_GOAL
    limit, limit_is = taken["asyncio"]["ours"], "ours, on asyncio"
    if mode.suspending:
        goal = _SUSPENDING_TRIO_GOAL if name in BESIDE_TASKS else None
        limit, limit_is = taken["asyncio"]["by hand"], "hand-written, on asyncio"
    return timed(
        GROUP,
        f"{name}, {mode.name}",
        "trio",
        taken["trio"]["ours"],
        limit,
        goal=goal,
        per=size,
        limit_is=limit_is,
    )


SECTION = Section(GROUP, NAMES, measured)
