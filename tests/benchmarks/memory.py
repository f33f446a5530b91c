"""What memory a run needs, and what a graph and its plan keep."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager

import anyio

import asynchooks as ah
from tests.benchmarks.effort import LOOPS, Effort
from tests.benchmarks.rows import Row
from tests.benchmarks.section import Section
from tests.benchmarks.shapes import (
    SHAPES,
    Functions,
    Shape,
    graph_of,
    inline,
    pausing,
    suspension,
)

GROUP = "memory, per op"
PEAK = "peak of a run"
SUSPENDING_PEAK = "peak of a run of ops that suspend"
KEPT = "graph and plan"
_PEAK_ALLOWED = 100.0  # B
_SUSPENDING_PEAK_ALLOWED = 300.0  # B
_KEPT_ALLOWED = 600.0  # B
NAMES = tuple(f"{shape}, {what}" for shape in SHAPES for what in (PEAK, SUSPENDING_PEAK, KEPT))


def measured(effort: Effort) -> list[Row]:
    """Measures all shapes, of 1,000 ops, on both event loops."""
    rows: list[Row] = []
    for name, make in SHAPES.items():
        shape = make(effort.ops)
        for loop in LOOPS:
            peak = anyio.run(_peak_of_run, shape, inline(), backend=loop)
            functions = pausing(suspension(loop))
            suspending = anyio.run(_peak_of_run, shape, functions, backend=loop)
            rows += [
                _row(f"{name}, {PEAK}", loop, peak, _PEAK_ALLOWED),
                _row(f"{name}, {SUSPENDING_PEAK}", loop, suspending, _SUSPENDING_PEAK_ALLOWED),
            ]
        rows.append(_row(f"{name}, {KEPT}", "asyncio", _kept(shape), _KEPT_ALLOWED))
    return rows


async def peak_beyond_start(call: Callable[[], Awaitable[object]]) -> int:
    """Returns how many bytes more than at its start are in use at the worst moment of a call."""
    with _traced():
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        await call()
        return tracemalloc.get_traced_memory()[1] - before


async def _peak_of_run(shape: Shape, functions: Functions) -> float:
    graph, fetches = graph_of(shape, functions)
    async with ah.Session(graph) as session:
        await session.run(fetches)
        return await peak_beyond_start(lambda: session.run(fetches)) / shape.size


def _kept(shape: Shape) -> float:
    functions = inline()
    # What is made once for all graphs does not count.
    anyio.run(_built_and_run, shape, functions)
    with _traced():
        before, _ = tracemalloc.get_traced_memory()
        graph = anyio.run(_built_and_run, shape, functions)
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0] - before
    assert len(graph.get_operations()) == shape.size
    return kept / shape.size


async def _built_and_run(shape: Shape, functions: Functions) -> ah.Graph:
    graph, fetches = graph_of(shape, functions)
    async with ah.Session(graph) as session:
        await session.run(fetches)
    return graph


@contextmanager
def _traced() -> Generator[None]:
    gc.collect()
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def _row(what: str, loop: str, value: float, allowed: float) -> Row:
    return Row(GROUP, what, loop, value, allowed, "B", 1, "allowed")


SECTION = Section(GROUP, NAMES, measured)
