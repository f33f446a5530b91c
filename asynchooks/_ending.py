"""Why a session ends, and where the error that ends it came from."""

from __future__ import annotations

from asynchooks._backend import is_cancellation
from asynchooks._errors import RecoveryError, StepFunctionStopped, is_end_of_input, leaves
from asynchooks._lifecycle import EndReason, Phase, SessionEnd


class Failures:
    """Remembers where the last error was raised, since it leaves through the user's code."""

    __slots__ = ("_error", "_phase")

    def __init__(self) -> None:
        self.forget()

    def record(self, error: BaseException, phase: Phase) -> None:
        """Remembers that `error` was raised in `phase`."""
        self._error: BaseException | None = error
        self._phase = phase

    def phase_of(self, error: BaseException) -> Phase:
        """Returns where `error`, or one of its leaves, was raised."""
        known = error is self._error or any(leaf is self._error for leaf in leaves(error))
        return self._phase if known else Phase.BODY

    def forget(self) -> None:
        """Forgets the error, whose traceback refers to the session."""
        self._error = None
        self._phase = Phase.BODY


def is_clean(error: BaseException | None) -> bool:
    """Tells whether a block that is left with `error` is left cleanly."""
    return error is None or is_end_of_input(error)


def session_end(error: BaseException | None, phase: Phase, stopped: bool) -> SessionEnd:
    """Says how a session ended.

    Args:
        error: what ended it, if something was raised.
        phase: where that was raised.
        stopped: whether a stop was requested.
    """
    if error is None:
        return SessionEnd(EndReason.STOPPED if stopped else EndReason.COMPLETED)
    return SessionEnd(_reason(error), error, phase)


def _reason(error: BaseException) -> EndReason:
    if is_cancellation(error):
        return EndReason.CANCELLED
    if isinstance(error, RecoveryError):
        return EndReason.GAVE_UP
    if isinstance(error, StepFunctionStopped):
        return EndReason.STOPPED
    return EndReason.OUT_OF_INPUT if is_end_of_input(error) else EndReason.FAILED
