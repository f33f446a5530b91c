"""Where checkpoints are kept: in a directory, in memory, or in a store of one's own."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from typing import Any, Protocol, cast, runtime_checkable

from anyio.lowlevel import checkpoint

from asynchooks._errors import CheckpointError
from asynchooks._threads import in_thread
from asynchooks.checkpoint._fs import FileSystem

UNFINISHED = ".unfinished"
"""Ends the name of a file that is being written."""


@runtime_checkable
class CheckpointStore(Protocol):
    """Keeps checkpoints, which are bytes, by the global step at which they were taken.

    One session at a time writes to a store, and it never overlaps a write with another.
    """

    @property
    def name(self) -> str:
        """What messages call the store; the same for two stores that hold the same checkpoints."""
        ...

    def name_of(self, step: int) -> str:
        """Returns what messages call the checkpoint of that step, such as the path of its file."""
        ...

    async def steps(self) -> list[int]:
        """Returns the steps of which there is a checkpoint, whole or broken, in any order."""
        ...

    async def read(self, step: int) -> bytes:
        """Returns what was written for that step.

        Raises:
            CheckpointError: there is no such checkpoint, or it cannot be read.
        """
        ...

    async def write(self, step: int, data: bytes) -> None:
        """Keeps a checkpoint, in the place of one of the same step.

        When it returns, the checkpoint outlasts the process. If it raises or is cancelled, what was
        kept before is still there.

        Raises:
            CheckpointError: it could not be written.
        """
        ...

    async def delete(self, step: int) -> None:
        """Removes a checkpoint; does nothing if there is none of that step.

        Raises:
            CheckpointError: it could not be removed.
        """
        ...


class DirectoryStore:
    """Keeps each checkpoint in a file ``<basename>-<step>`` of a directory.

    Neither a kill nor a power cut breaks a checkpoint that was written: the file is written and
    synced under a temporary name, then renamed, then the directory is synced. All file work is done
    in worker threads, and awaited to its end once it has begun. Files of other names are never
    touched.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        basename: str = "model.ckpt",
        *,
        file_system: FileSystem | None = None,
    ) -> None:
        """Makes a store; touches no file yet.

        Args:
            directory: made with the first checkpoint if it is not there yet.
            basename: how the names of the files begin.
            file_system: what the files are made with; None takes the disk.

        Raises:
            TypeError: the directory is no path, or the basename no string.
            ValueError: one of them is empty, or the basename holds a separator of directories.
        """
        if not isinstance(directory, str | os.PathLike):
            raise TypeError(f"the directory of checkpoints is to be a path, not {directory!r}")
        if not isinstance(basename, str):
            raise TypeError(f"the basename of checkpoints is to be a string, not {basename!r}")
        if not os.fspath(directory):
            raise ValueError('the directory of checkpoints is empty; "." is the current one')
        if not basename or os.path.basename(basename) != basename:
            raise ValueError(
                f"the basename of checkpoints is to be a part of a file name, not {basename!r}"
            )
        # Where the current directory is would be asked of the disk, and not in a worker thread.
        self._directory = os.path.normpath(directory)
        self._basename = basename
        self._pattern = re.compile(
            re.escape(basename) + r"-(0|-?[1-9][0-9]*)(" + re.escape(UNFINISHED) + ")?"
        )
        self._files = file_system if file_system is not None else FileSystem()
        self._tidy = False

    @property
    def name(self) -> str:
        """The directory, with the basename of the files."""
        return os.path.join(self._directory, self._basename)

    def name_of(self, step: int) -> str:
        """Returns the path of the checkpoint of that step."""
        return f"{self.name}-{step}"

    async def steps(self) -> list[int]:
        """Returns the steps of which there is a file; none if there is no directory."""
        return cast("list[int]", await self._in_thread(self.name, self._steps))

    async def read(self, step: int) -> bytes:
        """Returns what is in the file; see `CheckpointStore.read`."""
        path = self.name_of(step)
        return cast("bytes", await self._in_thread(path, self._files.read, path))

    async def write(self, step: int, data: bytes) -> None:
        """Writes the file, so that it is there whole or not at all; see `CheckpointStore.write`.

        The first time it also removes the temporary files that a process which was killed has left.
        """
        path = self.name_of(step)
        await self._in_thread(path, self._write, path, data)

    async def delete(self, step: int) -> None:
        """Removes the file; see `CheckpointStore.delete`."""
        path = self.name_of(step)
        await self._in_thread(path, self._unlink, path)

    async def _in_thread(self, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return await in_thread(call, arguments)
        except OSError as error:
            raise CheckpointError(name, str(error)) from error

    def _steps(self) -> list[int]:
        matches = map(self._pattern.fullmatch, self._list())
        return [int(match[1]) for match in matches if match and not match[2]]

    def _write(self, path: str, data: bytes) -> None:
        self._prepare()
        unfinished = path + UNFINISHED
        try:
            self._files.write(unfinished, data)
            self._files.sync_file(unfinished)
            self._files.replace(unfinished, path)
        except BaseException:
            # What cannot be removed now is removed by the next process.
            with contextlib.suppress(OSError):
                self._unlink(unfinished)
            raise
        self._files.sync_directory(self._directory)

    def _prepare(self) -> None:
        if self._tidy:
            return
        self._files.make_directory(self._directory)
        for name in self._list():
            match = self._pattern.fullmatch(name)
            if match and match[2]:
                self._unlink(os.path.join(self._directory, name))
        self._tidy = True

    def _list(self) -> list[str]:
        try:
            return self._files.list(self._directory)
        except FileNotFoundError:
            return []

    def _unlink(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._files.unlink(path)


class MemoryStore:
    """Keeps checkpoints in memory, for tests and for sessions that follow one another."""

    def __init__(self) -> None:
        """Makes an empty store."""
        self._checkpoints: dict[int, bytes] = {}

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"MemoryStore at {id(self):#x}"

    def name_of(self, step: int) -> str:
        """Returns what messages call the checkpoint of that step."""
        return f"{step} in {self.name}"

    async def steps(self) -> list[int]:
        """Returns the steps of the checkpoints."""
        await checkpoint()
        return list(self._checkpoints)

    async def read(self, step: int) -> bytes:
        """Returns what was written for that step; see `CheckpointStore.read`."""
        await checkpoint()
        try:
            return self._checkpoints[step]
        except KeyError as error:
            raise CheckpointError(self.name_of(step), "there is no such checkpoint") from error

    async def write(self, step: int, data: bytes) -> None:
        """Keeps the data; see `CheckpointStore.write`."""
        await checkpoint()
        self._checkpoints[step] = data

    async def delete(self, step: int) -> None:
        """Forgets the data; see `CheckpointStore.delete`."""
        await checkpoint()
        self._checkpoints.pop(step, None)


def chosen_store(
    store: str | os.PathLike[str] | CheckpointStore, basename: str = "model.ckpt"
) -> CheckpointStore:
    """Returns `store`, or the store of the directory that it names.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(store, str | os.PathLike):
        return DirectoryStore(store, basename)
    if isinstance(store, type) or not isinstance(store, CheckpointStore):
        raise TypeError(f"checkpoints are kept in a directory or a CheckpointStore, not {store!r}")
    return store
