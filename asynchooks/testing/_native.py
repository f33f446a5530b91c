"""The event loop's own cancellation of a task, which anyio does not speak of."""

from __future__ import annotations

from typing import Protocol

import anyio
from anyio.lowlevel import checkpoint


class NativeTask(Protocol):
    """The part of `asyncio.Task` that is used here."""

    def cancel(self) -> bool:
        """Requests a cancellation."""
        ...

    def uncancel(self) -> int:
        """Takes back a request."""
        ...

    def cancelling(self) -> int:
        """Returns the number of requests."""
        ...


def has_native_cancel() -> bool:
    """Tells whether tasks of the running event loop can be cancelled without a scope."""
    return anyio.get_cancelled_exc_class().__module__.startswith("asyncio")


class NativeCancels:
    """Requests to cancel the task that makes this object; on trio there never are any."""

    def __init__(self) -> None:
        self._task = _current_asyncio_task() if has_native_cancel() else None
        self._before = self._requests()
        self._made = 0

    def request(self) -> None:
        """Cancels the task, also from another task."""
        assert self._task is not None
        self._made += 1
        self._task.cancel()

    @property
    def stray(self) -> int:
        """How many requests the task has that were not made here; negative if some were lost."""
        return self._requests() - self._before - self._made

    async def withdraw(self) -> None:
        """Takes back the requests made here, also one that the task has not met yet."""
        if self._task is None or not self._made:
            return
        try:
            await checkpoint()
        except anyio.get_cancelled_exc_class():
            pass
        while self._requests() > self._before:
            self._task.uncancel()

    def _requests(self) -> int:
        return 0 if self._task is None else self._task.cancelling()


def _current_asyncio_task() -> NativeTask | None:
    import asyncio

    return asyncio.current_task()
