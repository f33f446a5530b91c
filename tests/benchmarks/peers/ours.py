"""What we do the jobs with that peers do, and the ops that all of them run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import asynchooks as ah
from tests.benchmarks.peers.sums import combine
from tests.benchmarks.peers.tally import Tally
from tests.benchmarks.shapes import Functions, Shape, graph_of

VALUE = 1

Call = Callable[[], Coroutine[Any, Any, Any]]
"""Does a job once, and returns its result."""


async def trivial() -> int:
    """Is the op of a step."""
    return VALUE


async def suspending() -> int:
    """Is the op of each of many callers."""
    await asyncio.sleep(0)
    return VALUE


async def node(*inputs: int) -> int:
    """Is each op of a graph."""
    return combine(*inputs)


class CountingHook(ah.SessionRunHook):
    """Counts, and asks for a fetch if it has one."""

    def __init__(self, tally: Tally, fetch: ah.Op[int] | None) -> None:
        self._tally = tally
        self._args = None if fetch is None else ah.SessionRunArgs(fetch)

    async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs | None:
        """Counts, and asks."""
        self._tally.calls += 1
        return self._args

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        """Counts, also what it got."""
        self._tally.calls += 1
        if self._args is not None:
            self._tally.fetched += run_values.results


@asynccontextmanager
async def step(
    tally: Tally, hooks: int, function: Call, *, fetching: bool = False
) -> AsyncGenerator[Call]:
    """Sets up a session with hooks, to run one op.

    Args:
        tally: where the hooks count.
        hooks: how many there are.
        function: the op.
        fetching: whether each hook asks for an op of its own.
    """
    with ah.Graph().as_default() as graph:
        op = ah.op(function)()
        fetches = [ah.op(function)() if fetching else None for _ in range(hooks)]
    counting = [CountingHook(tally, fetch) for fetch in fetches]
    async with ah.MonitoredSession(graph, hooks=counting) as session:
        yield partial(session.run, op)


@asynccontextmanager
async def graph(shape: Shape) -> AsyncGenerator[Call]:
    """Sets up a session to run a graph."""
    made, fetches = graph_of(shape, Functions((), node))
    async with ah.MonitoredSession(made) as session:
        yield partial(session.run, list(fetches))
