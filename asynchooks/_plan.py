"""Run plans: what to evaluate and in which order, as indices and bound calls instead of ops."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple, cast

from asynchooks._errors import InvalidArgumentError
from asynchooks._graph import Op, OpKind

Arguments = Callable[[Sequence[Any]], Sequence[Any]]
"""Picks the arguments of an op's call from the values of a run."""


class Step(NamedTuple):
    """How to evaluate one op.

    An op is meant by its index in the plan, which is also the place of its value in a run.

    Attributes:
        op: the op.
        kind: how its call gives a value.
        call: its call.
        arguments: what to call it with.
        inputs: the ops whose values that takes.
        successors: the ops that wait for it.
    """

    op: int
    kind: OpKind
    call: Callable[..., Any]
    arguments: Arguments
    inputs: tuple[int, ...]
    successors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """How to evaluate some ops, given the values of some others.

    Attributes:
        ops: all that have a value in the run, each once; first those whose values are wanted, in
            the order in which they are. The list of values has one place more, for the transaction.
        steps: for each op how to evaluate it; None if its value is given.
        first: the steps that wait for nothing.
        waiting: for each op, how many ops it waits for.
        uses: for each op, how many calls take its value, and one more if it is fetched.
        line: the steps in an order in which each comes after those that it waits for, each with the
            ops whose values nobody takes after it.
        fed: the ops whose values are given, in the order in which they are given.
        concurrent: whether ops that may suspend can be ready at the same time.
        stateful: whether an op reads or changes state.
    """

    ops: tuple[Op[Any], ...]
    steps: tuple[Step | None, ...]
    first: tuple[Step, ...]
    waiting: tuple[int, ...]
    uses: tuple[int, ...]
    line: tuple[tuple[Step, tuple[int, ...]], ...]
    fed: tuple[int, ...]
    concurrent: bool
    stateful: bool


def compile_plan(fetched: Iterable[Op[Any]], fed: Iterable[Op[Any]]) -> Plan:
    """Plans a run.

    Args:
        fetched: the ops whose values are wanted, each once.
        fed: the ops whose values are given; what only they need is not evaluated.

    Raises:
        InvalidArgumentError: a placeholder is needed and not fed.
    """
    fetched, fed = tuple(fetched), tuple(fed)
    return _Compiler(fetched, fed).plan()


class _Compiler:
    def __init__(self, fetched: tuple[Op[Any], ...], fed: tuple[Op[Any], ...]) -> None:
        self._fed_ops = frozenset(fed)
        needed = _needed(fetched, self._fed_ops)
        self._index = {op: number for number, op in enumerate(fetched)}
        for op in (*needed, *fed):
            self._index.setdefault(op, len(self._index))
        # Ops start in this order as far as they are free to.
        self._order = self._indices(tuple(needed))
        self._fetched = len(fetched)
        self._fed = self._indices(fed)
        self._before = [self._waits_for(op) for op in self._index]
        self._successors = self._inverted()

    def plan(self) -> Plan:
        ops = tuple(self._index)
        steps = tuple(self._step(op, number) for op, number in self._index.items())
        waiting = tuple(len(each) for each in self._before)
        ordered = (steps[number] for number in self._order)
        first = tuple(step for step in ordered if step is not None and not waiting[step.op])
        order, depths = _sorted(steps, first, waiting)
        uses = self._uses(steps)
        levels = [depths[step.op] for step in order if _may_suspend(step)]
        return Plan(
            ops=ops,
            steps=steps,
            first=first,
            waiting=waiting,
            uses=tuple(uses),
            line=_with_last_uses(order, uses),
            fed=self._fed,
            # Ops that suspend follow one another in a single line exactly if each has as many of
            # them on the longest way to it as no other has.
            concurrent=len(set(levels)) < len(levels),
            stateful=any(op.stateful for op in ops if op not in self._fed_ops),
        )

    def _step(self, op: Op[Any], number: int) -> Step | None:
        if op in self._fed_ops:
            return None
        assert op.call is not None
        inputs = self._indices(op.inputs)
        places = (len(self._index), *inputs) if op.stateful else inputs
        successors = tuple(self._successors[number])
        return Step(number, op.kind, op.call, _picks(places), inputs, successors)

    def _indices(self, ops: tuple[Op[Any], ...]) -> tuple[int, ...]:
        return tuple(self._index[op] for op in ops)

    def _waits_for(self, op: Op[Any]) -> frozenset[int]:
        if op in self._fed_ops:
            return frozenset()
        before = {*op.inputs, *op.control_inputs} - self._fed_ops
        return frozenset(self._index[each] for each in before)

    def _inverted(self) -> list[list[int]]:
        successors: list[list[int]] = [[] for _ in self._before]
        for number in self._order:
            for each in self._before[number]:
                successors[each].append(number)
        return successors

    def _uses(self, steps: tuple[Step | None, ...]) -> list[int]:
        uses = [0] * len(steps)
        for step in steps:
            for each in step.inputs if step is not None else ():
                uses[each] += 1
        for each in range(self._fetched):
            uses[each] += 1
        return uses


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


def _sorted(
    steps: tuple[Step | None, ...], first: tuple[Step, ...], waiting: tuple[int, ...]
) -> tuple[list[Step], list[int]]:
    order: list[Step] = []
    depths = [0] * len(steps)
    left = list(waiting)
    ready = deque(first)
    while ready:
        step = ready.popleft()
        order.append(step)
        depths[step.op] += _may_suspend(step)
        for successor in step.successors:
            depths[successor] = max(depths[successor], depths[step.op])
            left[successor] -= 1
            following = steps[successor]
            if not left[successor] and following is not None:
                ready.append(following)
    return order, depths


def _may_suspend(step: Step) -> bool:
    return step.kind in (OpKind.ASYNC, OpKind.THREAD)


def _picks(places: tuple[int, ...]) -> Arguments:
    if not places:
        return _nothing
    if len(places) == 1:
        return cast("Arguments", itemgetter(slice(places[0], places[0] + 1)))
    return cast("Arguments", itemgetter(*places))


def _nothing(values: Sequence[Any]) -> Sequence[Any]:
    return ()


def _with_last_uses(order: list[Step], uses: list[int]) -> tuple[tuple[Step, tuple[int, ...]], ...]:
    left = list(uses)
    line: list[tuple[Step, tuple[int, ...]]] = []
    for step in order:
        for each in step.inputs:
            left[each] -= 1
        line.append((step, tuple(each for each in set(step.inputs) if not left[each])))
    return tuple(line)
