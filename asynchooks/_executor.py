"""Runs a plan: a line of ops one after another in place, others by workers."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from time import perf_counter
from typing import Any

from asynchooks._backend import Counter, raise_if_cancelled
from asynchooks._errors import reraise
from asynchooks._evaluation import error_of, evaluate_other
from asynchooks._graph import ASYNC, INTERNAL
from asynchooks._pace import Pace
from asynchooks._plan import Plan
from asynchooks._state import Transaction
from asynchooks._workers import Workers


def execute(
    plan: Plan,
    fed_values: Iterable[Any],
    transaction: Transaction | None,
    pace: Pace,
    counter: Counter,
) -> Awaitable[list[Any]]:
    """Evaluates the ops of a plan when awaited.

    When an op fails, those under way are cancelled and awaited and no other one is started.

    Args:
        plan: what to evaluate.
        fed_values: the values of `plan.fed`.
        transaction: what stateful ops read and change; None if there are none.
        pace: is asked now and then whether to let other tasks run.
        counter: that of the current task.

    Returns:
        The values of all ops in the plan's order; those that nobody takes any more are dropped.

    Raises:
        BaseException: what an op raised, bare if it is the only error, else a group. The end of the
            input counts only if there is no other error, and once if several inputs have ended.
    """
    values: list[Any] = [None] * len(plan.ops)
    values.append(transaction)
    if plan.fed:
        for op, value in zip(plan.fed, fed_values, strict=True):
            values[op] = value
    if plan.concurrent:
        return _evaluate_concurrently(plan, values, pace)
    return _evaluate_line(plan, values, pace, counter)


async def _evaluate_concurrently(plan: Plan, values: list[Any], pace: Pace) -> list[Any]:
    workers = Workers(plan, values, pace)
    try:
        await workers.run()
    except BaseException as cancellation:
        # It came from outside; what ops have raised is its context, unless it is an interrupt.
        failure = workers.error()
        if failure is not None and not isinstance(failure, Exception):
            reraise(failure)
        cancellation.__context__ = failure
        raise
    failure = workers.error()
    if failure is not None:
        reraise(failure)
    return values


async def _evaluate_line(plan: Plan, values: list[Any], pace: Pace, counter: Counter) -> list[Any]:
    op, cancellations, steps = 0, counter(), plan.steps
    try:
        for op in plan.order:
            kind, call, place, arguments, done_with, _, _, _ = steps[op]
            if perf_counter() >= pace.turn_ends:
                await pace.checkpoint()
            if kind is ASYNC:
                if arguments is None:
                    values[op] = await call(values[place])
                else:
                    values[op] = await call(*arguments(values))
            else:
                taken = (values[place],) if arguments is None else arguments(values)
                if kind is INTERNAL:
                    values[op] = call(*taken)
                else:
                    values[op] = await evaluate_other(kind, call, *taken)
            for each in done_with:
                values[each] = None
            if counter() > cancellations:
                await raise_if_cancelled(cancellations)
    except BaseException as error:
        leaving = error_of(plan.ops[op], error, cancellations)
        if leaving is error:
            raise
        reraise(leaving)
    return values
