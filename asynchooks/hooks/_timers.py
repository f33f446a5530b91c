"""When something that is done again and again is due: after so many steps, or so many seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

from asynchooks._options import check_seconds

Elapsed = tuple[float, int] | tuple[None, None]
"""Seconds and steps since the last trigger; of the first one nothing is known."""


class SecondOrStepTimer:
    """Triggers at most once every so many steps, or every so many seconds.

    The first step that is asked about triggers, and no step does twice. Carries over
    ``tf.compat.v1.train.SecondOrStepTimer``; differences: a step before the last one triggers,
    since an older state was restored; time is read off a clock that is never set back.
    """

    def __init__(
        self,
        every_secs: float | None = None,
        every_steps: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Makes a timer; exactly one of the first two arguments is given.

        Args:
            every_secs: seconds between two triggers, from 0.
            every_steps: steps between two triggers, from 1.
            clock: tells the time in seconds.

        Raises:
            ValueError: none or both are given, or the one that is given is out of range.
            TypeError: it is no number, or `clock` is not callable.
        """
        check_period("SecondOrStepTimer", every_secs=every_secs, every_steps=every_steps)
        check_clock(clock)
        self._every_secs = every_secs
        self._every_steps = every_steps
        self._clock = clock
        self._last: tuple[int, float] | None = None

    def reset(self) -> None:
        """Forgets the last trigger: the next step that is asked about triggers."""
        self._last = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Tells whether a step is due; asking changes nothing.

        Args:
            step: the step to act on.
        """
        if self._last is None or step < self._last[0]:
            return True
        last_step, last_time = self._last
        if step == last_step:
            return False
        if self._every_steps is not None:
            return step >= last_step + self._every_steps
        assert self._every_secs is not None
        return self._clock() >= last_time + self._every_secs

    def update_last_triggered_step(self, step: int) -> Elapsed:
        """Takes down that a step has triggered.

        Args:
            step: the step that was acted on.

        Returns:
            The seconds and the steps since the last trigger; None for both on the first trigger,
            and on one before the last.
        """
        last, now = self._last, self._clock()
        self._last = step, now
        if last is None or step < last[0]:
            return None, None
        return now - last[1], step - last[0]

    def last_triggered_step(self) -> int | None:
        """Returns the step that triggered last; None if none has."""
        return None if self._last is None else self._last[0]


class NeverTriggerTimer:
    """Never triggers.

    Carries over the class of that name in TensorFlow's ``basic_session_run_hooks``.
    """

    def reset(self) -> None:
        """Does nothing."""

    def should_trigger_for_step(self, step: int) -> bool:
        """Returns false.

        Args:
            step: any step.
        """
        return False

    def update_last_triggered_step(self, step: int) -> Elapsed:
        """Returns None for the seconds and for the steps.

        Args:
            step: any step.
        """
        return None, None

    def last_triggered_step(self) -> int | None:
        """Returns None."""
        return None


def check_period(owner: str, **periods: float | None) -> None:
    """Checks a period that is given in seconds or in steps.

    Args:
        owner: whose period it is, for the message.
        **periods: the two arguments by name, seconds first.

    Raises:
        ValueError: none or both are given, or the one that is given is out of range.
        TypeError: it is no number.
    """
    (secs_name, secs), (steps_name, steps) = periods.items()
    if (secs is None) == (steps is None):
        raise ValueError(f"{owner} takes exactly one of {secs_name} and {steps_name}")
    if secs is not None:
        check_seconds(secs_name, secs)
        return
    if isinstance(steps, bool) or not isinstance(steps, int):
        raise TypeError(f"{steps_name} is to be a number of steps, an int, not {steps!r}")
    if steps < 1:
        raise ValueError(f"{steps_name} is to be a number of steps from 1, not {steps!r}")


def check_clock(clock: object) -> None:
    """Raises `TypeError` if `clock` cannot be called."""
    if not callable(clock):
        raise TypeError(f"clock is to be a function that tells seconds, not {clock!r}")
