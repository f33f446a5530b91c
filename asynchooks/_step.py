"""One attempt of one run: before_run, the run, after_run; or on_run_error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from asynchooks._closing import conclude, run_all
from asynchooks._flight import Flight
from asynchooks._graph import Op
from asynchooks._hook import SessionRunArgs, SessionRunContext, SessionRunValues
from asynchooks._hook_calls import CallingHooks, HookCalls, RunCalls
from asynchooks._lifecycle import Phase
from asynchooks._merge import Merge
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
    return await _Step(environment, session, args, flight).run()


class _Step:
    __slots__ = ("_context", "_environment", "_flight", "_merge", "_open", "_session")

    def __init__(
        self, environment: StepEnvironment, session: Session, args: SessionRunArgs, flight: Flight
    ) -> None:
        self._environment = environment
        self._session = session
        self._flight = flight
        self._context = SessionRunContext(args, session, environment.request_stop)
        self._merge = Merge(session.graph, args)
        # The hooks whose before_run returned, each with where its results stand.
        self._open: list[tuple[RunCalls, int | None]] = []

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
        self._flight.phase = Phase.BEFORE_RUN
        if self._environment.increment is not None:
            self._merge.fetches.append(self._environment.increment)
        for hook in self._environment.hooks.runs:
            requested = None
            if hook.before_run is not None:
                requested = await hook.before_run(self._context)
            self._open.append((hook, None))
            self._open[-1] = (hook, self._merge.add(hook.label, requested))
        self._merge.add_caller_feeds()

    async def _evaluate(self) -> Any:
        self._flight.phase = Phase.RUN
        merge = self._merge
        self._flight.retry = merge.options.retry
        try:
            return await self._session.run(tuple(merge.fetches), merge.feeds, merge.options)
        except (TypeError, ValueError) as error:
            merge.name_culprit(error)
            raise

    async def _after(self, results: Any) -> None:
        self._environment.committed()
        self._flight.phase = Phase.AFTER_RUN
        while self._open:
            hook, place = self._open.pop(0)
            if hook.after_run is not None:
                own = None if place is None else results[place]
                await hook.after_run(self._context, SessionRunValues(own, self._merge.options))
        self._flight.phase = Phase.BODY

    async def _failed(self, error: BaseException) -> BaseException:
        if self._flight.phase is Phase.AFTER_RUN:
            self._flight.after_run_error = error
        reason = self._flight.reason(error)
        steps = [
            (hook.on_run_error.name, partial(hook.on_run_error, self._context, reason))
            for hook, _ in self._open
            if hook.on_run_error is not None
        ]
        raised = await run_all(steps, self._environment.close_timeout)
        return conclude(error, raised) or error
