"""Run plans: what to evaluate and in which order, as indices and bound calls instead of ops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple, cast

from asynchooks._errors import InvalidArgumentError
from asynchooks._evaluation import call_of
from asynchooks._graph import ASYNC, PLACEHOLDER, THREAD, Op, OpKind

Arguments = Callable[[Sequence[Any]], Sequence[Any]]
"""Picks the arguments of an op's call from the values of a run."""

_SUSPENDING = (ASYNC, THREAD)


class Step(NamedTuple):
    """How to evaluate one op.

    An op is meant by its index in the plan, which is also the place of its value in a run.

    Attributes:
        kind: how its call gives a value.
        call: its call; in a concurrent plan it is to be awaited, whatever the kind.
        place: where the one value stands that the call takes; of no meaning if it takes more.
        arguments: picks what the call takes; None if that is the value at `place` and no other.
        done_with: the ops whose values nobody takes after it.
        shared: the ops whose values others may yet take, which `Plan.uses` counts.
        freed: the ops that wait for it, if they wait for nothing else.
        awaited: the ops that wait for it, if some of them wait for others as well.
    """

    kind: OpKind
    call: Callable[..., Any]
    place: int
    arguments: Arguments | None
    done_with: tuple[int, ...]
    shared: tuple[int, ...]
    freed: tuple[int, ...]
    awaited: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """How to evaluate some ops, given the values of some others.

    Attributes:
        ops: all that have a value in the run, each once; first those whose values are wanted, in
            the order in which they are. The list of values has one place more, for the transaction.
        steps: for each op how to evaluate it, unless its value is given.
        order: the ops to evaluate, each after those that it waits for; empty if it is concurrent.
        first: the ops that wait for nothing.
        waiting: for each op, how many ops it waits for.
        uses: for each op, how many calls take its value; 0 if it is fetched, and so kept.
        fed: the ops whose values are given, in the order in which they are given.
        concurrent: whether ops that may suspend can be ready at the same time. If not, the ops are
            evaluated in `order` and steps say what is done with then.
        stateful: whether an op reads or changes state.
    """

    ops: tuple[Op[Any], ...]
    steps: tuple[Step, ...]
    order: tuple[int, ...]
    first: tuple[int, ...]
    waiting: tuple[int, ...]
    uses: tuple[int, ...]
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
        self._ops = tuple(dict.fromkeys((*fetched, *needed, *fed)))
        self._index = {op: number for number, op in enumerate(self._ops)}
        # Ops start in this order as far as they are free to.
        self._preferred = self._indices(tuple(needed))
        self._fed = self._indices(fed)
        self._inputs = [self._taken_by(op) for op in self._ops]
        before = list(map(self._awaited_by, self._ops, self._inputs))
        self._waiting = [len(each) for each in before]
        self._successors = self._inverted(before)
        self._uses = self._counted_uses(len(fetched))

    def plan(self) -> Plan:
        order, depths = self._sorted()
        levels = [depths[number] for number in order if _may_suspend(self._ops[number])]
        # Ops that suspend follow one another in a single line exactly if each has as many of them
        # on the longest way to it as no other has.
        concurrent = len(set(levels)) < len(levels)
        return Plan(
            ops=self._ops,
            steps=tuple(self._flow(order) if concurrent else self._line(order)),
            order=() if concurrent else tuple(order),
            first=self._first(),
            waiting=tuple(self._waiting),
            uses=tuple(self._uses),
            fed=self._fed,
            concurrent=concurrent,
            stateful=any(op.stateful for op in self._ops if op not in self._fed_ops),
        )

    def _indices(self, ops: tuple[Op[Any], ...]) -> tuple[int, ...]:
        return tuple([self._index[op] for op in ops])

    def _taken_by(self, op: Op[Any]) -> tuple[int, ...]:
        return () if op in self._fed_ops else self._indices(op.inputs)

    def _awaited_by(self, op: Op[Any], inputs: tuple[int, ...]) -> tuple[int, ...]:
        if op in self._fed_ops:
            return ()
        before = inputs + self._indices(op.control_inputs) if op.control_inputs else inputs
        if not self._fed_ops:
            return before
        return tuple(each for each in before if self._ops[each] not in self._fed_ops)

    def _inverted(self, before: list[tuple[int, ...]]) -> list[list[int]]:
        successors: list[list[int]] = [[] for _ in before]
        for number in self._preferred:
            for each in before[number]:
                successors[each].append(number)
        return successors

    def _counted_uses(self, fetched: int) -> list[int]:
        uses = [0] * len(self._ops)
        for inputs in self._inputs:
            for each in inputs:
                uses[each] += 1
        uses[:fetched] = [0] * fetched
        return uses

    def _first(self) -> tuple[int, ...]:
        free = (number for number in self._preferred if not self._waiting[number])
        return tuple(number for number in free if self._ops[number] not in self._fed_ops)

    def _sorted(self) -> tuple[list[int], list[int]]:
        depths = [0] * len(self._ops)
        left = list(self._waiting)
        order = list(self._first())
        for number in order:
            depths[number] = depth = depths[number] + _may_suspend(self._ops[number])
            for successor in self._successors[number]:
                depths[successor] = max(depths[successor], depth)
                left[successor] -= 1
                if not left[successor]:
                    order.append(successor)
        return order, depths

    def _line(self, order: list[int]) -> list[Step]:
        left = list(self._uses)
        steps = [_GIVEN] * len(self._ops)
        for number in order:
            op, inputs = self._ops[number], self._inputs[number]
            assert op.call is not None
            for each in inputs:
                left[each] -= 1
            done_with = _those(inputs, lambda each: not left[each])
            steps[number] = Step(op.kind, op.call, *self._taking(number), done_with, (), (), ())
        return steps

    def _flow(self, order: list[int]) -> list[Step]:
        waiting, uses = self._waiting, self._uses
        steps = [_GIVEN] * len(self._ops)
        for number in order:
            op, inputs = self._ops[number], self._inputs[number]
            done_with = _those(inputs, lambda each: uses[each] == 1)
            shared = _those(inputs, lambda each: uses[each] > 1)
            freed, awaited = tuple(self._successors[number]), ()
            if any(waiting[each] > 1 for each in freed):
                freed, awaited = (), freed
            steps[number] = Step(
                op.kind, call_of(op), *self._taking(number), done_with, shared, freed, awaited
            )
        return steps

    def _taking(self, number: int) -> tuple[int, Arguments | None]:
        places = self._inputs[number]
        if self._ops[number].stateful:
            places = (len(self._ops), *places)
        return (places[0], None) if len(places) == 1 else (0, _picks(places))


def _nothing(values: Sequence[Any]) -> Sequence[Any]:
    return ()


_GIVEN = Step(PLACEHOLDER, _nothing, 0, _nothing, (), (), (), ())


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
        if op.kind is PLACEHOLDER:
            raise InvalidArgumentError(
                f"placeholder {op.name!r} is needed and not fed; give it a value in feed_dict"
            )
        pending.extend((op.inputs + op.control_inputs)[::-1])
    return needed


def _may_suspend(op: Op[Any]) -> bool:
    return op.kind in _SUSPENDING


def _picks(places: tuple[int, ...]) -> Arguments:
    return cast("Arguments", itemgetter(*places)) if places else _nothing


def _those(ops: tuple[int, ...], meant: Callable[[int], bool]) -> tuple[int, ...]:
    kept = tuple(filter(meant, ops))
    # Plans are large: they share what is equal.
    return ops if len(kept) == len(ops) else kept
