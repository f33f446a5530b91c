"""Why a session ends, and where the error that ends it came from."""

from __future__ import annotations

from collections import deque

from asynchooks._backend import is_cancellation
from asynchooks._errors import RecoveryError, StepFunctionStopped, is_end_of_input, leaves
from asynchooks._lifecycle import EndReason, Phase, SessionEnd


class Failures:
    """Remembers where the last errors were raised, since they leave through the user's code."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: deque[tuple[BaseException, Phase]] = deque(maxlen=8)

    def record(self, error: BaseException, phase: Phase) -> None:
        """Remembers that `error` was raised in `phase`."""
        self._last.appendleft((error, phase))

    def phase_of(self, error: BaseException) -> Phase:
        """Returns where `error`, or one of its leaves, was raised."""
        parts = (error, *leaves(error))
        phases = (phase for known, phase in self._last if any(part is known for part in parts))
        return next(phases, Phase.BODY)

    def forget(self) -> None:
        """Forgets the errors, whose tracebacks refer to the session."""
        self._last.clear()


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
