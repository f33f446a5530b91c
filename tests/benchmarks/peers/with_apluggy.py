"""The jobs of apluggy: pluggy's hooks, gathered."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import apluggy

from tests.benchmarks.effort import Effort
from tests.benchmarks.peers.jobs import Job, Unable, awaited_jobs
from tests.benchmarks.peers.ours import Call
from tests.benchmarks.peers.tally import Tally
from tests.benchmarks.peers.with_pluggy import with_plugins


def jobs(effort: Effort) -> Iterator[Job | Unable]:
    """Yields the jobs of apluggy."""
    yield from awaited_jobs(_step, effort.callers, note="ahook")
    yield Unable("graph", "it has hooks alone")


@asynccontextmanager
async def _step(tally: Tally, hooks: int, function: Call) -> AsyncGenerator[Call]:
    hook = with_plugins(apluggy.PluginManager("benchmark"), tally, hooks).ahook

    async def call() -> int:
        await hook.before()
        value: int = await function()
        await hook.after(value=value)
        return value

    yield call
