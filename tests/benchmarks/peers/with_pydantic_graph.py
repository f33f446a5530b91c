"""The jobs of pydantic-graph: steps, forks and joins, without hooks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_graph import GraphBuilder, StepContext, reduce_sum

from tests.benchmarks.effort import Effort
from tests.benchmarks.peers.jobs import (
    STEP_HOOKS,
    Job,
    Unable,
    awaited_jobs,
    graph_job,
    graph_name,
    step_name,
)
from tests.benchmarks.peers.ours import Call
from tests.benchmarks.peers.sums import combine
from tests.benchmarks.peers.tally import Tally
from tests.benchmarks.shapes import Shape

_FEW_OPS = 100


def jobs(effort: Effort) -> Iterator[Job | Unable]:
    """Yields the jobs of pydantic-graph."""
    yield from awaited_jobs(_step, min(effort.callers, 1_000), hooks=(0,), note="a graph of 1 step")
    for hooks in STEP_HOOKS[1:]:
        yield Unable(step_name(hooks), "it has no hooks")
    yield graph_job("chain", effort.ops, _graph)
    yield graph_job("fan-out + join", effort.ops, _graph, note="a join that sums")
    yield Unable(graph_name("layered"), "a step has one input, a join all that one fork led to")
    few = "few, since building takes far longer than linear time"
    yield graph_job("diamonds", min(effort.ops, _FEW_OPS), _graph, note=few)


@asynccontextmanager
async def _step(tally: Tally, hooks: int, function: Call) -> AsyncGenerator[Call]:
    async def value(context: StepContext[None, None, None]) -> int:
        result: int = await function()
        return result

    builder: Any = GraphBuilder(output_type=int, name="step")
    step = builder.step(value, node_id="value")
    builder.add(
        builder.edge_from(builder.start_node).to(step),
        builder.edge_from(step).to(builder.end_node),
    )
    yield builder.build().run


@asynccontextmanager
async def _graph(shape: Shape) -> AsyncGenerator[Call]:
    builder: Any = GraphBuilder(output_type=int, name="graph")
    steps = [
        builder.step(_node(len(inputs)), node_id=f"op_{op}")
        for op, inputs in enumerate(shape.inputs)
    ]
    takers: dict[int, list[Any]] = {op: [] for op in range(shape.size)}
    for op, inputs in enumerate(shape.inputs):
        into = steps[op]
        if len(inputs) > 1:
            into = builder.join(reduce_sum, initial=0, node_id=f"join_{op}")
            builder.add(builder.edge_from(into).to(steps[op]))
        for each in inputs:
            takers[each].append(into)
    takers[shape.ends[0]].append(builder.end_node)
    builder.add(builder.edge_from(builder.start_node).to(steps[0]))
    for op, into in takers.items():
        builder.add(builder.edge_from(steps[op]).to(*into))
    graph = builder.build()

    async def call() -> list[int]:
        return [await graph.run()]

    yield call


def _node(inputs: int) -> Callable[[StepContext[None, None, int]], Any]:
    async def source(context: StepContext[None, None, Any]) -> int:
        return combine()

    async def node(context: StepContext[None, None, int]) -> int:
        return combine(context.inputs)

    return node if inputs else source
