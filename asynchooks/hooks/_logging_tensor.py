"""Logging of values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from asynchooks._closing import logger
from asynchooks._graph import get_default_graph
from asynchooks._hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from asynchooks._requests import check_fetches
from asynchooks._session import Session
from asynchooks.hooks._tags import tagged
from asynchooks.hooks._timers import NeverTriggerTimer, SecondOrStepTimer, check_period


class LoggingTensorHook(SessionRunHook):
    """Logs values every so many runs, every so many seconds, or at the end.

    A line goes to the logger ``asynchooks`` at level INFO, its parts are attributes of the record:
    `tensors`, the values by tag, and `elapsed_secs`, the seconds since the last line or None. The
    first run is logged. Of runs that overlap, a line tells of one that started when it was due.
    Carries over ``tf.compat.v1.train.LoggingTensorHook``; differences: tensors may be nested
    fetches, and an unknown name is an error of `begin`.
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | Iterable[Any],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[str, Any]], str] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Makes the hook; `at_end`, exactly one of the periods, or both are given.

        Args:
            tensors: fetches of any nesting by tag, logged in the order of the tags; or a list of
                ops and names, logged in its order. What has an effect, such as taking an item from
                a source, has it in each run that is logged, and at the end.
            every_n_iter: runs of this session between two lines, from 1. Not global steps.
            every_n_secs: seconds between two lines, from 0.
            at_end: whether the values are evaluated and logged at a clean end, too.
            formatter: makes the line of the values by tag; None writes ``tag = value, ...`` and the
                seconds since the last line.
            clock: tells the time in seconds.

        Raises:
            ValueError: neither of the three is given, or both periods; or one is out of range, or
                there are no tensors.
            TypeError: an argument is of another kind.
        """
        self._tensors = tagged("tensors", tensors)
        self._order = list(self._tensors)
        if isinstance(tensors, Mapping):
            self._order.sort()
        self._timer: SecondOrStepTimer | NeverTriggerTimer = NeverTriggerTimer()
        if not at_end or every_n_iter is not None or every_n_secs is not None:
            check_period("LoggingTensorHook", every_n_secs=every_n_secs, every_n_iter=every_n_iter)
            self._timer = SecondOrStepTimer(every_n_secs, every_n_iter, clock=clock)
        if formatter is not None and not callable(formatter):
            raise TypeError(f"formatter is to be a function of the values, not {formatter!r}")
        self._at_end = at_end
        self._formatter = formatter
        self._runs = 0

    async def begin(self) -> None:
        """Starts to count anew, and checks the names of the tensors."""
        self._timer.reset()
        self._runs = 0
        check_fetches(get_default_graph(), self._tensors)

    async def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Asks for the tensors if a line is due."""
        due = self._timer.should_trigger_for_step(self._runs)
        return SessionRunArgs(self._tensors) if due else None

    async def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs the tensors, unless another run that started meanwhile has done so."""
        values = run_values.results
        if values is not None and self._timer.should_trigger_for_step(self._runs):
            self._log(values)
        self._runs += 1

    async def end(self, session: Session) -> None:
        """Evaluates and logs the tensors if that is asked for."""
        if self._at_end:
            self._log(await session.run(self._tensors))

    def _log(self, values: dict[str, Any]) -> None:
        elapsed_secs, _ = self._timer.update_last_triggered_step(self._runs)
        if self._formatter is not None:
            line = self._formatter(values)
        else:
            line = ", ".join(f"{tag} = {values[tag]}" for tag in self._order)
            if elapsed_secs is not None:
                line += f" ({elapsed_secs:.3f} sec)"
        logger.info("%s", line, extra={"tensors": values, "elapsed_secs": elapsed_secs})
