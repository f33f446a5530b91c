"""The jobs of LangGraph: nodes that write to a channel, with async handlers of callbacks."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from operator import or_
from typing import Annotated, Any, TypedDict

os.environ["LANGSMITH_TRACING"] = "false"

from langchain_core.callbacks import AsyncCallbackHandler
from langgraph.graph import END, START, StateGraph

from tests.benchmarks.effort import Effort
from tests.benchmarks.peers.jobs import Job, Unable, awaited_jobs, graph_job
from tests.benchmarks.peers.ours import Call
from tests.benchmarks.peers.sums import combine
from tests.benchmarks.peers.tally import Tally
from tests.benchmarks.shapes import SHAPES, Shape


class _Counting(AsyncCallbackHandler):  # type: ignore[misc]
    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    # Both are called for the graph too, which has no parent.
    async def on_chain_start(self, *_: Any, parent_run_id: Any = None, **__: Any) -> None:
        self._tally.calls += parent_run_id is not None

    async def on_chain_end(self, *_: Any, parent_run_id: Any = None, **__: Any) -> None:
        self._tally.calls += parent_run_id is not None


class _Value(TypedDict):
    value: int


class _Values(TypedDict):
    # One channel: with one for each op a chain takes three times as long.
    values: Annotated[dict[int, int], or_]


def jobs(effort: Effort) -> Iterator[Job | Unable]:
    """Yields the jobs of LangGraph."""
    yield from awaited_jobs(_step, min(effort.callers, 1_000), note="a graph of 1 node")
    for name in SHAPES:
        yield graph_job(name, effort.ops, _graph)


@asynccontextmanager
async def _step(tally: Tally, hooks: int, function: Call) -> AsyncGenerator[Call]:
    async def node(state: _Value) -> dict[str, int]:
        return {"value": await function()}

    builder: Any = StateGraph(_Value)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    app = builder.compile()
    config = {"callbacks": [_Counting(tally) for _ in range(hooks)]}

    async def call() -> int:
        result: int = (await app.ainvoke({"value": 0}, config))["value"]
        return result

    yield call


@asynccontextmanager
async def _graph(shape: Shape) -> AsyncGenerator[Call]:
    builder: Any = StateGraph(_Values)
    for op, inputs in enumerate(shape.inputs):
        builder.add_node(_name(op), _node(op, inputs))
        before = [_name(each) for each in inputs] or [START]
        builder.add_edge(before if len(before) > 1 else before[0], _name(op))
    app = builder.compile()
    config = {"recursion_limit": shape.size + 2}

    async def call() -> list[int]:
        values = (await app.ainvoke({"values": {}}, config))["values"]
        return [values[end] for end in shape.ends]

    yield call


def _node(
    op: int, inputs: tuple[int, ...]
) -> Callable[[_Values], Coroutine[Any, Any, dict[str, dict[int, int]]]]:
    async def node(state: _Values) -> dict[str, dict[int, int]]:
        values = state["values"]
        return {"values": {op: combine(*[values[each] for each in inputs])}}

    return node


def _name(op: int) -> str:
    return f"op_{op}"
