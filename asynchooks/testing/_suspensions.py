"""Watching an awaitable suspend."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Watched(Generic[T]):
    """Awaits `awaitable` and calls `on_suspension` each time it is about to suspend.

    What is watched is the awaiting task only; tasks that it starts suspend unseen. The call
    comes before the event loop gets to see the suspension, in the task itself: nothing is
    thrown into the event loop's own code, whatever the call does.
    """

    def __init__(self, awaitable: Awaitable[T], on_suspension: Callable[[], None]) -> None:
        self._awaitable = awaitable
        self._on_suspension = on_suspension

    def __await__(self) -> Generator[Any, Any, T]:
        """Passes on everything between the awaitable and the event loop."""
        inner = self._awaitable.__await__()
        step: Callable[[], Any] = partial(next, inner)
        while True:
            try:
                suspended = step()
            except StopIteration as done:
                value: T = done.value
                return value
            self._on_suspension()
            try:
                sent = yield suspended
            except BaseException as error:
                step = partial(inner.throw, error)
            else:
                step = partial(inner.send, sent)
