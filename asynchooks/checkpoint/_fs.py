"""The primitives that files of checkpoints are made with: the one place that touches the disk."""

from __future__ import annotations

import contextlib
import os


class FileSystem:
    """What a `DirectoryStore` asks of the disk; each method is one step that can fail or be cut.

    They block, so they are called in worker threads. All raise `OSError`.
    """

    __slots__ = ()

    def make_directory(self, path: str) -> None:
        """Makes a directory, and those above it, so that they outlast a power cut."""
        if os.path.isdir(path):
            return
        above = os.path.dirname(path) or os.curdir
        self.make_directory(above)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)
        self.sync_directory(above)

    def list(self, directory: str) -> list[str]:
        """Returns the names of what lies in a directory."""
        return os.listdir(directory)

    def read(self, path: str) -> bytes:
        """Returns what is in a file."""
        with open(path, "rb", buffering=0) as file:
            return file.readall()

    def write(self, path: str, data: bytes) -> None:
        """Writes a new file, or a file anew; it may be lost in a power cut until `sync_file`."""
        with open(path, "wb", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]

    def sync_file(self, path: str) -> None:
        """Returns once what was written to a file outlasts a power cut."""
        _sync(path, os.O_RDWR)

    def replace(self, source: str, target: str) -> None:
        """Gives a file another name in one step, in the place of a file that has it."""
        os.replace(source, target)

    def sync_directory(self, path: str) -> None:
        """Returns once the names in a directory outlast a power cut."""
        _sync(path, os.O_RDONLY)

    def unlink(self, path: str) -> None:
        """Removes a file."""
        os.unlink(path)


def _sync(path: str, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
