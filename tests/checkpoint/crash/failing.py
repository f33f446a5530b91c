"""Disks that fail at one of their primitives, and what a store may make of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

import asynchooks as ah
from asynchooks.checkpoint._fs import FileSystem
from asynchooks.checkpoint._stores import UNFINISHED
from tests.checkpoint.crash.disk import DIRECTORY, Disk, State, directory_store
from tests.checkpoint.crash.work import KEEP, Worker

T = TypeVar("T")

ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EINTR)

When = Literal["before", "half-way", "after"]
"""What the primitive has done when it fails: nothing, some of the writing, everything."""

MakeStore = Callable[[FileSystem], ah.CheckpointStore]


@dataclass(frozen=True, slots=True)
class Fault:
    """What a disk does at its n-th primitive.

    Attributes:
        code: the number of the error, such as ENOSPC.
        when: what has been done by then.
        forever: whether all later primitives fail too.
    """

    code: int
    when: When = "before"
    forever: bool = False


class FailingDisk(FileSystem):
    """A disk that fails.

    Attributes:
        errors: what it has raised.
        broken: whether it still may fail.
    """

    __slots__ = ("_disk", "_fault", "_number", "_reached", "broken", "errors")

    def __init__(self, disk: Disk, fault: Fault, number: int) -> None:
        self._disk = disk
        self._fault = fault
        self._number = number
        self._reached = 0
        self.broken = True
        self.errors: list[OSError] = []

    def make_directory(self, path: str) -> None:
        """See `FileSystem.make_directory`."""
        self._do(lambda: self._disk.make_directory(path))

    def list(self, directory: str) -> list[str]:
        """See `FileSystem.list`."""
        return self._do(lambda: self._disk.list(directory))

    def read(self, path: str) -> bytes:
        """See `FileSystem.read`."""
        return self._do(lambda: self._disk.read(path))

    def write(self, path: str, data: bytes) -> None:
        """See `FileSystem.write`."""
        half = data[: len(data) // 2]
        self._do(lambda: self._disk.write(path, data), lambda: self._disk.write(path, half))

    def sync_file(self, path: str) -> None:
        """See `FileSystem.sync_file`."""
        self._do(lambda: self._disk.sync_file(path))

    def replace(self, source: str, target: str) -> None:
        """See `FileSystem.replace`."""
        self._do(lambda: self._disk.replace(source, target))

    def sync_directory(self, path: str) -> None:
        """See `FileSystem.sync_directory`."""
        self._do(lambda: self._disk.sync_directory(path))

    def unlink(self, path: str) -> None:
        """See `FileSystem.unlink`."""
        self._do(lambda: self._disk.unlink(path))

    def _do(self, primitive: Callable[[], T], half: Callable[[], None] | None = None) -> T:
        if not self._strikes():
            return primitive()
        if self._fault.when == "after":
            primitive()
        elif self._fault.when == "half-way" and half is not None:
            half()
        error = OSError(self._fault.code, os.strerror(self._fault.code))
        self.errors.append(error)
        raise error

    def _strikes(self) -> bool:
        self._reached += 1
        if self._fault.forever:
            return self.broken and self._reached >= self._number
        return self.broken and self._reached == self._number


class Trial:
    """The third commit, on a disk that fails in it, then one more, and one of the next process.

    Attributes:
        struck: whether the fault was reached.
        broken: the names of the promises that were broken.
    """

    def __init__(self, disk: Disk, failing: FailingDisk, make_store: MakeStore) -> None:
        self.struck = False
        self.broken: set[str] = set()
        self._disk = disk
        self._failing = failing
        self._make_store = make_store

    async def run(self) -> None:
        """Commits, and looks at what is there after each."""
        worker = Worker(self._make_store(self._failing))
        acknowledged = await self._commit_third(worker)
        self.struck = bool(self._failing.errors)
        self._failing.broken = False
        await self._look(acknowledged)
        await worker.commit(4)
        await self._look_after_fourth()
        await self._look_after_fifth()

    async def _commit_third(self, worker: Worker) -> int:
        try:
            await worker.commit(3)
        except ah.CheckpointError as error:
            self._check("no cause", error.__cause__ in self._failing.errors)
            return 2
        except OSError:
            self._check("not a CheckpointError", False)
            return 2
        return 3

    async def _look(self, acknowledged: int) -> None:
        worker = Worker(directory_store(Disk(self._disk.content())))
        whole = await worker.whole()
        self._check("torn", len(whole) == len(await worker.store.steps()))
        self._check("old one lost", 2 in whole)
        self._check("lost", acknowledged in whole)

    async def _look_after_fourth(self) -> None:
        for state in self._disk.after_power_cut():
            worker = Worker(directory_store(Disk(state)))
            self._check("lost in a power cut", await worker.restore() == 4)
            self._check("too few", len(await worker.whole()) >= KEEP)

    async def _look_after_fifth(self) -> None:
        worker = Worker(directory_store(self._disk))
        await worker.commit(5)
        self._check("cannot go on", (await worker.whole())[-KEEP:] == [4, 5])
        names = list(self._disk.content())
        self._check("left over", not any(name.endswith(UNFINISHED) for name in names))

    def _check(self, name: str, holds: bool) -> None:
        if not holds:
            self.broken.add(name)


async def sweep(fault: Fault, make_store: MakeStore = directory_store) -> list[set[str]]:
    """Returns the promises broken by the fault at the first primitive, the second, and so on."""
    state = await _used()
    found: list[set[str]] = []
    while True:
        disk = Disk(state)
        trial = Trial(disk, FailingDisk(disk, fault, len(found) + 1), make_store)
        await trial.run()
        if not trial.struck:
            assert not trial.broken, trial.broken
            return found
        found.append(trial.broken)


async def _used() -> State:
    """Returns a disk with two checkpoints, and what a process that was killed has left."""
    disk = Disk()
    worker = Worker(directory_store(disk))
    for step in (1, 2):
        await worker.commit(step)
    disk.write(f"{DIRECTORY}/model.ckpt-3{UNFINISHED}", b"half")
    return frozenset(disk.content().items())
