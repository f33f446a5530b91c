"""The jobs of tenacity: a guard that would repeat a step that fails; hooks are awaited by hand."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import tenacity

from tests.benchmarks.effort import Effort
from tests.benchmarks.peers.jobs import Job, Unable, awaited_jobs
from tests.benchmarks.peers.ours import Call
from tests.benchmarks.peers.tally import CountingByHand, Tally


def jobs(effort: Effort) -> Iterator[Job | Unable]:
    """Yields the jobs of tenacity."""
    note = "a step that tenacity.retry guards; hooks awaited by hand"
    yield from awaited_jobs(_step, effort.callers, note=note)
    yield Unable("graph", "it repeats calls")


@asynccontextmanager
async def _step(tally: Tally, hooks: int, function: Call) -> AsyncGenerator[Call]:
    counting = [CountingByHand(tally) for _ in range(hooks)]

    @tenacity.retry(
        retry=tenacity.retry_if_exception_type(ConnectionError),
        stop=tenacity.stop_after_attempt(10),
        wait=tenacity.wait_random_exponential(multiplier=0.1, max=10),
    )
    async def call() -> int:
        for hook in counting:
            await hook.before()
        value: int = await function()
        for hook in counting:
            await hook.after(value)
        return value

    yield call
