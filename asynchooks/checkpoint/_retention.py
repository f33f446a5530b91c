"""Which checkpoints are kept, and which are deleted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from asynchooks.checkpoint._format import Header, Kept


@dataclass(frozen=True, slots=True)
class Lineage:
    """The checkpoints that were written into a store one after the other.

    Each checkpoint holds those before it, so the list outlasts the process and names no file that
    something else has put there.

    Attributes:
        kept: those that may be deleted one day, oldest first.
        spared: the time of the last checkpoint that is kept for ever, or of the first one; None
            before that.
    """

    kept: tuple[Kept, ...] = ()
    spared: float | None = None

    @classmethod
    def of(cls, header: Header | None) -> Lineage:
        """Returns the lineage whose last checkpoint has that header."""
        if header is None:
            return cls()
        return cls((*header.before, Kept(header.step, header.time)), header.spared)

    def header(self, step: int, time: float) -> Header:
        """Returns the header of the next checkpoint."""
        before = tuple(each for each in self.kept if each.step != step)
        return Header(step, time, before, time if self.spared is None else self.spared)


def retain(
    lineage: Lineage, existing: Collection[int], max_to_keep: int, spare_every: float
) -> tuple[Lineage, list[int]]:
    """Decides what is deleted.

    Args:
        lineage: the newest is its last.
        existing: the steps that the store has; others have been deleted by hand.
        max_to_keep: how many are kept; 0 for all, which leaves none in the lineage.
        spare_every: seconds after which one that would be deleted is kept for ever.

    Returns:
        The lineage without those, and the steps to delete.
    """
    if max_to_keep == 0:
        return Lineage((), lineage.spared), []
    kept = [each for each in lineage.kept if each.step in existing]
    spared = lineage.spared or 0.0
    doomed: list[int] = []
    for each in kept[:-max_to_keep]:
        if each.time - spared >= spare_every:
            spared = each.time
        else:
            doomed.append(each.step)
    return Lineage(tuple(kept[-max_to_keep:]), spared), doomed
