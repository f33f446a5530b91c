"""Sections: what measures the rows of one group of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.benchmarks.effort import Effort
from tests.benchmarks.rows import Row


@dataclass(frozen=True, slots=True)
class Section:
    """One group of rows.

    Attributes:
        group: its name.
        names: what its rows measure, as their `what` says, on one event loop or on each.
        measure: measures all of its rows.
    """

    group: str
    names: tuple[str, ...]
    measure: Callable[[Effort], list[Row]]

    def mentions(self, text: str) -> bool:
        """Tells whether the group, or the name of a row, contains `text`."""
        return any(text in name for name in (self.group, *self.names))
