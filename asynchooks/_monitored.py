"""The session that users hold: hooks, recovery, stop, close."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from itertools import count
from types import TracebackType
from typing import Any, TypeVar, overload

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from asynchooks._attempts import Attempts
from asynchooks._coordinator import Coordinator
from asynchooks._creator import ChiefSessionCreator, SessionCreator
from asynchooks._errors import LifecycleError, RunAfterStopError, is_end_of_input, reraise
from asynchooks._fetches import parse_feeds
from asynchooks._flight import Flight
from asynchooks._graph import Graph, Op, chosen_graph
from asynchooks._hook import SessionRunArgs, SessionRunHook
from asynchooks._hook_calls import HookCalls, refuse_reentrance
from asynchooks._host import Generation
from asynchooks._life import Life
from asynchooks._lifecycle import BODY, RUN, SessionPhase
from asynchooks._options import RunOptions, check_options, check_seconds
from asynchooks._recovery import Recovery
from asynchooks._requests import check_fetches
from asynchooks._session import Session
from asynchooks._step import run_step
from asynchooks._step_context import StepContext, awaitable_of, check_step_fn

T = TypeVar("T")


class MonitoredSession:
    """Runs ops with hooks, and recreates what it runs on when that is lost.

    Entered with ``async with``; it may be left, or closed, in another task than it was entered in.
    `run` may be called by many tasks at once. Leaving the block with the end of the input is a
    clean end: the error does not leave the block, and the hooks' `end` is called. Carries over
    ``tf.compat.v1.train.MonitoredSession``, and ``SingularMonitoredSession`` with
    ``recovery=None``.
    """

    def __init__(
        self,
        graph: Graph | None = None,
        hooks: Iterable[SessionRunHook] = (),
        *,
        session_creator: SessionCreator | None = None,
        recovery: Recovery | None = Recovery(),  # noqa: B008 (it is frozen)
        stop_grace: float = 0.0,
        close_timeout: float = 120.0,
    ) -> None:
        """Makes a session that is not entered yet.

        Args:
            graph: None takes the default graph. It is final while the session is entered.
            hooks: copied; called in this order. A hook serves one live session at a time.
            session_creator: makes the raw session of each generation.
            recovery: which errors are recovered from, how often and how long apart; None recovers
                from none.
            stop_grace: seconds that the coordinator's background tasks get at a clean end to see
                that they are to stop, before they are cancelled.
            close_timeout: seconds that each closing step may take: a hook's `end`, `close` or
                `on_run_error`, the end of the runs in flight, the closing of a generation. Then it
                is cancelled, named in a warning, and closing goes on. ``math.inf`` for no limit.

        Raises:
            TypeError: an argument, a hook or a hook's method is not of the right kind.
            ValueError: a hook is listed twice, two keep their state under one name, or a time is
                negative or not a number.
        """
        _check_arguments(session_creator, recovery)
        check_seconds("stop_grace", stop_grace)
        check_seconds("close_timeout", close_timeout, infinite=True)
        self._life = Life(
            owner=self,
            graph=chosen_graph(graph),
            hooks=HookCalls(hooks),
            creator=session_creator if session_creator is not None else ChiefSessionCreator(),
            recovery=recovery,
            stop_grace=stop_grace,
            close_timeout=close_timeout,
        )
        self._attempts = Attempts(self._life.generations, self._life.failures)
        self._closed = anyio.Event()

    @property
    def graph(self) -> Graph:
        """The graph that is run."""
        return self._life.graph

    @property
    def session(self) -> Session:
        """The raw session of the current generation.

        Raises:
            LifecycleError: the session is not open.
        """
        return self._generation().session

    @property
    def coordinator(self) -> Coordinator:
        """The coordinator of the current generation.

        Raises:
            LifecycleError: the session is not open.
        """
        return self._generation().coordinator

    async def __aenter__(self) -> MonitoredSession:
        """Calls the hooks' `begin`, makes the graph final, and creates the first generation.

        Raises:
            LifecycleError: it was entered before.
            ValueError: a hook is in use by another live session.
            RecoveryError: creating and setting up kept failing recoverably.
            BaseException: what a hook's `begin` or `after_create_session`, or the session creator
                raised. The hooks whose `begin` has returned were closed.
        """
        self._life.start()
        try:
            await self._life.open()
        except BaseException as error:
            await self._leave(error, clean=False)
            raise
        self._life.lifecycle.move(SessionPhase.OPEN)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Ends and closes the session; see `close`.

        Returns:
            Whether the block was left with the end of the input, which is no error.
        """
        refuse_reentrance(self, "__aexit__")
        clean = exc is None or is_end_of_input(exc)
        await self._end(exc, clean=clean)
        if clean:
            await checkpoint_if_cancelled()
        return clean and exc is not None

    async def close(self) -> None:
        """Ends the session cleanly and closes it; a session that is closed already stays so.

        Calls the hooks' `end` on a live session, closes the generation, and calls the hooks'
        `close`. Runs in flight get `close_timeout` seconds to finish; a run that waits for a
        recovery raises `SessionClosedError`, and `end` is not called then. Nor is it if the session
        is being entered: that raises `SessionClosedError`.

        Raises:
            ReentrantRunError: called by a hook of this session.
            BaseException: what hooks or the closing raised: a lone error bare, several as a group.
        """
        refuse_reentrance(self, "close")
        await self._end(None, clean=True)
        await checkpoint_if_cancelled()

    def request_stop(self) -> None:
        """Asks the session to stop: a further run is refused, one under way goes on.

        May be called before the session is entered, and from anywhere in its event loop.
        """
        self._life.stop_flag.request()

    def should_stop(self) -> bool:
        """Tells whether a loop of runs is to end.

        That is so after a request to stop, and when the session is closed. A recoverable error that
        was reported to the coordinator is left to the next run.

        Raises:
            BaseException: another error that was reported to the coordinator.
        """
        if self._life.lifecycle.is_over:
            return True
        self._life.raise_reported_error()
        return self._life.stop_flag.requested or self._life.clean_stop is not None

    @overload
    async def run(
        self, fetches: Op[T], feed_dict: Any = None, options: RunOptions | None = None
    ) -> T: ...
    @overload
    async def run(
        self,
        fetches: Callable[[], Awaitable[T]],
        feed_dict: Any = None,
        options: RunOptions | None = None,
    ) -> T: ...
    @overload
    async def run(
        self, fetches: Any, feed_dict: Any = None, options: RunOptions | None = None
    ) -> Any: ...
    async def run(
        self, fetches: Any, feed_dict: Any = None, options: RunOptions | None = None
    ) -> Any:
        """Evaluates ops in one transaction, together with what the hooks ask for.

        If the run fails with a recoverable error, the generation is replaced and the run repeated
        from `before_run` on. It is a cancellation point also where nothing in it suspends.

        Args:
            fetches: as in `Session.run`.
            feed_dict: as in `Session.run`.
            options: merged with those of the hooks.

        Returns:
            The values, in the nesting of `fetches`.

        Raises:
            RunAfterStopError: a stop was requested.
            SessionClosedError: the session is closed, or was closed while the run waited.
            LifecycleError: the session is not entered.
            ReentrantRunError: called by a hook of this session.
            FeedConflictError: an op is fed by two parties.
            RecoveryError: recovery gave up.
            BaseException: what a hook raised, what `Session.run` raises, or what was reported to
                the coordinator.
        """
        self._admit("run")
        if self._life.stop_flag.requested:
            raise RunAfterStopError("run() after a stop was requested; ask should_stop() first")
        self._check_request(fetches, feed_dict, options)
        life, request = self._life, (fetches, feed_dict, options)
        retry = options is None or options.retry
        result = await self._attempts.make(run_step, life.environment, request, retry=retry)
        life.generations.committed()
        return result

    async def run_step_fn(self, step_fn: Callable[[StepContext], Awaitable[T]]) -> T:
        """Calls a step function, which may run several times, with and without hooks.

        If it fails with a recoverable error, the generation is replaced and the whole function is
        called again.

        Args:
            step_fn: takes a `StepContext`, under whatever name, and returns an awaitable.

        Returns:
            What it returned.

        Raises:
            ValueError: it cannot be called with one argument.
            BaseException: what it raised; otherwise as `run`.
        """
        self._admit("run_step_fn")
        check_step_fn(step_fn)
        attempts = count()

        async def attempt(session: Session, flight: Flight) -> Any:
            async def run_with_hooks(args: SessionRunArgs) -> Any:
                self._check_request(*args)
                flight.enter(RUN)
                result = await run_step(session, flight, self._life.environment, args)
                self._life.generations.committed()
                flight.enter(BODY)
                return result

            repeated = next(attempts) > 0
            context = StepContext(session, run_with_hooks, self._life.stop_flag, repeated=repeated)
            return await awaitable_of(step_fn, context)

        result: T = await self._attempts.make(attempt, retry=True)
        return result

    def _admit(self, method: str) -> None:
        refuse_reentrance(self, method)
        life = self._life
        life.lifecycle.require_open()
        generation = life.generations.current
        if generation is not None and generation.coordinator.has_report:
            life.raise_reported_error()
            if life.clean_stop is not None:
                reraise(life.clean_stop)

    def _check_request(self, fetches: object, feed_dict: object, options: object) -> None:
        # Before any hook has run, so that bad input changes nothing.
        check_fetches(self._life.graph, fetches)
        if feed_dict is not None:
            parse_feeds(self._life.graph, feed_dict)
        if options is not None:
            check_options(options)

    def _generation(self) -> Generation:
        self._life.lifecycle.require_open()
        generation = self._life.generations.current
        if generation is None:
            raise LifecycleError("the session has no generation: recovery gave up; run to try anew")
        return generation

    async def _end(self, error: BaseException | None, *, clean: bool) -> None:
        lifecycle = self._life.lifecycle
        if lifecycle.phase is SessionPhase.OPENING:
            await self._life.generations.close_replacement()
        if lifecycle.phase is SessionPhase.OPENING or lifecycle.is_over:
            await self._closed.wait()
        else:
            await self._leave(error, clean=clean and lifecycle.phase is SessionPhase.OPEN)

    async def _leave(self, error: BaseException | None, *, clean: bool) -> None:
        try:
            leaving = await self._life.leave(error, clean=clean)
        finally:
            self._closed.set()
        if leaving is not None and leaving is not error:
            raise leaving


def _check_arguments(creator: object, recovery: object) -> None:
    if isinstance(creator, type):
        raise TypeError(f"session_creator is the class {creator.__name__}; make an instance of it")
    if creator is not None and not callable(getattr(creator, "create_session", None)):
        raise TypeError(f"session_creator is to have a create_session method; {creator!r} has none")
    if recovery is not None and not isinstance(recovery, Recovery):
        raise TypeError(f"recovery is to be a Recovery or None, not {recovery!r}")
