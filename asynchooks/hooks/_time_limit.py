"""A budget of time."""

from __future__ import annotations

import time
from collections.abc import Callable

from asynchooks._closing import logger
from asynchooks._hook import SessionRunContext, SessionRunHook, SessionRunValues
from asynchooks._options import check_seconds
from asynchooks.hooks._timers import check_clock


class TimeLimitHook(SessionRunHook):
    """Requests a stop once a session has taken its time.

    The time starts with the hook's `begin`, and goes on through recoveries. It is looked at after
    each run, so at least one run is made, and none is interrupted. TensorFlow has no such hook.
    """

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Makes the hook.

        Args:
            seconds: how long the session may make runs, from 0.
            clock: tells the time in seconds.

        Raises:
            TypeError: `seconds` is no number, or `clock` is not callable.
            ValueError: `seconds` is negative or not finite.
        """
        check_seconds("seconds", seconds)
        check_clock(clock)
        self._seconds = seconds
        self._clock = clock

    async def begin(self) -> None:
        """Starts the time."""
        self._start = self._clock()

    async def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Requests the stop if the time is over."""
        if self._clock() - self._start >= self._seconds:
            logger.info("the time limit of %s s has passed; a stop is requested", self._seconds)
            run_context.request_stop()
