"""The jobs of Hamilton: its async driver, with async hooks of its nodes."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

os.environ.setdefault("HAMILTON_TELEMETRY_ENABLED", "false")

from hamilton.ad_hoc_utils import create_temporary_module
from hamilton.async_driver import Builder
from hamilton.lifecycle.base import BasePostNodeExecuteAsync, BasePreNodeExecuteAsync

from tests.benchmarks.effort import Effort
from tests.benchmarks.peers.jobs import Job, Unable, awaited_jobs, graph_job
from tests.benchmarks.peers.ours import Call
from tests.benchmarks.peers.sums import combine
from tests.benchmarks.peers.tally import Tally
from tests.benchmarks.shapes import SHAPES, Shape


class _Counting(BasePreNodeExecuteAsync, BasePostNodeExecuteAsync):  # type: ignore[misc]
    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    async def pre_node_execute(self, **_: Any) -> None:
        self._tally.calls += 1

    async def post_node_execute(self, **_: Any) -> None:
        self._tally.calls += 1


def jobs(effort: Effort) -> Iterator[Job | Unable]:
    """Yields the jobs of Hamilton."""
    yield from awaited_jobs(_step, min(effort.callers, 1_000), note="a graph of 1 node")
    for name in SHAPES:
        yield graph_job(name, effort.ops, _graph)


@asynccontextmanager
async def _step(tally: Tally, hooks: int, function: Call) -> AsyncGenerator[Call]:
    async def value() -> int:
        result: int = await function()
        return result

    value.__annotations__["return"] = int
    driver = await _driver(create_temporary_module(value), [_Counting(tally) for _ in range(hooks)])

    async def call() -> int:
        result: int = (await driver.execute(["value"]))["value"]
        return result

    yield call


@asynccontextmanager
async def _graph(shape: Shape) -> AsyncGenerator[Call]:
    driver = await _driver(_module(shape))
    wanted = [_name(end) for end in shape.ends]

    async def call() -> list[int]:
        results = await driver.execute(wanted)
        return [results[name] for name in wanted]

    yield call


async def _driver(module: ModuleType, hooks: Iterable[_Counting] = ()) -> Any:
    return await Builder().with_modules(module).with_adapters(*hooks).build()


def _module(shape: Shape) -> ModuleType:
    # The names of its parameters tell what a function needs, so each is written out.
    made: dict[str, Any] = {"combine": combine}
    for op, inputs in enumerate(shape.inputs):
        names = [_name(each) for each in inputs]
        parameters = ", ".join(f"{name}: int" for name in names)
        exec(
            f"async def {_name(op)}({parameters}) -> int: return combine({', '.join(names)})", made
        )
    module: ModuleType = create_temporary_module(*[made[_name(op)] for op in range(shape.size)])
    return module


def _name(op: int) -> str:
    return f"op_{op}"
