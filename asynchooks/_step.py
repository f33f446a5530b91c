"""One attempt of one run: before_run, the run, after_run; or on_run_error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from asynchooks._closing import conclude, run_all
from asynchooks._errors import bare, note_once
from asynchooks._flight import Flight
from asynchooks._graph import Op
from asynchooks._hook import SessionRunArgs, SessionRunContext, SessionRunValues
from asynchooks._hook_calls import CallingHooks, HookCalls, RunCalls
from asynchooks._lifecycle import Phase
from asynchooks._merge import Merge
from asynchooks._options import RunOptions
from asynchooks._session import Session


@dataclass(frozen=True, slots=True)
class StepEnvironment:
    """What all runs of a monitored session have in common.

    Attributes:
        owner: the monitored session, which hooks must not use.
        hooks: its hooks.
        increment: counts a run, if the graph does not; evaluated with each run.
        request_stop: asks the session to stop.
        committed: is told when a run has committed.
        close_timeout: seconds that each `on_run_error` gets.
    """

    owner: object
    hooks: HookCalls
    increment: Op[int] | None
    request_stop: Callable[[], None]
    committed: Callable[[], None]
    close_timeout: float


async def run_step(
    environment: StepEnvironment, session: Session, args: SessionRunArgs, flight: Flight
) -> Any:
    """Runs what the caller and the hooks ask for.

    Args:
        environment: what all runs have in common.
        session: the raw session of the generation.
        args: what the caller asks for.
        flight: is told how far the attempt is.

    Returns:
        The results of the caller's fetches.

    Raises:
        BaseException: what a hook or the run raised, after `on_run_error` was called on each hook
            whose `before_run` returned and whose `after_run` was not called.
    """
    merge = Merge(session.graph, args, environment.increment)
    if environment.hooks.runs:
        return await _Step(environment, session, args, flight, merge).run()
    flight.enter(Phase.RUN)
    merge.add_caller_feeds()
    results = await session.run(tuple(merge.fetches), merge.feeds, merge.options)
    environment.committed()
    flight.enter(Phase.BODY)
    return results[0]


class _Step:
    """One attempt with hooks."""

    __slots__ = (
        "_begun",
        "_called",
        "_context",
        "_environment",
        "_flight",
        "_hooks",
        "_merge",
        "_session",
        "_told",
    )

    def __init__(
        self,
        environment: StepEnvironment,
        session: Session,
        args: SessionRunArgs,
        flight: Flight,
        merge: Merge,
    ) -> None:
        self._environment = environment
        self._hooks = environment.hooks.runs
        self._session = session
        self._flight = flight
        self._merge = merge
        self._context = SessionRunContext(args, session, environment.request_stop)
        # How many hooks' before_run has returned, how many of these were told the outcome, and the
        # one that is being called.
        self._begun = 0
        self._told = 0
        self._called: RunCalls | None = None

    async def run(self) -> Any:
        with CallingHooks(self._environment.owner) as calling:
            try:
                await self._before()
                calling.active = False
                results = await self._evaluate()
                calling.active = True
                await self._after(results)
            except BaseException as error:
                calling.active = True
                leaving = await self._failed(error)
                if leaving is error:
                    raise
                raise leaving from error
        return results[0]

    async def _before(self) -> None:
        self._flight.enter(Phase.BEFORE_RUN)
        for hook in self._hooks:
            requested = None
            if hook.before_run is not None:
                self._called = hook
                requested = await hook.before_run(self._context)
                self._called = None
            self._begun += 1
            if requested is None:
                self._merge.places.append(None)
            else:
                self._merge.add(self._environment.hooks.label(hook), requested)
        self._merge.add_caller_feeds()

    async def _evaluate(self) -> Any:
        merge = self._merge
        self._flight.enter(Phase.RUN)
        if merge.options is not None:
            self._flight.retry = merge.options.retry
        return await self._session.run(tuple(merge.fetches), merge.feeds, merge.options)

    async def _after(self, results: Any) -> None:
        self._environment.committed()
        self._flight.enter(Phase.AFTER_RUN)
        options = self._merge.options or _NO_OPTIONS
        nothing = SessionRunValues(None, options)
        for hook, place in zip(self._hooks, self._merge.places, strict=True):
            self._told += 1
            if hook.after_run is not None:
                self._called = hook
                values = nothing if place is None else SessionRunValues(results[place], options)
                await hook.after_run(self._context, values)
                self._called = None
        self._flight.enter(Phase.BODY)

    async def _failed(self, error: BaseException) -> BaseException:
        self._note_origin(bare(error))
        reason = self._flight.reason(error)
        if self._flight.phase is Phase.AFTER_RUN:
            self._flight.after_run_error = reason
        steps = [
            (hook.on_run_error.name, partial(hook.on_run_error, self._context, reason))
            for hook in self._hooks[self._told : self._begun]
            if hook.on_run_error is not None
        ]
        raised = await run_all(steps, self._environment.close_timeout)
        return conclude(error, raised) or error

    def _note_origin(self, error: BaseException) -> None:
        if not isinstance(error, Exception):
            return
        hooks = self._environment.hooks
        if self._called is not None:
            note_once(error, f"raised by {hooks.label(self._called, self._flight.phase)}")
        elif self._flight.phase is Phase.RUN and isinstance(error, TypeError | ValueError):
            culprit = self._merge.culprit()
            if culprit is not None:
                note_once(error, f"asked for by {hooks.label(self._hooks[culprit])}")


_NO_OPTIONS = RunOptions()
