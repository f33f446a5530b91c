"""Counts of the calls of hooks, which show that they are called, and hooks for use by hand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Tally:
    """What hooks count.

    Attributes:
        calls: how often they were called.
        fetched: the sum of what they fetched.
    """

    calls: int = 0
    fetched: int = 0


class CountingByHand:
    """A hook for code that awaits its hooks by hand."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    async def before(self) -> None:
        """Counts."""
        self._tally.calls += 1

    async def after(self, value: int) -> None:
        """Counts."""
        self._tally.calls += 1
