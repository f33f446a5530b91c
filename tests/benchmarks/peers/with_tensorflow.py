"""The jobs of TensorFlow 1's own MonitoredSession, which TensorFlow 2 still has."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow

from tests.benchmarks.effort import Effort
from tests.benchmarks.measuring import Work
from tests.benchmarks.peers.jobs import STEP_HOOKS, Job, Unable, callers_name, step_job
from tests.benchmarks.peers.ours import VALUE
from tests.benchmarks.peers.tally import Tally

v1 = tensorflow.compat.v1


class _Counting(v1.train.SessionRunHook):  # type: ignore[misc, name-defined]
    def __init__(self, tally: Tally, fetch: Any) -> None:
        self._tally = tally
        self._args = None if fetch is None else v1.train.SessionRunArgs(fetch)

    def before_run(self, run_context: Any) -> Any:
        self._tally.calls += 1
        return self._args

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._tally.calls += 1
        if self._args is not None:
            self._tally.fetched += int(run_values.results)


def jobs(effort: Effort) -> Iterator[Job | Unable]:
    """Yields the jobs of TensorFlow."""
    note = "MonitoredSession of a constant, 1 thread; nothing is awaited"
    for hooks in STEP_HOOKS:
        yield step_job(hooks, partial(_steps, hooks, False), note=note)
    for hooks in STEP_HOOKS[1:]:
        yield step_job(hooks, partial(_steps, hooks, True), fetching=True, note=note)
    yield Unable("graph", "its ops are kernels, not async functions")
    yield Unable(callers_name(1), "its callers are threads")


@asynccontextmanager
async def _steps(hooks: int, fetching: bool, tally: Tally) -> AsyncGenerator[Work]:
    with tensorflow.Graph().as_default():
        op = tensorflow.constant(VALUE)
        fetches = [tensorflow.constant(VALUE) if fetching else None for _ in range(hooks)]
        counting = [_Counting(tally, fetch) for fetch in fetches]
        one_thread = v1.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
        creator = v1.train.ChiefSessionCreator(config=one_thread)
        with v1.train.MonitoredSession(creator, hooks=counting) as session:

            async def work(count: int) -> object:
                value: object = None
                for _ in range(count):
                    value = session.run(op)
                return value

            yield work
