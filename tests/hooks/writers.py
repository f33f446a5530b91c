"""A summary writer for tests of hooks."""

from __future__ import annotations

import threading
from typing import Any


class Writer:
    """Keeps what is written to it, and the threads in which that was."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.threads: set[int] = set()

    def _note(self, *call: Any) -> None:
        self.calls.append(call)
        self.threads.add(threading.get_ident())

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int) -> None:
        self._note(tag, scalar_value, global_step)

    def flush(self) -> None:
        self._note("flush")

    def close(self) -> None:
        self._note("close")


class Makes:
    """Makes writers, and keeps them."""

    def __init__(self) -> None:
        self.made: list[Writer] = []

    def __call__(self) -> Writer:
        self.made.append(Writer())
        return self.made[-1]
