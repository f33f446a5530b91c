"""The power is cut after each primitive of a few commits; what is found on the disk is judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import asynchooks as ah
from asynchooks.checkpoint._stores import UNFINISHED
from tests.checkpoint.crash.disk import Disk, State, directory_store
from tests.checkpoint.crash.work import KEEP, Worker

COMMITS = 5

MakeStore = Callable[[Disk], ah.CheckpointStore]


@dataclass(frozen=True, slots=True)
class Cut:
    """A disk as it is found after a power cut.

    Attributes:
        acknowledged: the last step whose commit had returned, 0 for none.
        begun: the last step whose commit had begun.
        state: what is on the disk.
    """

    acknowledged: int
    begun: int
    state: State


class CutDisk(Disk):
    """A disk whose power is cut after each primitive, in each way there is.

    Attributes:
        cuts: how it may be found.
        acknowledged: the last step whose commit has returned.
        begun: the last step whose commit has begun.
    """

    __slots__ = ("acknowledged", "begun", "cuts")

    def __init__(self, state: State = frozenset()) -> None:
        super().__init__(state)
        self.cuts: dict[Cut, None] = {}
        self.acknowledged = self.begun = 0

    def cut(self) -> None:
        """Adds the states in which the disk may be found now."""
        for state in self.after_power_cut():
            self.cuts[Cut(self.acknowledged, self.begun, state)] = None

    def _done(self, verb: str, path: str) -> None:
        super()._done(verb, path)
        self.cut()


async def commit(
    disk: CutDisk, make_store: MakeStore = directory_store, commits: int = COMMITS
) -> None:
    """Makes commits, from the checkpoint on that is there."""
    worker = Worker(make_store(disk))
    disk.acknowledged = last = await worker.restore()
    for step in range(last + 1, last + 1 + commits):
        disk.begun = step
        disk.cut()
        await worker.commit(step)
        disk.acknowledged = step
        disk.cut()


async def broken_promises(cut: Cut) -> list[str]:
    """Names what a new process finds wrong after a power cut; nothing if all promises are kept."""
    disk = Disk(cut.state)
    worker = Worker(directory_store(disk))
    visible, whole = await worker.store.steps(), await worker.whole()
    found = await worker.restore()
    await worker.commit(found + 1)
    wanted = [step for step in (found, found + 1) if step]
    broken = {
        "torn": len(whole) < len(visible),
        "lost": found not in {cut.acknowledged, cut.begun},
        "too few": len(whole) < min(KEEP, cut.acknowledged),
        # One more may be there: that whose unlinking, of all names, the power cut has undone.
        "cannot go on": (await worker.whole())[-KEEP:] != wanted,
        "left over": any(name.endswith(UNFINISHED) for name in disk.content()),
    }
    return [name for name, is_broken in broken.items() if is_broken]


async def verdict(cuts: Iterable[Cut]) -> Counter[str]:
    """Counts the states, and by name those in which a promise is broken."""
    counted: Counter[str] = Counter()
    for cut in cuts:
        counted.update(["states", *await broken_promises(cut)])
    return counted
