"""One attempt of one run or step function: where it is, and whether it can be interrupted."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from asynchooks._backend import Interruption
from asynchooks._lifecycle import AFTER_RUN, BODY, RUN, Phase


class Interruptible(Protocol):
    """Something that is under way until an error is reported elsewhere."""

    def interrupt(self, *, even_if_committed: bool = False) -> None:
        """Cancels it."""
        ...


class Airspace(Protocol):
    """Knows what is under way, and the error that interrupts it."""

    @property
    def interruption(self) -> Callable[[], Interruption]:
        """Starts what can be interrupted."""
        ...

    @property
    def error(self) -> BaseException | None:
        """The error that was reported, if any."""
        ...

    def take_off(self, flight: Interruptible) -> None:
        """Adds what is under way."""
        ...

    def land(self, flight: Interruptible) -> None:
        """Takes it out."""
        ...


class Yields(Protocol):
    """Runs something that can be told to let other tasks run."""

    def yield_soon(self) -> None:
        """Has the next run let other tasks run, and notice what they do to it."""
        ...


class Flight:
    """One attempt, from when it is made to the end of its block, that reported errors interrupt.

    It is not interrupted while hooks look at what it has committed. When it is interrupted, the
    block is left without an error.

    Attributes:
        phase: where the attempt is; changed by `enter`.
        retry: whether the attempt may be repeated, as far as its options say.
        after_run_error: what an `after_run` raised, if any: then the attempt is not repeated.
    """

    __slots__ = (
        "_airspace",
        "_interrupted",
        "_scope",
        "_session",
        "after_run_error",
        "phase",
        "retry",
    )

    def __init__(self, airspace: Airspace, session: Yields, retry: bool) -> None:
        """Starts an attempt; the block follows at once.

        Args:
            airspace: where it is registered.
            session: the raw session, whose runs are to notice an interruption.
            retry: whether the caller's options let it be repeated.
        """
        self._airspace = airspace
        self._session = session
        self.phase = BODY
        self._interrupted = False
        self.retry = retry
        self.after_run_error: BaseException | None = None
        self._scope = airspace.interruption()
        airspace.take_off(self)

    def __enter__(self) -> Flight:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        self._airspace.land(self)
        return self._scope.end(exc)

    def enter(self, phase: Phase) -> None:
        """Goes on to another phase.

        Raises:
            BaseException: what was reported meanwhile, or a cancellation that a hook has swallowed,
                before a run starts.
        """
        self.phase = phase
        if phase is RUN:
            self._scope.check()
        error = self._airspace.error
        if error is None or phase is AFTER_RUN:
            return
        if phase is not BODY:
            raise error
        self.interrupt()

    def interrupt(self, *, even_if_committed: bool = False) -> None:
        """Cancels what the attempt is doing, unless hooks are looking at what it committed."""
        if even_if_committed or self.phase is not AFTER_RUN:
            self._interrupted = True
            self._scope.cancel()
            self._session.yield_soon()

    @property
    def cancellations(self) -> int:
        """What `native_cancellations` was at the start of the attempt."""
        return self._scope.before

    def interrupted_by(self) -> BaseException:
        """Returns the error that interrupted the attempt."""
        assert self._airspace.error is not None
        return self._airspace.error

    def reason(self, error: BaseException) -> BaseException:
        """Returns why the attempt ended with `error`: what interrupted it, if something did."""
        return (self._interrupted and self._airspace.error) or error
