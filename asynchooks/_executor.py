"""Runs a plan: ready ops concurrently, a line of ops one after another in place."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

import anyio
from anyio.abc import TaskGroup

from asynchooks._backend import is_cancellation, is_cancelled, raise_if_natively_cancelled
from asynchooks._closing import conclude
from asynchooks._errors import OpCancelledError, bare, is_end_of_input, note_once, reraise
from asynchooks._graph import Op, OpKind
from asynchooks._ops import in_place
from asynchooks._pace import Pace
from asynchooks._plan import Plan, Step
from asynchooks._state import Transaction
from asynchooks._threads import in_thread

_MOST_WORKERS_AT_ONCE = 64


async def execute(
    plan: Plan,
    fed_values: Iterable[Any],
    transaction: Transaction | None,
    pace: Pace,
    cancellations: int,
) -> list[Any]:
    """Evaluates the ops of a plan.

    When an op fails, those under way are cancelled and awaited and no other one is started.

    Args:
        plan: what to evaluate.
        fed_values: the values of `plan.fed`.
        transaction: what stateful ops read and change; None if there are none.
        pace: is asked now and then whether to let other tasks run.
        cancellations: what `native_cancellations` was at the start of the run.

    Returns:
        The values of all ops in the plan's order; those that nobody takes any more are dropped.

    Raises:
        BaseException: what an op raised, bare if it is the only error, else a group. The end of the
            input counts only if there is no other error.
    """
    values: list[Any] = [None] * len(plan.ops)
    values.append(transaction)
    if plan.fed:
        for op, value in zip(plan.fed, fed_values, strict=True):
            values[op] = value
    if not plan.concurrent:
        await _evaluate_line(plan, values, pace, cancellations)
        return values
    execution = _Execution(plan, values, pace)
    try:
        async with anyio.create_task_group() as group:
            await execution.work(group)
    except BaseException as cancellation:
        # It came from outside; what ops have raised is its context, unless it is an interrupt.
        failure = execution.error()
        if failure is not None and not isinstance(failure, Exception):
            reraise(failure)
        cancellation.__context__ = failure
        raise
    failure = execution.error()
    if failure is not None:
        reraise(failure)
    return values


async def _evaluate_line(plan: Plan, values: list[Any], pace: Pace, cancellations: int) -> None:
    op, counter = 0, pace.counter()
    try:
        for (op, kind, call, arguments, _, _), done_with in plan.line:
            if perf_counter() >= pace.turn_ends:
                await pace.checkpoint()
            if kind is OpKind.ASYNC:
                values[op] = await call(*arguments(values))
            elif kind is OpKind.INTERNAL:
                values[op] = call(*arguments(values))
            else:
                values[op] = await _evaluate_other(kind, call, arguments(values))
            for each in done_with:
                values[each] = None
            if counter() > cancellations:
                raise_if_natively_cancelled(cancellations)
    except BaseException as error:
        leaving = _error_of(plan.ops[op], error, cancellations)
        if leaving is error:
            raise
        reraise(leaving)


class _Execution:
    """One run of a plan in which several ops can be under way.

    Its workers take ready ops one after another. A worker that is about to await an op while
    others are ready has another worker started first: if the op does not suspend, that one finds
    nothing left to do; if it does, that one has twice as many started. Each op runs in one task
    from its start to its end.
    """

    __slots__ = (
        "_burst",
        "_due",
        "_errors",
        "_pace",
        "_plan",
        "_ready",
        "_uses",
        "_values",
        "_waiting",
    )

    def __init__(self, plan: Plan, values: list[Any], pace: Pace) -> None:
        self._plan = plan
        self._values = values
        self._pace = pace
        self._waiting = list(plan.waiting)
        self._uses = list(plan.uses)
        self._ready = deque(
            step for step in plan.steps if step is not None and not plan.waiting[step.op]
        )
        self._errors: list[BaseException] = []
        # How many workers were started and have not begun, and how many are started next.
        self._due = 0
        self._burst = 1

    async def work(self, group: TaskGroup) -> None:
        """Evaluates ready ops until there are none, or one has failed."""
        counter = self._pace.counter()
        cancellations = counter()
        ready, values = self._ready, self._values
        while ready:
            if perf_counter() >= self._pace.turn_ends:
                await self._pace.checkpoint()
                continue
            step = ready.popleft()
            op, kind, call, arguments, _, _ = step
            try:
                if kind is OpKind.INTERNAL:
                    values[op] = call(*arguments(values))
                elif kind is OpKind.PLAIN:
                    values[op] = await _evaluate_other(kind, call, arguments(values))
                else:
                    if ready and not self._due:
                        self._start_workers(group)
                    if kind is OpKind.ASYNC:
                        values[op] = await call(*arguments(values))
                    else:
                        values[op] = await _evaluate_other(kind, call, arguments(values))
                    if counter() > cancellations:
                        raise_if_natively_cancelled(cancellations)
            except BaseException as error:
                self._fail(group, op, error, cancellations)
            else:
                self._finish(step)

    def error(self) -> BaseException | None:
        """Returns what ops have raised, as one error."""
        errors = [error for error in self._errors if not is_end_of_input(error)]
        return conclude(None, errors or self._errors, "several ops failed")

    def _start_workers(self, group: TaskGroup) -> None:
        self._due = min(self._burst, len(self._ready))
        for _ in range(self._due):
            group.start_soon(self._work_too, group)

    async def _work_too(self, group: TaskGroup) -> None:
        self._due -= 1
        self._burst = min(2 * self._burst, _MOST_WORKERS_AT_ONCE)
        await self.work(group)

    def _fail(self, group: TaskGroup, op: int, error: BaseException, cancellations: int) -> None:
        leaving = _error_of(self._plan.ops[op], error, cancellations)
        if is_cancellation(leaving):
            raise leaving
        self._errors.append(leaving)
        self._ready.clear()
        group.cancel_scope.cancel()

    def _finish(self, step: Step) -> None:
        if self._errors:
            return
        waiting, uses = self._waiting, self._uses
        for successor in step.successors:
            waiting[successor] -= 1
            if not waiting[successor]:
                following = self._plan.steps[successor]
                assert following is not None
                self._ready.append(following)
        for each in step.inputs:
            uses[each] -= 1
            if not uses[each]:
                self._values[each] = None


async def _evaluate_other(kind: OpKind, call: Any, arguments: Sequence[Any]) -> Any:
    if kind is OpKind.THREAD:
        value = await in_thread(call, arguments)
    else:
        value = in_place(call, *arguments)
    return await value if hasattr(value, "__await__") else value


def _error_of(op: Op[Any], error: BaseException, cancellations: int) -> BaseException:
    if is_cancellation(error):
        if is_cancelled(cancellations):
            return error
        own = OpCancelledError(op.name)
        own.__cause__ = error
        error = own
    error = bare(error)
    if isinstance(error, Exception):
        note_once(error, f"raised by op {op.name!r}")
    return error
