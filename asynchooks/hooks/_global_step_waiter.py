"""Waiting for a global step."""

from __future__ import annotations

import anyio

from asynchooks._closing import logger
from asynchooks._coordinator import Coordinator
from asynchooks._errors import DeadlineExceededError
from asynchooks._graph import Op
from asynchooks._hook import SessionRunArgs, SessionRunContext, SessionRunHook
from asynchooks._options import check_seconds
from asynchooks._session import Session
from asynchooks._variables import get_or_create_global_step


class GlobalStepWaiterHook(SessionRunHook):
    """Has the first run wait until the global step has reached a number.

    So does any run that is started before that; once it is reached no run waits again, also after a
    recovery. Something else makes the steps: a hook, a background task, or another holder of the
    session's state. Carries over ``tf.compat.v1.train.GlobalStepWaiterHook``; differences: a
    request to stop ends the wait, and the run goes on, as a run under way does; the wait may take
    no longer than the `RunOptions.timeout` that the caller has set; it can be cancelled.
    """

    def __init__(self, wait_until_step: int, *, poll_interval: float = 0.5) -> None:
        """Makes the hook.

        Args:
            wait_until_step: the global step to wait for; from 0 down there is no wait.
            poll_interval: seconds between two looks at the global step.

        Raises:
            TypeError: an argument is no number, or the step no int.
            ValueError: the interval is negative or not finite.
        """
        if isinstance(wait_until_step, bool) or not isinstance(wait_until_step, int):
            raise TypeError(f"wait_until_step is to be an int, not {wait_until_step!r}")
        check_seconds("poll_interval", poll_interval)
        self._goal = wait_until_step
        self._poll_interval = poll_interval
        self._reached = False

    async def begin(self) -> None:
        """Is to wait anew, for the graph's global step, which is made if there is none."""
        self._reached = self._goal <= 0
        self._global_step: Op[int] = get_or_create_global_step()

    async def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Takes the generation's coordinator, which tells of a stop."""
        self._coordinator = coord

    async def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Waits, if the step was never reached.

        Raises:
            DeadlineExceededError: the timeout that the caller has set passed.
        """
        if self._reached:
            return None
        options = run_context.original_args.options
        timeout = None if options is None else options.timeout
        with anyio.move_on_after(timeout) as scope:
            await self._wait(run_context.session)
        if scope.cancelled_caught:
            assert timeout is not None
            raise DeadlineExceededError(timeout)
        return None

    async def _wait(self, session: Session) -> None:
        logger.info("waiting for global step %d", self._goal)
        while not self._coordinator.should_stop():
            if await session.run(self._global_step) >= self._goal:
                self._reached = True
                return
            await self._pause(session)
        logger.info("no longer waiting for global step %d: a stop was requested", self._goal)

    async def _pause(self, session: Session) -> None:
        await self._coordinator.wait_for_stop(self._poll_interval)
