"""A progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import anyio

from asynchooks._coordinator import Coordinator
from asynchooks._graph import Op, get_default_graph
from asynchooks._hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from asynchooks._lifecycle import SessionEnd
from asynchooks._requests import check_fetches
from asynchooks._session import Session
from asynchooks._threads import in_thread
from asynchooks._variables import get_or_create_global_step
from asynchooks.hooks._rich_bar import rich_bar
from asynchooks.hooks._tags import tagged
from asynchooks.hooks._timers import SecondOrStepTimer


class ProgressBar(Protocol):
    """Shows progress, as a ``tqdm.tqdm`` does.

    Its methods are called in worker threads, one at a time.
    """

    def update(self, n: int, /) -> object:
        """Draws the bar `n` steps further on."""
        ...

    def set_postfix(self, values: dict[str, Any], /) -> object:
        """Shows values by tag behind the bar."""
        ...

    def close(self) -> object:
        """Ends the bar."""
        ...


class BarFactory(Protocol):
    """Makes a bar, as the class ``tqdm.tqdm`` does."""

    def __call__(self, *, total: int | None, initial: int, desc: str) -> ProgressBar | None:
        """Makes a bar that starts at a step; None shows nothing."""
        ...


class ProgressHook(SessionRunHook):
    """Shows a progress bar over the global step.

    It starts at the step that the session starts with, a restored one too, goes on through
    recoveries, and is closed however the session ends. Nothing is shown where the standard error
    output is no terminal. TensorFlow has no such hook.
    """

    def __init__(
        self,
        total: int | None = None,
        *,
        values: Mapping[str, Any] | Iterable[Any] | None = None,
        desc: str = "steps",
        bar: BarFactory | None = None,
        every_secs: float = 0.1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Makes the hook.

        Args:
            total: the last global step; None if it is not known.
            values: what is shown beside the bar: fetches of any nesting by tag, or a list of ops
                and names. Evaluated only in runs after which the bar is drawn.
            desc: what stands before the bar.
            bar: called as ``bar(total=..., initial=..., desc=...)`` for each session, such as
                ``tqdm.tqdm``; None draws with rich (``asynchooks[progress]``).
            every_secs: seconds between the starts of two runs after which it is drawn, from 0. At a
                clean end the last step is drawn.
            clock: tells the time in seconds.

        Raises:
            TypeError: an argument is of another kind.
            ValueError: `total` or `every_secs` is out of range, or `values` are empty.
        """
        if total is not None and (isinstance(total, bool) or not isinstance(total, int)):
            raise TypeError(f"total is to be the last global step, an int, not {total!r}")
        if total is not None and total < 0:
            raise ValueError(f"total is to be the last global step, from 0, not {total!r}")
        if bar is not None and not callable(bar):
            raise TypeError(f"bar is to be a function that makes a bar, as tqdm.tqdm; not {bar!r}")
        self._total = total
        self._values = None if values is None else tagged("values", values)
        self._desc = desc
        self._make: BarFactory = rich_bar if bar is None else bar
        self._timer = SecondOrStepTimer(every_secs, clock=clock)
        self._bar: ProgressBar | None = None
        self._attempts = 0
        self._shown: int | None = None

    async def begin(self) -> None:
        """Starts anew, and checks the names of the values."""
        self._timer.reset()
        self._attempts = 0
        self._shown = None
        self._lock = anyio.Lock()
        self._global_step: Op[int] = get_or_create_global_step()
        if self._values is not None:
            check_fetches(get_default_graph(), self._values)

    async def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Makes the bar when the first generation starts."""
        if self._shown is None:
            initial = self._shown = await session.run(self._global_step)
            await in_thread(self._make_bar, (initial,))

    async def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Asks for the values if the bar is to be drawn after this run."""
        # A run that is slower than the period is always due: time goes from start to start.
        self._attempts += 1
        if self._bar is None or not self._timer.should_trigger_for_step(self._attempts):
            return None
        self._timer.update_last_triggered_step(self._attempts)
        run_context.state[self] = True
        return SessionRunArgs(self._values)

    async def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Draws the bar if that is due."""
        if self in run_context.state:
            await self._draw(run_context.session, run_values.results)

    async def end(self, session: Session) -> None:
        """Draws the bar for the last time."""
        if self._bar is not None:
            await self._draw(session, None)

    async def close(self, session_end: SessionEnd) -> None:
        """Closes the bar."""
        bar, self._bar = self._bar, None
        if bar is not None:
            await in_thread(bar.close, ())

    async def _draw(self, session: Session, values: dict[str, Any] | None) -> None:
        async with self._lock:
            step = await session.run(self._global_step)
            assert self._shown is not None
            steps, self._shown = step - self._shown, step
            await in_thread(_draw, (self._bar, steps, values))

    def _make_bar(self, initial: int) -> None:
        # In the thread, whose result a cancellation of the caller would lose.
        self._bar = self._make(total=self._total, initial=initial, desc=self._desc)


def _draw(bar: ProgressBar, steps: int, values: dict[str, Any] | None) -> None:
    if values is not None:
        bar.set_postfix(values)
    bar.update(steps)
