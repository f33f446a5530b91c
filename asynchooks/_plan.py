"""Run plans: what to evaluate and in which order, as indices instead of ops."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from asynchooks._errors import InvalidArgumentError
from asynchooks._graph import Op, OpKind


@dataclass(frozen=True, slots=True)
class Plan:
    """How to evaluate some ops, given the values of some others.

    An op is meant by its index in `ops`, here and in the list of values of a run.

    Attributes:
        ops: all that have a value in the run, each once.
        inputs: for each op, the ops whose values its call takes.
        successors: for each op, the ops that wait for it.
        waiting: for each op, how many ops it waits for.
        ready: the ops that wait for none.
        fed: the ops whose values are given, in the order in which they are given.
        fetched: the ops whose values are wanted, in the order in which they are wanted.
        concurrent: whether ops that may suspend can be ready at the same time.
    """

    ops: tuple[Op[Any], ...]
    inputs: tuple[tuple[int, ...], ...]
    successors: tuple[tuple[int, ...], ...]
    waiting: tuple[int, ...]
    ready: tuple[int, ...]
    fed: tuple[int, ...]
    fetched: tuple[int, ...]
    concurrent: bool


def compile_plan(fetched: Iterable[Op[Any]], fed: Iterable[Op[Any]]) -> Plan:
    """Plans a run.

    Args:
        fetched: the ops whose values are wanted.
        fed: the ops whose values are given; what only they need is not evaluated.

    Raises:
        InvalidArgumentError: a placeholder is needed and not fed.
    """
    fetched, fed = tuple(fetched), tuple(fed)
    index = {op: number for number, op in enumerate(_needed(fetched, frozenset(fed)))}
    for op in fed:
        index.setdefault(op, len(index))
    given = frozenset(index[op] for op in fed)
    before = [_before(op, index, given) for op in index]
    successors = _successors(before)
    waiting = tuple(len(each) for each in before)
    return Plan(
        ops=tuple(index),
        inputs=tuple(() if index[op] in given else _indices(op.inputs, index) for op in index),
        successors=successors,
        waiting=waiting,
        ready=tuple(n for n, count in enumerate(waiting) if not count and n not in given),
        fed=tuple(index[op] for op in fed),
        fetched=tuple(index[op] for op in fetched),
        concurrent=_concurrent(tuple(index), before, successors, given),
    )


def _needed(fetched: tuple[Op[Any], ...], fed: frozenset[Op[Any]]) -> dict[Op[Any], None]:
    needed: dict[Op[Any], None] = {}
    pending = list(reversed(fetched))
    while pending:
        op = pending.pop()
        if op in needed:
            continue
        needed[op] = None
        if op in fed:
            continue
        if op.kind is OpKind.PLACEHOLDER:
            raise InvalidArgumentError(
                f"placeholder {op.name!r} is needed and not fed; give it a value in feed_dict"
            )
        pending.extend(reversed((*op.inputs, *op.control_inputs)))
    return needed


def _before(op: Op[Any], index: dict[Op[Any], int], given: frozenset[int]) -> frozenset[int]:
    if index[op] in given:
        return frozenset()
    return frozenset(_indices((*op.inputs, *op.control_inputs), index)) - given


def _indices(ops: tuple[Op[Any], ...], index: dict[Op[Any], int]) -> tuple[int, ...]:
    return tuple(index[op] for op in ops)


def _successors(before: list[frozenset[int]]) -> tuple[tuple[int, ...], ...]:
    successors: list[list[int]] = [[] for _ in before]
    for op, predecessors in enumerate(before):
        for predecessor in predecessors:
            successors[predecessor].append(op)
    return tuple(tuple(each) for each in successors)


def _concurrent(
    ops: tuple[Op[Any], ...],
    before: list[frozenset[int]],
    successors: tuple[tuple[int, ...], ...],
    given: frozenset[int],
) -> bool:
    # Ops that suspend follow one another in a single line exactly if each has as many of them on
    # the longest way to it as no other has.
    suspends = [n not in given and op.kind is not OpKind.PLAIN for n, op in enumerate(ops)]
    depths = [0] * len(ops)
    waiting = [len(each) for each in before]
    ready = deque(op for op, count in enumerate(waiting) if not count)
    while ready:
        op = ready.popleft()
        depths[op] += suspends[op]
        for successor in successors[op]:
            depths[successor] = max(depths[successor], depths[op])
            waiting[successor] -= 1
            if not waiting[successor]:
                ready.append(successor)
    levels = [depth for op, depth in enumerate(depths) if suspends[op]]
    return len(set(levels)) < len(levels)
