"""One attempt of one run: before_run, the run, after_run; or on_run_error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from asynchooks._closing import conclude, run_all
from asynchooks._errors import bare, note_once
from asynchooks._flight import Flight
from asynchooks._graph import Op
from asynchooks._hook import SessionRunArgs, SessionRunContext, SessionRunValues
from asynchooks._hook_calls import CallingHooks, HookCalls, RunCalls
from asynchooks._lifecycle import AFTER_RUN, BEFORE_RUN, BODY, RUN
from asynchooks._merge import Merge
from asynchooks._options import RunOptions
from asynchooks._session import Session

CallerRequest = tuple[Any, Any, RunOptions | None]
"""What the caller asks for: fetches, feeds and options."""


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


def run_step(
    session: Session, flight: Flight, environment: StepEnvironment, request: CallerRequest
) -> Awaitable[Any]:
    """Runs what the caller and the hooks ask for when awaited.

    Args:
        session: the raw session of the generation.
        flight: is told how far the attempt is.
        environment: what all runs have in common.
        request: what the caller asks for.

    Returns:
        The results of the caller's fetches.

    Raises:
        BaseException: what a hook or the run raised, after `on_run_error` was called on each hook
            whose `before_run` returned and whose `after_run` was not called.
    """
    if environment.hooks.runs:
        return _Step(session, flight, environment, SessionRunArgs(*request)).run()
    flight.phase = RUN
    if environment.increment is None:
        return session.run(*request)
    fetches, feed_dict, options = request
    return _first(session.run((fetches, environment.increment), feed_dict, options))


async def _first(results: Awaitable[tuple[Any, Any]]) -> Any:
    return (await results)[0]


class _Step:
    """One attempt with hooks."""

    __slots__ = (
        "_args",
        "_begun",
        "_called",
        "_context",
        "_environment",
        "_flight",
        "_merge",
        "_session",
        "_told",
    )

    def __init__(
        self,
        session: Session,
        flight: Flight,
        environment: StepEnvironment,
        args: SessionRunArgs,
    ) -> None:
        self._session = session
        self._flight = flight
        self._environment = environment
        self._args = args
        self._context = SessionRunContext(args, session, environment.request_stop)
        # There once a hook asks for something.
        self._merge: Merge | None = None
        # How many hooks' before_run has returned, how many of these were told the outcome, and the
        # one that is being called.
        self._begun = 0
        self._told = 0
        self._called: RunCalls | None = None

    async def run(self) -> Any:
        with CallingHooks(self._environment.owner) as calling:
            try:
                return await self._attempt(calling)
            except BaseException as error:
                calling.active = True
                leaving = await self._failed(error)
                if leaving is error:
                    raise
                raise leaving from error

    async def _attempt(self, calling: CallingHooks) -> Any:
        flight, context, hooks = self._flight, self._context, self._environment.hooks.runs
        flight.enter(BEFORE_RUN)
        for hook in hooks:
            requested = None
            if hook.before_run is not None:
                self._called = hook
                requested = await hook.before_run(context)
                self._called = None
            self._begun += 1
            if requested is not None:
                self._add(hook, requested)
        fetches, feeds, options = self._merged()
        calling.active = False
        results = await self._session.run(fetches, feeds, options)
        calling.active = True
        self._environment.committed()
        flight.enter(AFTER_RUN)
        merge, options = self._merge, options or _NO_OPTIONS
        places, nothing = merge.places if merge else _NOWHERE, SessionRunValues(None, options)
        for hook in hooks:
            place = places.get(self._told)
            self._told += 1
            if hook.after_run is not None:
                self._called = hook
                values = nothing if place is None else SessionRunValues(results[place], options)
                await hook.after_run(context, values)
                self._called = None
        flight.enter(BODY)
        return results[0]

    def _add(self, hook: RunCalls, requested: object) -> None:
        if self._merge is None:
            self._merge = Merge(self._session.graph, self._args, self._environment.increment)
        self._merge.add(self._begun - 1, hook.label, requested)

    def _merged(self) -> tuple[tuple[Any, ...], Any, RunOptions | None]:
        merge, args, increment = self._merge, self._args, self._environment.increment
        if merge is not None:
            merge.add_caller_feeds()
        self._flight.enter(RUN)
        if merge is None:
            fetches = (args.fetches,) if increment is None else (args.fetches, increment)
            return fetches, args.feed_dict, args.options
        if merge.options is not None:
            self._flight.retry = merge.options.retry
        return tuple(merge.fetches), merge.feeds, merge.options

    async def _failed(self, error: BaseException) -> BaseException:
        self._note_origin(bare(error))
        reason = self._flight.reason(error)
        if self._flight.phase is AFTER_RUN:
            self._flight.after_run_error = reason
        steps = [
            (hook.on_run_error.name, partial(hook.on_run_error, self._context, reason))
            for hook in self._environment.hooks.runs[self._told : self._begun]
            if hook.on_run_error is not None
        ]
        raised = await run_all(steps, self._environment.close_timeout)
        return conclude(error, raised) or error

    def _note_origin(self, error: BaseException) -> None:
        if not isinstance(error, Exception):
            return
        if self._called is not None:
            hooks = self._environment.hooks
            note_once(error, f"raised by {hooks.method_label(self._called, self._flight.phase)}")
        elif self._flight.phase is RUN and isinstance(error, TypeError | ValueError):
            culprit = self._merge.culprit() if self._merge is not None else None
            if culprit is not None:
                hook = self._environment.hooks.runs[culprit]
                note_once(error, f"asked for by {hook.label}")


_NO_OPTIONS = RunOptions()
_NOWHERE: dict[int, int] = {}
