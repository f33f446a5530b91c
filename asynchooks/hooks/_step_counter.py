"""Steps per second."""

from __future__ import annotations

import time
from collections.abc import Callable

from asynchooks._closing import logger
from asynchooks._graph import Op
from asynchooks._hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from asynchooks._lifecycle import SessionEnd
from asynchooks._session import Session
from asynchooks._variables import get_or_create_global_step
from asynchooks.hooks._summary_writer import ScalarOutput, WriterOrFactory
from asynchooks.hooks._timers import SecondOrStepTimer, check_period


class StepCounterHook(SessionRunHook):
    """Tells how many global steps are made per second.

    A line ``global_step/sec: 12.5`` goes to the logger ``asynchooks`` at level INFO, its parts are
    attributes of the record: `global_step` and `steps_per_sec`; the same goes to a summary writer.
    Carries over ``tf.compat.v1.train.StepCounterHook``; differences: while the clock stands still
    no rate is told, and the steps count for the next one; the writer is given by the caller,
    there is no directory to name; a global step that is not increased is not warned of.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        summary_writer: WriterOrFactory | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Makes the hook; exactly one of the first two arguments is given, the other is None.

        Args:
            every_n_steps: global steps between two rates, from 1.
            every_n_secs: seconds between two rates, from 0.
            summary_writer: gets the rate under the global step's name with "/sec"; or a function
                that makes a writer for each session, which is closed with the session.
            clock: tells the time in seconds.

        Raises:
            ValueError: none or both of the periods are given, or one is out of range.
            TypeError: an argument is of another kind.
        """
        check_period("StepCounterHook", every_n_secs=every_n_secs, every_n_steps=every_n_steps)
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps, clock=clock)
        self._output = ScalarOutput(summary_writer, optional=True)
        # What has passed since the last rate that was told.
        self._secs, self._steps = 0.0, 0

    async def begin(self) -> None:
        """Starts to count anew, and opens the writer."""
        self._timer.reset()
        self._global_step: Op[int] = get_or_create_global_step()
        await self._output.open()

    async def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the global step at the run's start."""
        return SessionRunArgs(self._global_step)

    async def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Tells the rate if it is due."""
        # Runs rarely add more than one: only where that is due the committed step is worth a look.
        if not self._timer.should_trigger_for_step(run_values.results + 1):
            return
        step = await run_context.session.run(self._global_step)
        if not self._timer.should_trigger_for_step(step):
            return
        rate = self._rate(step)
        if rate is not None:
            tag = f"{self._global_step.name}/sec"
            fields = {"global_step": step, "steps_per_sec": rate}
            logger.info("%s: %g", tag, rate, extra=fields)
            await self._output.add({tag: rate}, step)

    async def end(self, session: Session) -> None:
        """Has the writer write out what it has."""
        await self._output.flush()

    async def close(self, session_end: SessionEnd) -> None:
        """Closes the writer if the hook has made it."""
        await self._output.close()

    def _rate(self, step: int) -> float | None:
        secs, steps = self._timer.update_last_triggered_step(step)
        if secs is None or steps is None:
            self._secs, self._steps = 0.0, 0
            return None
        self._secs += secs
        self._steps += steps
        if self._secs <= 0:
            return None
        rate = self._steps / self._secs
        self._secs, self._steps = 0.0, 0
        return rate
