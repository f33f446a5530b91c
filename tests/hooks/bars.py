"""A progress bar for tests of hooks."""

from __future__ import annotations

import threading
from typing import Any


class Bar:
    """A bar like tqdm's, that keeps what it is told, and the threads in which that was."""

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments
        self.calls: list[Any] = []
        self.threads: set[int] = set()

    def _note(self, call: Any) -> None:
        self.calls.append(call)
        self.threads.add(threading.get_ident())

    def update(self, n: int) -> None:
        self._note(n)

    def set_postfix(self, values: dict[str, Any]) -> None:
        self._note(values)

    def close(self) -> None:
        self._note("close")


class Bars:
    """Makes bars, and keeps them."""

    def __init__(self) -> None:
        self.made: list[Bar] = []

    def __call__(self, *, total: int | None, initial: int, desc: str) -> Bar:
        self.made.append(Bar(total=total, initial=initial, desc=desc))
        return self.made[-1]

    @property
    def calls(self) -> list[Any]:
        """What the only bar was told."""
        [bar] = self.made
        return bar.calls
