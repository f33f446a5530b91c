"""Graceful stops on signals."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from contextvars import copy_context
from signal import Signals
from typing import NoReturn, Protocol, cast

import anyio

from asynchooks._backend import spawn_host_task, waker
from asynchooks._closing import logger
from asynchooks._coordinator import Coordinator
from asynchooks._errors import LifecycleError
from asynchooks._hook import SessionRunHook
from asynchooks._hook_calls import calling_session
from asynchooks._lifecycle import SessionEnd
from asynchooks._options import check_seconds
from asynchooks.hooks._signal_handlers import listen, unlisten

_UNHANDLED = {"SIGKILL", "SIGSTOP"}


class SignalHook(SessionRunHook):
    """Requests a stop on SIGTERM or SIGINT, so that the session comes to a clean end.

    The first signal requests a stop: runs in flight go on, `MonitoredSession.should_stop` is true,
    a recovery makes one more attempt. Runs that are in flight `grace` seconds later, or at a second
    signal, are interrupted: they raise `KeyboardInterrupt` for SIGINT, and `SystemExit` with code
    128 + the signal's number for any other; out of a task group that leaves as a group, as any
    error. It is no clean end: hooks' `end` is not called, their `close` is. If no run is in flight
    at the second signal, since the session is being entered, recovered or closed, or its block does
    something else, that signal is left to the handler from before.

    The handlers from before are back once the session is closed, however it ends, and once runs
    were interrupted: a further signal does what it would do without the hook. They are not called
    meanwhile; those of asyncio's ``loop.add_signal_handler`` are, beside the hook. Sessions that
    are open at the same time get each signal, all of them. TensorFlow has no such hook.
    """

    def __init__(
        self,
        signals: Iterable[Signals] = (signal.SIGTERM, signal.SIGINT),
        grace: float = 10.0,
    ) -> None:
        """Makes the hook.

        Args:
            signals: which signals stop the session.
            grace: seconds that runs in flight get after the first signal; ``math.inf`` for no
                limit. Hooks' `end` and `close` are not limited by it.

        Raises:
            TypeError: `signals` is no iterable of signals, or `grace` is no number.
            ValueError: there are no signals, one cannot be handled, or `grace` is negative.
        """
        self._signals = _checked(signals)
        check_seconds("grace", grace, infinite=True)
        self._grace = grace
        self._received: list[Signals] = []

    @property
    def received(self) -> tuple[Signals, ...]:
        """The signals that the last session has got, in order, for what is to come after it."""
        return tuple(self._received)

    async def begin(self) -> None:
        """Takes the signals over.

        Raises:
            RuntimeError: the session is not entered in the main thread, or a signal has a handler
                that was not set by Python.
        """
        self._received = []
        watch = _Watch(self._signals, self._grace, self._received)
        listen(self._signals, watch.notice)
        spawn_host_task(watch.run, "asynchooks signals", copy_context())
        self._watch = watch

    async def close(self, session_end: SessionEnd) -> None:
        """Gives the signals back to the handlers that were there before."""
        watch = self._watch
        del self._watch  # it holds the session
        await watch.end()


class _Monitored(Protocol):
    @property
    def coordinator(self) -> Coordinator: ...

    def request_stop(self) -> None: ...


class _Watch:
    """What one session does about signals, in a task that lasts from `begin` to `close`."""

    def __init__(self, signals: tuple[Signals, ...], grace: float, received: list[Signals]) -> None:
        self._signals = signals
        self._grace = grace
        self._received = received
        self._session = cast("_Monitored", calling_session())
        self._wake = waker()
        self._first, self._second = anyio.Event(), anyio.Event()
        self._scope = anyio.CancelScope()
        self._over = anyio.Event()

    def notice(self, signum: Signals) -> None:
        self._received.append(signum)
        self._wake((self._second if len(self._received) > 1 else self._first).set)

    async def run(self) -> None:
        try:
            with self._scope:
                await self._first.wait()
                await self._stop()
        finally:
            self._over.set()

    async def end(self) -> None:
        unlisten(self._signals, self.notice)
        self._scope.cancel()
        await self._over.wait()

    async def _stop(self) -> None:
        logger.info("%s received; a stop is requested", self._received[0].name)
        self._session.request_stop()
        with anyio.move_on_after(self._grace):
            await self._second.wait()
        interrupted = self._interrupt_runs()
        if not interrupted:
            await self._second.wait()
            interrupted = self._interrupt_runs()
        unlisten(self._signals, self.notice)
        if not interrupted:
            signal.raise_signal(self._received[-1])

    def _interrupt_runs(self) -> bool:
        signum = self._received[-1]
        try:
            coordinator = self._session.coordinator
            if coordinator.all_landed():
                return False
            # A task's interrupt takes the place of any error that was reported before.
            coordinator.start_soon(_interrupt, signum, name="SignalHook")
        except LifecycleError:
            return False
        logger.warning("the runs in flight are interrupted on %s", signum.name)
        return True


async def _interrupt(signum: Signals) -> NoReturn:
    raise KeyboardInterrupt if signum == signal.SIGINT else SystemExit(128 + signum)


def _checked(signals: object) -> tuple[Signals, ...]:
    if isinstance(signals, str | int) or not isinstance(signals, Iterable):
        raise TypeError(f"signals are to be a list of signals of `signal.Signals`, not {signals!r}")
    given = tuple(dict.fromkeys(cast("Iterable[object]", signals)))
    if not given:
        raise ValueError("SignalHook takes at least one signal")
    for each in given:
        if not isinstance(each, Signals):
            raise TypeError(f"signals are to be members of `signal.Signals`, not {each!r}")
        if each.name in _UNHANDLED:
            raise ValueError(f"{each.name} cannot be handled; leave it out of signals")
    return cast("tuple[Signals, ...]", given)
