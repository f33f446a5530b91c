"""Where hooks write scalars: a writer of the user's, whose methods may block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import anyio

from asynchooks._threads import in_thread


class SummaryWriter(Protocol):
    """Takes scalars: what the ``SummaryWriter`` classes of tensorboardX and PyTorch do.

    Hooks call its methods in worker threads, one at a time, so they may block.
    """

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int, /) -> object:
        """Takes the value that `tag` has at a global step."""
        ...

    def flush(self) -> object:
        """Writes out what was taken."""
        ...

    def close(self) -> object:
        """Writes out what was taken, and ends."""
        ...


WriterOrFactory = SummaryWriter | Callable[[], SummaryWriter]
"""A writer, or a function that makes one for each session."""


class ScalarOutput:
    """Calls a writer's methods in worker threads, one at a time."""

    def __init__(self, writer: object, *, optional: bool = False) -> None:
        """Checks what is to be written to.

        Args:
            writer: a `SummaryWriter`, which stays open, or a function that makes one, which is
                called by `open`.
            optional: whether the writer may be None: then nothing is written.

        Raises:
            TypeError: it is none of these.
        """
        self._makes = isinstance(writer, type) or not hasattr(writer, "add_scalar")
        self._given: Any = writer
        self._writer: SummaryWriter | None = None
        if writer is None and optional:
            self._makes = False
        elif not self._makes:
            _checked(writer)
        elif not callable(writer):
            raise TypeError(
                "summary_writer is to be a writer with the methods add_scalar, flush and close, or "
                f"a function that makes one, not {writer!r}"
            )

    async def open(self) -> None:
        """Makes the writer, if that is for this to do."""
        self._lock = anyio.Lock()
        if not self._makes:
            self._writer = self._given
            return
        try:
            await in_thread(self._make, ())
        except BaseException:
            # A hook whose begin did not return is not closed.
            await self.close()
            raise

    async def add(self, scalars: Mapping[str, Any], step: int) -> None:
        """Writes scalars.

        Args:
            scalars: the values by tag.
            step: the global step that they belong to.
        """
        if self._writer is not None:
            async with self._lock:
                await in_thread(_add, (self._writer, scalars, step))

    async def flush(self) -> None:
        """Has the writer write out what it has taken."""
        if self._writer is not None:
            async with self._lock:
                await in_thread(self._writer.flush, ())

    async def close(self) -> None:
        """Closes the writer if it was made here."""
        writer, self._writer = self._writer, None
        if self._makes and writer is not None:
            await in_thread(writer.close, ())

    def _make(self) -> None:
        # In the thread, whose result a cancellation of the caller would lose.
        self._writer = _checked(self._given())


def _add(writer: SummaryWriter, scalars: Mapping[str, Any], step: int) -> None:
    for tag, value in scalars.items():
        writer.add_scalar(tag, value, step)


def _checked(writer: object) -> SummaryWriter:
    for method in ("add_scalar", "flush", "close"):
        if not callable(getattr(writer, method, None)):
            raise TypeError(
                "a summary writer is to have the methods add_scalar, flush and close; "
                f"{writer!r} has no {method}"
            )
    return cast("SummaryWriter", writer)
