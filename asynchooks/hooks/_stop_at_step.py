"""Stopping at a step."""

from __future__ import annotations

from asynchooks._coordinator import Coordinator
from asynchooks._graph import Op
from asynchooks._hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from asynchooks._session import Session
from asynchooks._variables import get_or_create_global_step


class StopAtStepHook(SessionRunHook):
    """Requests a stop once the global step has reached a number.

    It looks after a run, so at least one run is made. Carries over
    ``tf.compat.v1.train.StopAtStepHook``.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        """Makes the hook; exactly one of the arguments is given.

        Args:
            num_steps: steps to make, counted from the global step at the session's start.
            last_step: the global step at which to stop.

        Raises:
            ValueError: none or both are given.
            TypeError: the one that is given is no int.
        """
        if (num_steps is None) == (last_step is None):
            raise ValueError("StopAtStepHook takes exactly one of num_steps and last_step")
        steps = num_steps if last_step is None else last_step
        if isinstance(steps, bool) or not isinstance(steps, int):
            raise TypeError(f"the steps of StopAtStepHook are to be an int, not {steps!r}")
        self._num_steps = num_steps
        self._goal = last_step
        self._last_step = last_step

    async def begin(self) -> None:
        """Takes the graph's global step, which is made if there is none."""
        self._global_step: Op[int] = get_or_create_global_step()
        self._last_step = self._goal

    async def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Fixes the last step when the first generation starts."""
        if self._last_step is None and self._num_steps is not None:
            self._last_step = await session.run(self._global_step) + self._num_steps

    async def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the global step at the run's start."""
        return SessionRunArgs(self._global_step)

    async def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Requests the stop if the run has reached the last step."""
        # Runs rarely add more than one: only near the goal is the committed step worth a look.
        assert self._last_step is not None
        if run_values.results + 1 >= self._last_step:
            step = await run_context.session.run(self._global_step)
            if step >= self._last_step:
                run_context.request_stop()
