"""What a test may not leave behind: tasks, threads, file descriptors and temporary files."""

from __future__ import annotations

import os
import re
import tempfile
import threading
import time
from pathlib import Path

import anyio

# trio keeps a thread for ten seconds after its job; while it waits it has this name of its own
IDLE_TRIO_THREAD = re.compile(r"Trio thread \d+")
GRACE = 1.0


def threads() -> dict[object, str]:
    """Returns the running threads, without those that trio keeps for its next job."""
    return {
        thread.ident: f"thread {thread.name!r}"
        for thread in threading.enumerate()
        if not IDLE_TRIO_THREAD.fullmatch(thread.name)
    }


def descriptors() -> dict[object, str]:
    """Returns the open file descriptors and what they lead to, nothing where there is no /proc."""
    folder = Path("/proc/self/fd")
    names = os.listdir(folder) if folder.exists() else []
    return {name: f"descriptor {name} of {target}" for name in names if (target := _target(name))}


def temporary_files() -> dict[object, str]:
    """Returns what lies in the folder for temporary files."""
    folder = tempfile.gettempdir()
    return {name: f"temporary file {name!r}" for name in os.listdir(folder)}


def tasks() -> dict[object, str]:
    """Returns the tasks of the running event loop."""
    return {task.id: f"task {task.name!r}" for task in anyio.get_running_tasks()}


def more(before: dict[object, str], after: dict[object, str]) -> list[str]:
    """Returns what is new if there is more than before, else nothing."""
    return [after[key] for key in after.keys() - before.keys()] if len(after) > len(before) else []


class Footprint:
    """What the process holds outside any event loop, to be compared later."""

    def __init__(self) -> None:
        self._threads = threads()
        self._descriptors = descriptors()
        self._temporary_files = temporary_files()

    def left_behind(self) -> list[str]:
        """Returns what there is more of than at the start."""
        return [
            *self._threads_after_grace(),
            *more(self._descriptors, descriptors()),
            *more(self._temporary_files, temporary_files()),
        ]

    def _threads_after_grace(self) -> list[str]:
        deadline = time.monotonic() + GRACE
        while (left := more(self._threads, threads())) and time.monotonic() < deadline:
            time.sleep(0.002)  # anyio tells its threads to end, and does not wait for it
        return left


def _target(descriptor: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:  # the one that listed the folder
        return ""
