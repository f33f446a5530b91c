"""How long runs that never suspend keep the event loop from another task."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from time import perf_counter

import anyio
from anyio.lowlevel import checkpoint

import asynchooks as ah
from tests.benchmarks.effort import LOOPS, Effort
from tests.benchmarks.rows import Row
from tests.benchmarks.section import Section
from tests.benchmarks.shapes import Shape, chain, fan_out, graph_of, inline
from tests.benchmarks.step_contenders import trivial

GROUP = "longest turn"
ONE_OP = "runs of 1 op"
CHAIN = "runs of a chain of 1,000 ops"
FAN_OUT = "runs of a fan-out of 1,000 ops"
LARGE = "a run of a chain of 100,000 ops"
NAMES = (ONE_OP, CHAIN, FAN_OUT, LARGE)
_ALLOWED = 5.0  # ms
_LONGEST = 0.1  # seconds of runs in a round
_LIMIT_IS = "allowed for the longest turn of the best round"

Once = Callable[[], Awaitable[object]]


def measured(effort: Effort) -> list[Row]:
    """Measures the longest turn of runs of several sizes, on both event loops."""
    graphs = [
        _graph_of_one(),
        *[_graph(shape) for shape in (chain(effort.ops), fan_out(effort.ops))],
        _graph(chain(effort.many_ops)),
    ]
    longest: dict[tuple[str, str], list[float]] = {}
    for _ in range(effort.rounds):
        for loop in LOOPS:
            turns = anyio.run(_longest_turns, graphs, effort, backend=loop)
            for name, milliseconds in zip(NAMES, turns, strict=True):
                longest.setdefault((name, loop), []).append(milliseconds)
    return [_row(name, loop, longest[name, loop]) for name in NAMES for loop in LOOPS]


async def longest_turn(once: Once, seconds: float) -> float:
    """Returns the most milliseconds that a task had to wait for its turn.

    Args:
        once: is done again and again beside it.
        seconds: for how long.
    """
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        last = perf_counter()
        while True:
            await checkpoint()
            now = perf_counter()
            longest, last = max(longest, now - last), now

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        await checkpoint()
        end = perf_counter() + seconds
        while True:
            await once()
            if perf_counter() >= end:
                break
        await checkpoint()
        group.cancel_scope.cancel()
    return longest * 1e3


async def _longest_turns(graphs: list[tuple[ah.Graph, object]], effort: Effort) -> list[float]:
    turns = []
    async with AsyncExitStack() as stack:
        for graph, fetches in graphs:
            session = await stack.enter_async_context(ah.MonitoredSession(graph))
            once = partial(session.run, fetches)
            await once()  # plans it
            gc.collect()
            turns.append(await longest_turn(once, min(_LONGEST, 5 * effort.seconds)))
    return turns


def _graph_of_one() -> tuple[ah.Graph, object]:
    with ah.Graph().as_default() as graph:
        return graph, ah.op(trivial)()


def _graph(shape: Shape) -> tuple[ah.Graph, object]:
    return graph_of(shape, inline())


def _row(name: str, loop: str, longest: list[float]) -> Row:
    best = min(longest)
    return Row(GROUP, name, loop, best, _ALLOWED, "ms", 1, _LIMIT_IS, rounds=tuple(longest))


SECTION = Section(GROUP, NAMES, measured)
