"""Runs a plan: ready ops concurrently, a single one in place."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Sequence
from typing import Any

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from asynchooks._backend import is_cancellation, is_cancelled, native_cancellations
from asynchooks._errors import OpCancelledError, bare, combine, is_end_of_input, note_once, reraise
from asynchooks._graph import Op, OpKind
from asynchooks._ops import in_place
from asynchooks._pace import Pace
from asynchooks._plan import Plan
from asynchooks._state import Transaction

_OPS_BETWEEN_CHECKPOINTS = 64


async def execute(
    plan: Plan, fed_values: Sequence[Any], transaction: Transaction, pace: Pace
) -> list[Any]:
    """Evaluates the ops of a plan.

    When an op fails, those under way are cancelled and awaited and no other one is started.

    Args:
        plan: what to evaluate.
        fed_values: the values of `plan.fed`.
        transaction: what stateful ops read and change.
        pace: is asked now and then whether to let other tasks run.

    Returns:
        The values of `plan.fetched`.

    Raises:
        BaseException: what an op raised, bare if it is the only error, else a group. The end of the
            input counts only if there is no other error.
    """
    execution = _Execution(plan, fed_values, transaction, pace)
    if plan.concurrent:
        async with anyio.create_task_group() as group:
            execution.group = group
            await execution.work()
    else:
        await execution.work()
    execution.raise_errors()
    return [execution.values[op] for op in plan.fetched]


class _Execution:
    """One run of a plan.

    Its workers take ready ops one after another. A worker that is about to await an op while
    others are ready has another worker started first: if the op does not suspend, that one finds
    nothing left to do. Each op runs in one task from its start to its end.
    """

    __slots__ = (
        "_errors",
        "_pace",
        "_plan",
        "_ready",
        "_since_checkpoint",
        "_transaction",
        "_waiting",
        "_worker_is_due",
        "group",
        "values",
    )

    def __init__(
        self, plan: Plan, fed_values: Sequence[Any], transaction: Transaction, pace: Pace
    ) -> None:
        self.group: TaskGroup | None = None
        self.values: list[Any] = [None] * len(plan.ops)
        for op, value in zip(plan.fed, fed_values, strict=True):
            self.values[op] = value
        self._plan = plan
        self._transaction = transaction
        self._pace = pace
        self._waiting = list(plan.waiting)
        self._ready = deque(plan.ready)
        self._errors: list[BaseException] = []
        self._worker_is_due = False
        self._since_checkpoint = 0

    async def work(self) -> None:
        """Evaluates ready ops until there are none, or one has failed."""
        cancellations = native_cancellations()
        while self._ready and not self._errors:
            await self._let_others_run()
            index = self._ready.popleft()
            if self._ready:
                self._have_another_worker()
            try:
                self.values[index] = await self._evaluate(index)
            except BaseException as error:
                self._fail(self._plan.ops[index], error, cancellations)
            else:
                self._release(index)

    def raise_errors(self) -> None:
        """Raises what ops have raised."""
        errors = [error for error in self._errors if not is_end_of_input(error)]
        if self._errors:
            reraise(combine("several ops failed", errors or self._errors))

    async def _let_others_run(self) -> None:
        self._since_checkpoint += 1
        if self._since_checkpoint == _OPS_BETWEEN_CHECKPOINTS:
            self._since_checkpoint = 0
            await self._pace.checkpoint()

    def _have_another_worker(self) -> None:
        if self.group is not None and not self._worker_is_due:
            self._worker_is_due = True
            self.group.start_soon(self._work_too)

    async def _work_too(self) -> None:
        self._worker_is_due = False
        await self.work()

    async def _evaluate(self, index: int) -> Any:
        op = self._plan.ops[index]
        args = [self.values[each] for each in self._plan.inputs[index]]
        if op.stateful:
            args.insert(0, self._transaction)
        assert op.call is not None
        if op.kind is OpKind.ASYNC:
            return await op.call(*args)
        if op.kind is OpKind.THREAD:
            return await to_thread.run_sync(in_place, op.call, *args)
        value = in_place(op.call, *args)
        return await value if inspect.isawaitable(value) and not op.stateful else value

    def _fail(self, op: Op[Any], error: BaseException, cancellations: int) -> None:
        if is_cancellation(error):
            if is_cancelled(cancellations):
                raise error
            error = _caused(OpCancelledError(op.name), error)
        error = bare(error)
        if isinstance(error, Exception):
            note_once(error, f"raised by op {op.name!r}")
        self._errors.append(error)
        if self.group is not None:
            self.group.cancel_scope.cancel()

    def _release(self, index: int) -> None:
        for successor in self._plan.successors[index]:
            self._waiting[successor] -= 1
            if not self._waiting[successor]:
                self._ready.append(successor)


def _caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error
