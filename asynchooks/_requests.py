"""Compiled requests: what a run's fetches and feeds come to, kept with the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from asynchooks._fetches import Fetches, parse_fetches
from asynchooks._graph import Graph, Op
from asynchooks._options import RunOptions
from asynchooks._plan import Plan, compile_plan
from asynchooks._run_metadata import RunMetadata
from asynchooks._structure import Build
from asynchooks._tracing import traced_ops
from asynchooks._variables import Variable

_MOST_KEPT = 1024
_PLAN = object()
_LEAVES = {Op, Variable, str}


@dataclass(frozen=True, slots=True)
class Request:
    """How to serve some fetches.

    Attributes:
        plan: how to evaluate the ops.
        build: makes the results from the values of all ops in the plan.
    """

    plan: Plan
    build: Build


def compile_request(
    graph: Graph, fetches: object, fed: tuple[Op[Any], ...], options: RunOptions | None = None
) -> Request:
    """Compiles fetches, or finds what was compiled before.

    Args:
        graph: the graph that is run.
        fetches: what to evaluate; see `parse_fetches`.
        fed: the ops whose values are given.
        options: may ask for a request that fills run metadata, and serves one run.
    """
    if options is not None and options.run_metadata is not None:
        return _traced(parse_fetches(graph, fetches), fed, options.run_metadata)
    key = (fetches, fed) if _is_immutable(fetches) else None
    request = graph.compiled.get(key)
    if request is None:
        request = _compiled(graph, parse_fetches(graph, fetches), fed)
        if key is not None:
            _keep(graph, key, request)
    return request


def check_fetches(graph: Graph, fetches: object) -> None:
    """Raises what `parse_fetches` raises."""
    if not _is_immutable(fetches):
        parse_fetches(graph, fetches)
    elif (fetches, None) not in graph.compiled:
        _keep(graph, (fetches, None), parse_fetches(graph, fetches))


def _compiled(graph: Graph, fetches: Fetches, fed: tuple[Op[Any], ...]) -> Request:
    key = (_PLAN, fetches.ops, fed)
    plan = graph.compiled.get(key)
    if plan is None:
        plan = compile_plan(fetches.ops, fed)
        _keep(graph, key, plan)
    return Request(plan, fetches.build)


def _traced(fetches: Fetches, fed: tuple[Op[Any], ...], metadata: RunMetadata) -> Request:
    copies = traced_ops(fetches.ops, fed, metadata.record)
    plan = compile_plan((copies[op] for op in fetches.ops), (copies[op] for op in fed))
    return Request(plan, fetches.build)


def _keep(graph: Graph, key: object, value: object) -> None:
    if len(graph.compiled) >= _MOST_KEPT:
        graph.compiled.clear()
    graph.compiled[key] = value


def _is_immutable(fetches: object) -> bool:
    if type(fetches) in _LEAVES:
        return True
    # A named tuple is equal to a tuple, but its results are not.
    if type(fetches) is not tuple:
        return False
    parts = cast("tuple[object, ...]", fetches)
    return _LEAVES.issuperset(map(type, parts)) or all(map(_is_immutable, parts))
