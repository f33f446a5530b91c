"""A request to stop, which outlives the generations of a session."""

from __future__ import annotations

from collections.abc import Callable

import anyio


class StopFlag:
    """Is set once and stays set; can be waited for and listened to.

    Attributes:
        requested: whether it is set.
    """

    __slots__ = ("_event", "_listeners", "requested")

    def __init__(self) -> None:
        self.requested: bool = False
        self._event = anyio.Event()
        self._listeners: list[Callable[[], None]] = []

    def request(self) -> None:
        """Sets it, wakes who waits for it and calls the listeners."""
        self.requested = True
        self._event.set()
        for listener in self._listeners:
            listener()

    def clear(self) -> None:
        """Takes the request back."""
        if self.requested:
            self.requested = False
            self._event = anyio.Event()

    async def wait(self) -> None:
        """Returns once it is set."""
        await self._event.wait()

    def listen(self, listener: Callable[[], None]) -> None:
        """Has `listener` called at each request until `unlisten`."""
        self._listeners.append(listener)

    def unlisten(self, listener: Callable[[], None]) -> None:
        """Ends `listen`."""
        self._listeners.remove(listener)
