"""The jobs of pluggy: plain hooks that return coroutines, which are awaited by hand."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pluggy

from tests.benchmarks.effort import Effort
from tests.benchmarks.peers.jobs import Job, Unable, awaited_jobs
from tests.benchmarks.peers.ours import Call
from tests.benchmarks.peers.tally import Tally

_spec = pluggy.HookspecMarker("benchmark")
_implementation = pluggy.HookimplMarker("benchmark")


class _Specification:
    @_spec
    def before(self) -> Coroutine[Any, Any, None]:
        raise NotImplementedError

    @_spec
    def after(self, value: int) -> Coroutine[Any, Any, None]:
        raise NotImplementedError


class _Counting:
    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    @_implementation
    async def before(self) -> None:
        self._tally.calls += 1

    @_implementation
    async def after(self, value: int) -> None:
        self._tally.calls += 1


def jobs(effort: Effort) -> Iterator[Job | Unable]:
    """Yields the jobs of pluggy."""
    yield from awaited_jobs(_step, effort.callers, note="hooks awaited by hand")
    yield Unable("graph", "it has hooks alone")


def with_plugins(manager: Any, tally: Tally, hooks: int) -> Any:
    """Returns a manager of plugins, with hooks that count."""
    manager.add_hookspecs(_Specification)
    for _ in range(hooks):
        manager.register(_Counting(tally))
    return manager


@asynccontextmanager
async def _step(tally: Tally, hooks: int, function: Call) -> AsyncGenerator[Call]:
    hook = with_plugins(pluggy.PluginManager("benchmark"), tally, hooks).hook

    async def call() -> int:
        for each in hook.before():
            await each
        value: int = await function()
        for each in hook.after(value=value):
            await each
        return value

    yield call
