"""The life of a monitored session: its beginning, its generations' set-up, and its end."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from functools import partial
from weakref import WeakValueDictionary

from asynchooks._backend import native_cancellations, raise_if_natively_cancelled
from asynchooks._closing import conclude, logger, outlast, run_all
from asynchooks._coordinator import Coordinator
from asynchooks._creator import SessionCreator
from asynchooks._ending import Failures, clean_reason, unclean_reason
from asynchooks._errors import RecoveryError, SessionClosedError, bare, reraise
from asynchooks._generations import Generations
from asynchooks._graph import Graph
from asynchooks._hook import label
from asynchooks._hook_calls import CallingHooks, HookCall, HookCalls
from asynchooks._host import Generation
from asynchooks._lifecycle import Lifecycle, Phase, SessionEnd, SessionPhase
from asynchooks._recovery import Recovery
from asynchooks._session import Session
from asynchooks._state import SessionState
from asynchooks._step import StepEnvironment
from asynchooks._stop import StopFlag
from asynchooks._variables import global_step_increment

_live_hooks: WeakValueDictionary[int, Life] = WeakValueDictionary()


class Life:
    """What happens once in a monitored session's life, in order.

    Attributes:
        graph: the graph that is run.
        lifecycle: the session's phase.
        stop_flag: whether a plain stop was requested.
        failures: where the last error was raised.
        generations: gives the live generation.
        environment: what all runs have in common; there once the session is open.
        owner: the monitored session.
        hooks: its hooks.
        begun: how many of them have begun.
        state: what outlives the generations.
        stop_grace: as in `MonitoredSession`.
        close_timeout: as in `MonitoredSession`.
    """

    environment: StepEnvironment

    def __init__(
        self,
        *,
        owner: object,
        graph: Graph,
        hooks: HookCalls,
        creator: SessionCreator,
        recovery: Recovery | None,
        stop_grace: float,
        close_timeout: float,
    ) -> None:
        """Is called by `MonitoredSession`, whose arguments these are."""
        self.graph = graph
        self.lifecycle = Lifecycle()
        self.stop_flag = StopFlag()
        self.failures = Failures()
        self.generations = Generations(
            self._make_generation, recovery, self.stop_flag, self.failures
        )
        self.owner = owner
        self.hooks = hooks
        self._creator = creator
        self.stop_grace = stop_grace
        self.close_timeout = close_timeout
        self.state = SessionState()
        self.begun = 0
        self._holds_graph = False

    @property
    def clean_stop(self) -> BaseException | None:
        """The end of the input, if it was reported to the coordinator."""
        current = self.generations.current
        return current.coordinator.clean_stop if current is not None else None

    def raise_reported_error(self) -> None:
        """Raises an error that was reported to the coordinator, unless it is recoverable."""
        error = self.reported_error()
        if error is not None:
            reraise(error)

    def start(self) -> None:
        """Takes the hooks, which serve one live session at a time.

        Raises:
            LifecycleError: the session was entered before.
            ValueError: a hook is in use.
        """
        for index, hook in enumerate(self.hooks.hooks):
            if _live_hooks.get(id(hook), self) is not self:
                raise ValueError(
                    f"{label(self.hooks.hooks, index)} is in use by another live session; make one "
                    "for each session"
                )
        self.lifecycle.move(SessionPhase.OPENING)
        for hook in self.hooks.hooks:
            _live_hooks[id(hook)] = self

    async def open(self) -> None:
        """Begins the hooks, makes the graph final, and makes the first generation."""
        await self._begin()
        self._holds_graph = True
        self.graph.hold_final()
        self.environment = StepEnvironment(
            owner=self.owner,
            hooks=self.hooks,
            increment=global_step_increment(self.graph),
            request_stop=self.stop_flag.request,
            committed=self.generations.committed,
            close_timeout=self.close_timeout,
        )
        self.generations.context = copy_context()
        await self.generations.live()
        self.generations.refuse_if_closing()

    async def leave(self, error: BaseException | None, *, clean: bool) -> BaseException | None:
        """Ends and closes everything; see `Leaving.run`."""
        self.lifecycle.move(SessionPhase.CLOSING)
        try:
            return await Leaving(self, error, clean=clean).run()
        finally:
            self._release()

    def reported_error(self) -> BaseException | None:
        """Returns an error that was reported to the coordinator, unless it is recoverable."""
        current = self.generations.current
        error = current.coordinator.error if current is not None else None
        return None if error is None or self.generations.recovers(error) else error

    async def _begin(self) -> None:
        for index in range(len(self.hooks.hooks)):
            self.generations.refuse_if_closing()
            call = self.hooks.call(index, "begin")
            if call is not None:
                await self._call_begin(call)
            self.begun += 1

    async def _call_begin(self, call: HookCall) -> None:
        try:
            with self.graph.as_default(), CallingHooks(self.owner):
                await call()
        except BaseException as error:
            self.failures.record(error, Phase.BEGIN)
            raise

    def _make_generation(self) -> Generation:
        create = partial(self._creator.create_session, self.graph, self.state)
        return Generation(create, self._set_up, self.stop_flag, self.close_timeout)

    async def _set_up(self, session: Session, coordinator: Coordinator) -> None:
        with CallingHooks(self.owner):
            for call in self.hooks.after_create_session:
                await call(session, coordinator)

    def _release(self) -> None:
        if self._holds_graph:
            self.graph.release_final()
        for hook in self.hooks.hooks:
            _live_hooks.pop(id(hook), None)
        self.failures.forget()
        self.lifecycle.move(SessionPhase.CLOSED)


class Leaving:
    """How a session is left: every step runs, whatever the others raise or is cancelled."""

    def __init__(self, life: Life, error: BaseException | None, *, clean: bool) -> None:
        """Prepares to leave.

        Args:
            life: what is left.
            error: what the block was left with.
            clean: whether that is a clean end.
        """
        self._life = life
        self._error = error
        self._clean = clean
        # What leaves in the end, unless a cancellation comes meanwhile.
        self._primary = None if clean else error
        self._errors: list[BaseException] = []
        self._abandoned: RecoveryError | None = None

    async def run(self) -> BaseException | None:
        """Ends recovery and runs, calls `end` at a clean end, closes everything, calls `close`.

        Returns:
            The error that is to leave, if any.
        """
        await self._do("ending recovery", self._end_recovery)
        self._take_in_reported_error()
        await self._do("ending runs", self._end_runs)
        if self._clean:
            await self._do("ending hooks", self._end_hooks, Phase.END)
        # One may be left that `end` did not need, or was cancelled in waiting for.
        await self._do("ending recovery", self._life.generations.close_replacement)
        await self._do("closing the session", self._close_generation)
        await self._do("closing the sources", self._close_sources)
        await self._do("closing hooks", self._close_hooks)
        return conclude(self._primary, self._errors)

    async def _do(
        self, name: str, step: Callable[[], Awaitable[object]], phase: Phase = Phase.CLOSE
    ) -> None:
        # The deadlines are set inside, where the stragglers have names.
        self._add(await run_all([(name, step)], math.inf), phase)

    async def _end_recovery(self) -> None:
        generations = self._life.generations
        if self._clean and not generations.is_awaited:
            # It goes on: `end` is called on the session that it makes.
            generations.close()
            return
        self._abandoned = await generations.close_replacement()
        if self._abandoned is not None:
            self._clean = False

    def _take_in_reported_error(self) -> None:
        reported = self._life.reported_error()
        if reported is None or reported is self._error:
            return
        if self._primary is None:
            self._primary = reported
        else:
            self._errors.append(reported)
        self._clean = False

    async def _end_runs(self) -> None:
        generation = self._life.generations.current
        if generation is not None:
            closed = SessionClosedError("the session was closed while this run was in flight")
            await generation.land(closed, at_once=not self._clean)

    async def _end_hooks(self) -> None:
        life = self._life
        if not life.hooks.end:
            return
        before = life.reported_error()
        generation = await life.generations.last()
        steps = [(call.name, partial(call, generation.session)) for call in life.hooks.end]
        with CallingHooks(life.owner):
            errors = await run_all(steps, life.close_timeout)
        reported = life.reported_error()
        if reported is not None and reported is not before:
            errors.append(reported)
        self._add(errors, Phase.END)

    async def _close_generation(self) -> None:
        generations = self._life.generations
        generation = generations.current
        if generation is None:
            return
        try:
            await generation.aclose(self._life.stop_grace if self._clean else 0.0)
        except BaseException as error:
            if generations.is_lost(generation) and isinstance(error, Exception):
                logger.warning("closing a lost generation failed", exc_info=error)
            else:
                self._add([error], Phase.CLOSE)

    async def _close_sources(self) -> None:
        cancellations = native_cancellations()
        for position in self._life.state.positions.values():
            name, timeout = f"closing {position.name}", self._life.close_timeout
            try:
                await outlast(name, position.aclose, position.is_closed, timeout)
            except Exception as error:
                self._add([error], Phase.CLOSE)
        raise_if_natively_cancelled(cancellations)

    async def _close_hooks(self) -> None:
        life = self._life
        end = self._session_end()
        calls = [life.hooks.call(index, "close") for index in reversed(range(life.begun))]
        steps = [(call.name, partial(call, end)) for call in calls if call is not None]
        with CallingHooks(life.owner):
            self._errors += await run_all(steps, life.close_timeout)

    def _session_end(self) -> SessionEnd:
        error = conclude(self._primary, self._errors) or self._abandoned
        if error is not None:
            return SessionEnd(unclean_reason(error), error, self._life.failures.phase_of(error))
        error = self._error or self._life.clean_stop
        reason = clean_reason(error, self._life.stop_flag.requested)
        if error is None:
            return SessionEnd(reason)
        logger.info("the input has ended: %s", error)
        return SessionEnd(reason, error, self._life.failures.phase_of(error))

    def _add(self, errors: list[BaseException], phase: Phase) -> None:
        self._errors += errors
        for error in errors:
            self._life.failures.record(bare(error), phase)
