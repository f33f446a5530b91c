"""How much is measured: sizes, rounds and the length of a turn."""

from __future__ import annotations

from dataclasses import dataclass

LOOPS = ("asyncio", "trio")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured.

    Attributes:
        rounds: how often each contender has its turn.
        seconds: how long a turn is to last, about.
        ops: how large a graph is; 1,000 in the names of rows.
        many_ops: how large a large graph is; 100,000 in the names of rows.
        callers: how many tasks share a session; 10,000 in the names of rows.
    """

    rounds: int = 7
    seconds: float = 0.02
    ops: int = 1_000
    many_ops: int = 100_000
    callers: int = 10_000

    @property
    def few_rounds(self) -> int:
        """How often something that takes seconds is done."""
        return min(self.rounds, 3)


QUICK = Effort(rounds=1, seconds=0.0005, ops=100, many_ops=500, callers=50)
"""Shows that everything can be measured; its figures mean nothing."""
