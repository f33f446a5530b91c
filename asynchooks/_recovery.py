"""Which errors are recovered from, how often, and how long apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import tenacity

from asynchooks._errors import PREEMPTION_ERRORS, RecoveryError, are_error_types, every_leaf

ErrorTypes = type[BaseException] | tuple[type[BaseException], ...]
"""Classes of errors, as ``isinstance`` takes them."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """Says when and how a `MonitoredSession` replaces what it runs on.

    An attempt is the life of one generation that ended with a recoverable error, be it in its
    creation, its set-up or a run. A committed run starts the count again.

    Attributes:
        on: the recoverable errors: classes, or a function that tells of an error whether it is one.
            A group is recoverable if each error in it is; only an `Exception` ever is.
        stop: a ``tenacity`` stop strategy: when to give up with `RecoveryError`.
        wait: a ``tenacity`` wait strategy: seconds from one attempt to the next.
    """

    on: ErrorTypes | Callable[[BaseException], bool] = PREEMPTION_ERRORS
    stop: Callable[[tenacity.RetryCallState], bool] = field(
        default_factory=lambda: tenacity.stop_after_attempt(10)
    )
    wait: Callable[[tenacity.RetryCallState], float] = field(
        default_factory=lambda: tenacity.wait_random_exponential(multiplier=0.1, max=10)
    )

    def __post_init__(self) -> None:
        """Checks the values."""
        of_classes = isinstance(self.on, type | tuple)
        if not (are_error_types(self.on) if of_classes else callable(self.on)):
            raise TypeError(
                "Recovery.on is to be an exception class, a tuple of them, or a function of an "
                f"error, not {self.on!r}"
            )
        for name, strategy in (("stop", self.stop), ("wait", self.wait)):
            if not callable(strategy) or isinstance(strategy, type):
                raise TypeError(
                    f"Recovery.{name} is to be a tenacity.{name}_... strategy, made with its "
                    f"arguments, not {strategy!r}"
                )

    def recovers(self, error: BaseException) -> bool:
        """Tells whether `error` is recoverable."""
        return every_leaf(error, self._recovers_leaf)

    def _recovers_leaf(self, error: BaseException) -> bool:
        if not isinstance(error, Exception):
            return False
        if callable(self.on) and not isinstance(self.on, type):
            return bool(self.on(error))
        return isinstance(error, self.on)


class Streak:
    """The attempts that failed since the last run that committed.

    Attributes:
        broken: whether an attempt has failed.
    """

    __slots__ = ("_losses", "_recovery", "_since", "broken")

    def __init__(self, recovery: Recovery) -> None:
        self._recovery = recovery
        self._losses: list[Exception] = []
        self._since = 0.0
        self.broken = False

    def __str__(self) -> str:
        return f"lost {len(self._losses)} time(s) in a row, the last one by {self._losses[-1]!r}"

    def add(self, error: Exception) -> None:
        """Counts an attempt that ended with `error`."""
        if not self._losses:
            self._since = anyio.current_time()
        self._losses.append(error)
        self.broken = True

    def end(self) -> None:
        """Starts the count again."""
        self._losses = []
        self.broken = False

    def pause(self) -> float:
        """Returns the seconds until the next attempt.

        Raises:
            RecoveryError: there is to be none.
        """
        if not self.broken:
            return 0.0
        state = self._retry_state()
        state.upcoming_sleep = float(self._recovery.wait(state))
        if self._recovery.stop(state):
            raise self.error()
        return max(state.upcoming_sleep, 0.0)

    def error(self) -> RecoveryError:
        """Returns the error that gives up, and starts the count again."""
        error = RecoveryError(tuple(self._losses))
        error.__cause__ = self._losses[-1] if self._losses else None
        self.end()
        return error

    def _retry_state(self) -> tenacity.RetryCallState:
        # The times are those of the event loop, whose clock a test may have replaced.
        retrying = tenacity.AsyncRetrying(stop=self._recovery.stop, wait=self._recovery.wait)
        state = tenacity.RetryCallState(retrying, None, (), {})
        state.attempt_number = len(self._losses)
        state.start_time = self._since
        state.outcome_timestamp = anyio.current_time()
        state.outcome = tenacity.Future(state.attempt_number)
        state.outcome.set_exception(self._losses[-1])
        return state
