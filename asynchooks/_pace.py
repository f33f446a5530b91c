"""When a task that does not suspend should let others run."""

from __future__ import annotations

from time import perf_counter

from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from asynchooks._backend import cancellation_counter

LONGEST_TURN = 0.002
"""Seconds after which a run that never suspends yields to the event loop."""


class Pace:
    """Makes each run a cancellation point, and yields when others have waited long enough.

    Belongs to the event loop in which it was made.

    Attributes:
        cancellations: `native_cancellations` for this event loop.
    """

    __slots__ = ("_last", "cancellations")

    def __init__(self) -> None:
        self._last = perf_counter()
        self.cancellations = cancellation_counter()

    async def checkpoint(self) -> None:
        """Raises a pending cancellation; lets other tasks run if that was long ago."""
        if perf_counter() - self._last < LONGEST_TURN:
            await checkpoint_if_cancelled()
            return
        try:
            await checkpoint()
        finally:
            self._last = perf_counter()
