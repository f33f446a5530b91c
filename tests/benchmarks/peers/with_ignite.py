"""The jobs of pytorch-ignite: handlers of an engine's events around each iteration."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import repeat

from ignite.engine import Engine, Events

from tests.benchmarks.effort import Effort
from tests.benchmarks.measuring import Work
from tests.benchmarks.peers.jobs import STEP_HOOKS, Job, Unable, callers_name, step_job
from tests.benchmarks.peers.ours import VALUE
from tests.benchmarks.peers.tally import Tally


def jobs(effort: Effort) -> Iterator[Job | Unable]:
    """Yields the jobs of pytorch-ignite."""
    for hooks in STEP_HOOKS:
        yield step_job(hooks, partial(_steps, hooks), note="plain functions, nothing is awaited")
    yield Unable("graph", "it has iterations alone")
    yield Unable(callers_name(1), "one iteration at a time")


@asynccontextmanager
async def _steps(hooks: int, tally: Tally) -> AsyncGenerator[Work]:
    def count(_: Engine) -> None:
        tally.calls += 1

    engine = Engine(lambda engine, batch: VALUE)
    for _ in range(hooks):
        engine.add_event_handler(Events.ITERATION_STARTED, count)
        engine.add_event_handler(Events.ITERATION_COMPLETED, count)

    async def work(count: int) -> object:
        return engine.run(repeat(None, count), epoch_length=count).output

    yield work
