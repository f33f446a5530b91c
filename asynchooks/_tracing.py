"""Ops that record when they are evaluated, made for one run: other runs know nothing of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from time import perf_counter
from typing import Any

from asynchooks._graph import INTERNAL, Op
from asynchooks._ops import name_of
from asynchooks._run_metadata import NodeExecStats

Record = Callable[[NodeExecStats], object]
"""Takes an op that has ended."""


def traced_ops(
    fetched: Iterable[Op[Any]], fed: Iterable[Op[Any]], record: Record
) -> dict[Op[Any], Op[Any]]:
    """Copies ops, and what they need, into ops that record when they are evaluated.

    Args:
        fetched: the ops that are wanted.
        fed: the ops whose values are given; what only they need is not copied.
        record: takes each evaluation, in the thread in which the op ends.

    Returns:
        The copies, which are in no graph, by op.
    """
    given = frozenset(fed)
    copies: dict[Op[Any], Op[Any]] = {}
    pending = [*given, *fetched]
    while pending:
        op = pending[-1]
        before = () if op in given else (*op.inputs, *op.control_inputs)
        missing = [each for each in before if each not in copies]
        if missing:
            pending += missing
            continue
        pending.pop()
        if op not in copies:
            copies[op] = _traced(op, copies, record)
    return copies


def _traced(op: Op[Any], copies: dict[Op[Any], Op[Any]], record: Record) -> Op[Any]:
    return Op[Any](
        op.graph,
        op.name,
        op.kind,
        None if op.call is None else _timed(op, op.call, record),
        # What a fed op comes after does not matter, and may not be there.
        inputs=tuple(copies[each] for each in op.inputs if each in copies),
        control_inputs=tuple(copies[each] for each in op.control_inputs if each in copies),
        stateful=op.stateful,
    )


def _timed(op: Op[Any], call: Callable[..., Any], record: Record) -> Callable[..., Any]:
    inputs = tuple(each.name for each in op.inputs)

    def ended(start: float) -> None:
        record(NodeExecStats(op.name, inputs, start, perf_counter()))

    async def awaited(value: Awaitable[Any], start: float) -> Any:
        try:
            return await value
        finally:
            ended(start)

    def timed(*values: Any) -> Any:
        start = perf_counter()
        try:
            value = call(*values)
        except BaseException:
            ended(start)
            raise
        if op.kind is not INTERNAL and hasattr(value, "__await__"):
            return awaited(value, start)
        ended(start)
        return value

    # Messages call the function by its name.
    timed.__name__ = name_of(call)
    return timed
