"""Disks that fail, wait and take notes, and looks into a directory from within the event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from asynchooks.checkpoint._fs import FileSystem

PRIMITIVES = (
    "make_directory",
    "list",
    "read",
    "write",
    "sync_file",
    "replace",
    "sync_directory",
    "unlink",
)


class Disk(FileSystem):
    """A real disk whose primitives are noted, and can be made to fail."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.failing: str | None = None
        self.error: BaseException = OSError(28, "No space left on device")

    def __getattribute__(self, name: str) -> Any:
        if name not in PRIMITIVES:
            return super().__getattribute__(name)
        primitive: Callable[..., Any] = getattr(FileSystem, name)

        def noted(*arguments: Any) -> Any:
            path = Path(arguments[0])
            self.log.append(f"{name} {path.name}")
            if name == self.failing:
                raise self.error
            return primitive(self, *arguments)

        return noted

    def __hash__(self) -> int:
        return id(self)


class GatedDisk(FileSystem):
    """A disk that writes a file only once the gate is open."""

    __slots__ = ("begun", "gate")

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.gate = threading.Event()

    def write(self, path: str, data: bytes) -> None:
        """Waits, then writes."""
        self.begun.set()
        assert self.gate.wait(10)
        super().write(path, data)


async def names(directory: Path) -> list[str]:
    """Returns what lies in a directory, sorted."""
    return sorted([path.name async for path in anyio.Path(directory).iterdir()])


async def put(path: Path, data: bytes) -> None:
    """Writes a file as something foreign does."""
    await anyio.Path(path).write_bytes(data)


async def contents(path: Path) -> bytes:
    """Returns what is in a file."""
    return await anyio.Path(path).read_bytes()
