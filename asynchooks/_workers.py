"""Lazy workers: ready ops run concurrently, without a task for each."""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import Any

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from asynchooks._backend import Counter, is_cancellation, raise_if_natively_cancelled
from asynchooks._closing import conclude
from asynchooks._errors import is_end_of_input
from asynchooks._evaluation import error_of
from asynchooks._graph import ASYNC, THREAD
from asynchooks._pace import Pace
from asynchooks._plan import Plan

_SUSPENDING = (ASYNC, THREAD)
_ENOUGH_FOR_QUICK_OPS = 16


class Workers:
    """One run of a plan in which several ops can be under way.

    A worker takes ready ops one after another. Before it awaits an op while others are ready, it
    has another worker called: if the op does not suspend, that one finds nothing left to do. If it
    does, the one that was called goes on, and has twice as many called unless ops have finished
    meanwhile: then they suspend but shortly, and while they do, a few workers are enough. A worker
    that finds nothing to do is kept for the next call, as long as there is an op left for it. Each
    op runs in one task from its start to its end.
    """

    __slots__ = (
        "_burst",
        "_called",
        "_errors",
        "_finished",
        "_finished_at_call",
        "_group",
        "_idle",
        "_over",
        "_pace",
        "_paused",
        "_plan",
        "_ready",
        "_uses",
        "_values",
        "_waiting",
        "_working",
    )

    def __init__(self, plan: Plan, values: list[Any], pace: Pace) -> None:
        """Prepares the run.

        Args:
            plan: what to evaluate.
            values: the values of what is fed, and the transaction; the others are put in.
            pace: is asked now and then whether to let other tasks run.
        """
        self._plan = plan
        self._values = values
        self._pace = pace
        self._waiting = list(plan.waiting)
        self._uses = list(plan.uses)
        self._ready = deque(plan.first)
        self._errors: list[BaseException] = []
        self._group: TaskGroup | None = None
        self._idle: list[anyio.Event] = []
        self._working = 0
        self._over = False
        # Whether a worker lets other tasks run, which is no reason to call another one.
        self._paused = False
        # How many workers were called and have not begun, and how many are called next.
        self._called = 0
        self._burst = 1
        self._finished = 0
        self._finished_at_call = 0

    async def run(self) -> None:
        """Evaluates the ops."""
        async with anyio.create_task_group() as self._group:
            await self._work()

    def error(self) -> BaseException | None:
        """Returns what ops have raised, as one error."""
        errors = [error for error in self._errors if not is_end_of_input(error)]
        # That several inputs have ended says no more than that one has.
        return conclude(None, errors or self._errors[:1], "several ops failed")

    async def _work(self) -> None:
        counter = self._pace.counter()
        cancellations = counter()
        self._working += 1
        try:
            await self._evaluate_ready(counter, cancellations)
        finally:
            self._working -= 1
            if not self._working:
                self._dismiss()

    # Most of what a run costs is spent here, so this is one loop without a call that it can spare.
    async def _evaluate_ready(self, counter: Counter, cancellations: int) -> None:  # noqa: C901
        op, ready, values, steps = 0, self._ready, self._values, self._plan.steps
        take, waiting, uses, pace = ready.popleft, self._waiting, self._uses, self._pace
        try:
            while ready and not self._errors:
                op = take()
                kind, call, place, arguments, done_with, shared, freed, awaited = steps[op]
                if not self._called and ready and kind in _SUSPENDING:
                    self._call_workers()
                if arguments is None:
                    values[op] = await call(values[place])
                else:
                    values[op] = await call(*arguments(values))
                self._finished += 1
                if freed:
                    ready.extend(freed)
                for each in awaited:
                    left = waiting[each] = waiting[each] - 1
                    if not left:
                        ready.append(each)
                for each in done_with:
                    values[each] = None
                for each in shared:
                    left = uses[each] = uses[each] - 1
                    if not left:
                        values[each] = None
                if perf_counter() >= pace.turn_ends or counter() > cancellations:
                    await self._pause(cancellations)
        except BaseException as error:
            self._fail(op, error, cancellations)

    async def _pause(self, cancellations: int) -> None:
        self._paused = True
        try:
            await self._pace.checkpoint()
        finally:
            self._paused = False
        raise_if_natively_cancelled(cancellations)

    def _call_workers(self) -> None:
        assert self._group is not None
        self._called = min(self._burst, len(self._ready))
        self._finished_at_call = self._finished
        for _ in range(self._called):
            if self._idle:
                self._idle.pop().set()
            else:
                self._group.start_soon(self._work_when_called)

    async def _work_when_called(self) -> None:
        while not self._over:
            await self._while_ops_are_quick()
            self._called -= 1
            quick = self._finished > self._finished_at_call
            self._burst = 1 if quick else 2 * self._burst
            if not self._paused:
                await self._work()
            if self._over or len(self._idle) >= self._unstarted():
                return
            called = anyio.Event()
            self._idle.append(called)
            await called.wait()

    async def _while_ops_are_quick(self) -> None:
        # Once in a turn of the event loop it looks whether the others still get on.
        while (
            self._ready
            and self._working >= _ENOUGH_FOR_QUICK_OPS
            and self._finished > self._finished_at_call
        ):
            self._finished_at_call = self._finished
            await checkpoint()

    def _unstarted(self) -> int:
        return len(self._plan.steps) - self._finished - self._working

    def _dismiss(self) -> None:
        self._over = True
        while self._idle:
            self._idle.pop().set()

    def _fail(self, op: int, error: BaseException, cancellations: int) -> None:
        assert self._group is not None
        leaving = error_of(self._plan.ops[op], error, cancellations)
        if is_cancellation(leaving):
            raise leaving
        self._errors.append(leaving)
        self._ready.clear()
        self._group.cancel_scope.cancel()
