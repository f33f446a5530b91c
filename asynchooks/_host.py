"""One generation, which lives in one task of its own from opening to closing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from contextvars import Context
from typing import cast

import anyio

from asynchooks._backend import (
    native_cancellations,
    raise_if_natively_cancelled,
    spawn_host_task,
)
from asynchooks._closing import outlast, protect_unwinding, unwinding
from asynchooks._coordinator import Coordinator
from asynchooks._errors import note_once, reraise
from asynchooks._lifecycle import Phase
from asynchooks._session import Session
from asynchooks._stop import StopFlag

SetUp = Callable[[Session, Coordinator], Awaitable[None]]
"""Sets a generation up, in its own task."""


class Generation:
    """One raw session's life.

    The host task creates the session, sets it up, waits to be told to close, and unwinds. Others
    only wait for it, so that nobody's cancellation is in the way.

    Attributes:
        coordinator: its coordinator.
        session: the raw session; there once the generation is open.
        phase: where its creation is.
    """

    session: Session

    def __init__(
        self,
        create: Callable[[], AbstractAsyncContextManager[Session]],
        set_up: SetUp,
        stop_flag: StopFlag,
        close_timeout: float,
    ) -> None:
        """Makes a generation that is not open yet.

        Args:
            create: gives the session.
            set_up: is awaited before the generation counts as open.
            stop_flag: where plain requests to stop are kept.
            close_timeout: seconds that runs in flight, and then closing, may take.
        """
        self.coordinator = Coordinator(stop_flag=stop_flag)
        self.phase = Phase.CREATE
        self._create = create
        self._set_up = set_up
        self._close_timeout = close_timeout
        self._error: BaseException | None = None
        self._grace = 0.0
        self._interrupted = False
        self._opening = anyio.CancelScope()
        self._living = anyio.CancelScope()
        self._settled = anyio.Event()
        self._told_to_close = anyio.Event()
        self._finished = anyio.Event()

    async def open(self, context: Context) -> None:
        """Starts the host task and returns once the session is set up.

        Args:
            context: the context variables that the host task sees.

        Raises:
            BaseException: what creating or setting up raised; nothing is left open then.
        """
        spawn_host_task(self._live, "asynchooks generation", context)
        try:
            await self._settled.wait()
        except BaseException:
            self._opening.cancel()
            await self._wait_finished()
            raise
        self._raise_error()

    async def aclose(self, grace: float = 0.0) -> None:
        """Waits for the runs in flight and has the host task unwind.

        Args:
            grace: seconds that background tasks get to see that they are to stop.

        Raises:
            BaseException: what closing raised.
        """
        self._grace = grace
        await self._wait_finished()
        self._raise_error()

    async def land(self, reason: BaseException, *, at_once: bool = False) -> None:
        """Waits until no run is in flight, for at most `close_timeout`, then interrupts them.

        Args:
            reason: what runs that are interrupted raise.
            at_once: whether they are interrupted before the wait.
        """
        cancellations = native_cancellations()
        if at_once or not await self._have_landed():
            self.coordinator.interrupt_all(reason)
            await self._have_landed()
        raise_if_natively_cancelled(cancellations)

    async def _have_landed(self) -> bool:
        coordinator = self.coordinator
        return await outlast(
            "a run in flight",
            coordinator.wait_landed,
            coordinator.all_landed,
            self._close_timeout,
        )

    def interrupt(self, *, even_if_committed: bool = False) -> None:
        """Cancels the opening; the error that was reported takes its place."""
        self._interrupted = True
        self._opening.cancel()

    async def _wait_finished(self) -> None:
        cancellations = native_cancellations()
        for end in (self._told_to_close.set, self._living.cancel):
            end()
            timeout = self._close_timeout + self._grace
            if await outlast(
                "closing a generation", self._finished.wait, self._finished.is_set, timeout
            ):
                break
        raise_if_natively_cancelled(cancellations)

    async def _live(self) -> None:
        # Emptied at the end: an event loop keeps copies of the context for long.
        protections = [self._protect_unwinding]
        unwinding.set(protections)
        try:
            with self._opening, self._living:
                async with _checked_manager(self._create()) as session:
                    self.session = _checked_session(session)
                    await self._stay_open(self.session)
        except BaseException as error:
            self._error = error
        finally:
            protections.clear()
            self._finished.set()
            self._settled.set()

    async def _stay_open(self, session: Session) -> None:
        await self.coordinator.open()
        try:
            self.phase = Phase.AFTER_CREATE_SESSION
            self.coordinator.take_off(self)
            await self._set_up(session, self.coordinator)
            self.coordinator.land(self)
            self.coordinator.raise_requested_exception()
            self._settled.set()
            await self._told_to_close.wait()
            reported = self.coordinator.error
            await self.coordinator.wind_down(self._grace)
        except BaseException as raised:
            protect_unwinding()
            error = self.coordinator.error if self._interrupted else None
            await self._close_coordinator_after(error or raised)
            reraise(error or raised)
        await self.coordinator.aclose()
        if self.coordinator.error is not reported:
            self.coordinator.raise_requested_exception()

    async def _close_coordinator_after(self, error: BaseException) -> None:
        try:
            await self.coordinator.aclose()
        except Exception as other:
            note_once(error, f"also raised: {type(other).__name__}: {other}")

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _protect_unwinding(self) -> None:
        # From here on the scope that stops the opening reaches nothing: what was opened gets to
        # close in peace.
        self._living.shield = True


def _checked_manager(manager: object) -> AbstractAsyncContextManager[object]:
    if not isinstance(manager, AbstractAsyncContextManager):
        raise TypeError(f"create_session() is to return an async context manager, not {manager!r}")
    return cast("AbstractAsyncContextManager[object]", manager)


def _checked_session(session: object) -> Session:
    if not isinstance(session, Session):
        raise TypeError(f"create_session() is to give a Session, not {session!r}")
    return session
