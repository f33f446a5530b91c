"""A disk in memory that knows what a power cut may leave of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import product

import asynchooks as ah
from asynchooks.checkpoint._fs import FileSystem

DIRECTORY = "/checkpoints"

State = frozenset[tuple[str, bytes]]
"""What is on a disk: paths and contents."""


class File:
    """What a file may contain after a power cut; the last is what it contains now."""

    def __init__(self, content: bytes = b"") -> None:
        self.contents = [content]

    def write(self, data: bytes) -> None:
        """Empties the file and fills it: not at all, in part, with holes, or whole."""
        half = len(data) // 2
        torn = [data[:half], bytes(len(data)), bytes(half) + data[half:]]
        self.contents += [b"", *torn, data]

    def sync(self) -> None:
        """Leaves only what the file contains now."""
        del self.contents[:-1]


class Disk(FileSystem):
    """One directory, written to by the primitives of the seam, as POSIX promises and no more.

    What is written to a file may be lost until the file is synced. What has become of a name may
    be lost until the directory is synced, for each name by itself: a rename may have reached the
    disk at one of its ends only.

    Attributes:
        log: the primitives that changed something or made it last, in order.
    """

    __slots__ = ("directories", "log", "names")

    def __init__(self, state: Mapping[str, bytes] | State = frozenset()) -> None:
        self.log: list[str] = []
        self.directories = {os.path.dirname(path) for path, _ in dict(state).items()}
        # What each name may stand for after a power cut; the last is what it stands for now.
        self.names: dict[str, list[File | None]] = {
            path: [File(content)] for path, content in dict(state).items()
        }

    def content(self) -> dict[str, bytes]:
        """Returns what is on the disk while there is power."""
        files = {path: versions[-1] for path, versions in self.names.items()}
        return {path: file.contents[-1] for path, file in files.items() if file is not None}

    def after_power_cut(self) -> set[State]:
        """Returns all states in which the disk may be found if the power is cut now."""
        return {
            state
            for chosen in product(*map(dict.fromkeys, self.names.values()))
            for state in _states(dict(zip(self.names, chosen, strict=True)))
        }

    def make_directory(self, path: str) -> None:
        """Makes the directory, which lasts: see `FileSystem.make_directory`."""
        if path not in self.directories:
            self._done("make", path)
            self.directories.add(path)

    def list(self, directory: str) -> list[str]:
        """Returns the names in the directory."""
        if directory not in self.directories:
            raise FileNotFoundError(directory)
        return [os.path.basename(path) for path in self.content()]

    def read(self, path: str) -> bytes:
        """Returns what is in a file."""
        return self._file(path).contents[-1]

    def write(self, path: str, data: bytes) -> None:
        """Writes a file; nothing of it lasts."""
        assert os.path.dirname(path) in self.directories, path
        versions = self.names.setdefault(path, [None])
        if versions[-1] is None:
            versions.append(File())
        self._file(path).write(data)
        self._done("write", path)

    def sync_file(self, path: str) -> None:
        """Makes what is in the file last, but not its name."""
        self._file(path).sync()
        self._done("sync", path)

    def replace(self, source: str, target: str) -> None:
        """Renames a file; neither end of it lasts."""
        file = self._file(source)
        self.names[source].append(None)
        self.names.setdefault(target, [None]).append(file)
        self._done("rename", f"{source} to {os.path.basename(target)}")

    def sync_directory(self, path: str) -> None:
        """Makes the names in the directory last."""
        for versions in self.names.values():
            del versions[:-1]
        self._done("sync", path)

    def unlink(self, path: str) -> None:
        """Removes a name, which may come back."""
        self._file(path)
        self.names[path].append(None)
        self._done("unlink", path)

    def _file(self, path: str) -> File:
        file = self.names.get(path, [None])[-1]
        if file is None:
            raise FileNotFoundError(path)
        return file

    def _done(self, verb: str, path: str) -> None:
        self.log.append(f"{verb} {os.path.basename(path)}")


def directory_store(files: FileSystem) -> ah.DirectoryStore:
    """Returns the store that is proved, on a disk in memory."""
    return ah.DirectoryStore(DIRECTORY, file_system=files)


def _states(names: dict[str, File | None]) -> Iterator[State]:
    found = {path: file for path, file in names.items() if file is not None}
    # A file may be found under two names, with the same content.
    files = dict.fromkeys(found.values())
    for contents in product(*(dict.fromkeys(file.contents) for file in files)):
        held = dict(zip(files, contents, strict=True))
        yield frozenset((path, held[file]) for path, file in found.items())
