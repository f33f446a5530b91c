"""When a task that does not suspend should let others run."""

from __future__ import annotations

from collections.abc import Awaitable
from time import perf_counter

from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from asynchooks._backend import counter_factory, scope_check

LONGEST_TURN = 0.002
"""Seconds after which a run that never suspends yields to the event loop."""


class Pace:
    """Makes each run a cancellation point, and yields when others have waited long enough.

    Belongs to the event loop in which it was made.

    Attributes:
        turn_ends: when a task that has not suspended is to call `checkpoint`, on the clock of
            `time.perf_counter`.
        counter: makes a counter of the current task's native cancellations.
        is_scope_cancelled: see `scope_check`.
    """

    __slots__ = ("counter", "is_scope_cancelled", "turn_ends")

    def __init__(self) -> None:
        self.turn_ends = perf_counter() + LONGEST_TURN
        self.counter = counter_factory()
        self.is_scope_cancelled = scope_check()

    def checkpoint(self) -> Awaitable[None]:
        """Raises a pending cancellation when awaited; lets others run if that was long ago."""
        return checkpoint_if_cancelled() if perf_counter() < self.turn_ends else self._yield()

    async def _yield(self) -> None:
        try:
            await checkpoint()
        finally:
            self.turn_ends = perf_counter() + LONGEST_TURN
