"""Why a session ends, and where the error that ends it came from."""

from __future__ import annotations

from collections import deque

from asynchooks._backend import is_cancellation
from asynchooks._errors import RecoveryError, StepFunctionStopped, leaves
from asynchooks._lifecycle import EndReason, Phase


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
        parts = _parts(error)
        phases = (phase for known, phase in self._last if parts & _parts(known))
        return next(phases, Phase.BODY)

    def forget(self) -> None:
        """Forgets the errors, whose tracebacks refer to the session."""
        self._last.clear()


def clean_reason(error: BaseException | None, stopped: bool) -> EndReason:
    """Says why a session ended cleanly.

    Args:
        error: the end of the input, if that ended it.
        stopped: whether a stop was requested.
    """
    if error is not None and not isinstance(error, StepFunctionStopped):
        return EndReason.OUT_OF_INPUT
    return EndReason.STOPPED if stopped else EndReason.COMPLETED


def unclean_reason(error: BaseException) -> EndReason:
    """Says why a session ended with `error`."""
    if is_cancellation(error):
        return EndReason.CANCELLED
    return EndReason.GAVE_UP if isinstance(error, RecoveryError) else EndReason.FAILED


def _parts(error: BaseException) -> set[int]:
    return {id(error), *map(id, leaves(error))}
