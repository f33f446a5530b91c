"""Bugs to plant: disks and stores that leave out, or mix up, what makes a checkpoint last."""

from __future__ import annotations

from contextlib import suppress

import asynchooks as ah
from asynchooks.checkpoint._fs import FileSystem
from asynchooks.checkpoint._stores import UNFINISHED
from tests.checkpoint.crash.disk import DIRECTORY
from tests.checkpoint.crash.power_cut import CutDisk
from tests.checkpoint.crash.work import KEEP


class NoFileSync(CutDisk):
    """A disk as one that is written to by whoever forgets to sync files."""

    def sync_file(self, path: str) -> None:
        """Does nothing."""


class NoDirectorySync(CutDisk):
    """A disk as one that is written to by whoever forgets to sync directories."""

    def sync_directory(self, path: str) -> None:
        """Does nothing."""


class CarelessStore(ah.DirectoryStore):
    """A store that writes in a way of its own."""

    def __init__(self, disk: FileSystem) -> None:
        super().__init__(DIRECTORY, file_system=disk)
        self.disk = disk

    async def unlink_old(self, keep: int) -> None:
        """Removes all checkpoints but the newest."""
        for step in sorted(await self.steps())[:-keep]:
            await self.delete(step)

    def write_aside(self, step: int, data: bytes) -> None:
        """Writes as is right, up to the renaming."""
        self.disk.make_directory(DIRECTORY)
        path = self.name_of(step)
        self.disk.write(path + UNFINISHED, data)
        self.disk.sync_file(path + UNFINISHED)
        self.disk.replace(path + UNFINISHED, path)


class InPlace(CarelessStore):
    """A store that writes a checkpoint under its final name."""

    async def write(self, step: int, data: bytes) -> None:
        """Writes and syncs the file, then syncs the directory."""
        self.disk.make_directory(DIRECTORY)
        self.disk.write(self.name_of(step), data)
        self.disk.sync_file(self.name_of(step))
        self.disk.sync_directory(DIRECTORY)


class UnlinksFirst(CarelessStore):
    """A store that makes room before it writes."""

    async def write(self, step: int, data: bytes) -> None:
        """Removes old checkpoints, then writes as is right."""
        await self.unlink_old(KEEP - 1)
        self.write_aside(step, data)
        self.disk.sync_directory(DIRECTORY)


class UnlinksBeforeSync(CarelessStore):
    """A store that makes room when the new checkpoint has its name, but may lose it again."""

    async def write(self, step: int, data: bytes) -> None:
        """Removes old checkpoints just before the directory is synced."""
        self.write_aside(step, data)
        await self.unlink_old(KEEP)
        self.disk.sync_directory(DIRECTORY)


class Swallowing(CarelessStore):
    """A store that acknowledges what it could not write."""

    async def write(self, step: int, data: bytes) -> None:
        """Says nothing of errors."""
        with suppress(ah.CheckpointError):
            await super().write(step, data)


class Bare(CarelessStore):
    """A store that raises what the disk has raised."""

    async def write(self, step: int, data: bytes) -> None:
        """Lets errors through as they come."""
        try:
            await super().write(step, data)
        except ah.CheckpointError as error:
            raise OSError(error.reason) from error


class Silent(CarelessStore):
    """A store that does not say why it could not write."""

    async def write(self, step: int, data: bytes) -> None:
        """Leaves the error of the disk out."""
        try:
            await super().write(step, data)
        except ah.CheckpointError as error:
            raise ah.CheckpointError(error.checkpoint, "cannot be written") from None
