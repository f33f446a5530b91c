"""How cost grows with size: a run, and building and planning, of up to 100,000 ops."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from time import perf_counter

import anyio

import asynchooks as ah
from tests.benchmarks import proof
from tests.benchmarks.effort import LOOPS, Effort
from tests.benchmarks.fuse import check_large_graph
from tests.benchmarks.graph_contenders import session_on
from tests.benchmarks.graphs import BESIDE_TASKS
from tests.benchmarks.measuring import Contender, Timing, measure_on
from tests.benchmarks.rows import Row, timed
from tests.benchmarks.section import Section
from tests.benchmarks.shapes import SHAPES, Fetches, Shape, graph_of, inline

GROUP = "growth, per op"
RUN = "a run of 100,000 ops"
BUILD = "build, plan and first run of 100,000 ops"
LINEAR = "build, plan and first run, beside 10,000 ops"
NAMES = tuple(f"{shape}, {what}" for shape in BESIDE_TASKS for what in (BUILD, LINEAR, RUN))
_RUN_GOAL = 1.3
_LINEAR_GOAL = 1.5
_BUILD_ALLOWED = 25.0  # us per op
_FEWER = 10

Built = tuple[ah.Graph, Fetches]


def measured(effort: Effort) -> list[Row]:
    """Measures each shape in turn, so that one large graph at most is in memory."""
    rows: list[Row] = []
    for name in BESIDE_TASKS:
        large = SHAPES[name](effort.many_ops)
        built, rows_of_build = _build_rows(name, large, effort)
        for loop in LOOPS:
            anyio.run(check_large_graph, large, *built, backend=loop)
        rows += rows_of_build + _run_rows(name, large, built, effort)
    return rows


def _build_rows(name: str, large: Shape, effort: Effort) -> tuple[Built, list[Row]]:
    smaller = SHAPES[name](effort.many_ops // _FEWER)
    small_seconds, large_seconds = [], []
    for _ in range(effort.few_rounds):
        small_seconds.append(_built_and_run(smaller)[0])
        seconds, built = _built_and_run(large)
        large_seconds.append(seconds)
    took, small_took = Timing(tuple(large_seconds)), Timing(tuple(small_seconds))
    small_per_op = small_took.best / smaller.size * 1e6
    rows = [
        timed(
            GROUP,
            f"{name}, {BUILD}",
            "asyncio",
            took,
            _BUILD_ALLOWED,
            goal=1,
            per=large.size,
            limit_is="allowed",
        ),
        timed(
            GROUP,
            f"{name}, {LINEAR}",
            "asyncio",
            took,
            small_per_op,
            goal=_LINEAR_GOAL,
            per=large.size,
            limit_is="ours, 10,000 ops",
        ),
    ]
    return built, rows


def _built_and_run(shape: Shape) -> tuple[float, Built]:
    gc.collect()
    return anyio.run(_build_and_run, shape, backend="asyncio")


async def _build_and_run(shape: Shape) -> tuple[float, Built]:
    start = perf_counter()
    graph, fetches = graph_of(shape, inline())
    async with ah.Session(graph) as session:
        result = await session.run(fetches)
    seconds = perf_counter() - start
    proof.same("the first run", result, shape.expected())
    return seconds, (graph, fetches)


def _run_rows(name: str, large: Shape, built: Built, effort: Effort) -> list[Row]:
    small = SHAPES[name](effort.ops)
    small_built = graph_of(small, inline())

    @asynccontextmanager
    async def bench(loop: str) -> AsyncGenerator[list[Contender]]:
        async with AsyncExitStack() as stack:
            yield [
                await stack.enter_async_context(session_on("small", small, *small_built)),
                await stack.enter_async_context(session_on("large", large, *built)),
            ]

    taken = measure_on(LOOPS, bench, rounds=effort.rounds, seconds=effort.seconds)
    return [
        timed(
            GROUP,
            f"{name}, {RUN}",
            loop,
            taken[loop]["large"],
            taken[loop]["small"].best / small.size * 1e6,
            goal=_RUN_GOAL,
            per=large.size,
            limit_is="ours, 1,000 ops",
        )
        for loop in LOOPS
    ]


SECTION = Section(GROUP, NAMES, measured)
