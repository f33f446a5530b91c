"""Where one session stands in one source: reading, giving back, opening anew after a failure."""

from __future__ import annotations

import heapq
import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
)
from contextvars import copy_context
from itertools import islice
from typing import Generic, Protocol, TypeVar, cast

import anyio

from asynchooks._backend import spawn_host_task
from asynchooks._errors import END_OF_INPUT, OutOfRangeError
from asynchooks._ops import in_place
from asynchooks._state import Transaction

T = TypeVar("T")

Items = Iterable[T] | AsyncIterable[T]
"""What is read item by item, with or without awaiting."""


class Position(Generic[T]):
    """One session's position in a source.

    Args:
        name: the source's.
        reopen: opens the data from its start, or None for an iterator that can be read only once.
        iterator: that iterator, or None.
    """

    def __init__(
        self, name: str, reopen: Callable[[], Items[T]] | None, iterator: Items[T] | None
    ) -> None:
        self.name = name
        self._reopen = reopen
        self.iterator = iterator
        self._count = 0
        self._at_hand: list[tuple[int, T]] = []
        # What runs have taken and not committed yet.
        self._taken: dict[int, Transaction] = {}
        self._settled = anyio.Event()
        self._ended = False
        self._error: BaseException | None = None
        self._reader: _Reader | None = None

    async def take(self, transaction: Transaction) -> T:
        """Returns the next item, which goes back if the run does not commit.

        At the end it waits while other runs could still give an item back.

        Raises:
            OutOfRangeError: there are no more.
        """
        while not self._at_hand:
            if self._ended and self._may_come_back(transaction):
                await self._wait_for_others(transaction)
                continue
            self._raise_if_over()
            if self._reader is None:
                self._reader = self._open_reader()
            await self._reader.read_on()
        # The number comes first, so items are never compared.
        number, item = heapq.heappop(self._at_hand)
        self._taken[number] = transaction
        transaction.on_end(lambda committed: self._settle(number, item, committed=committed))
        return item

    async def aclose(self) -> None:
        """Ends reading, and closes what was opened here."""
        if self._reader is not None:
            await self._reader.aclose()

    def is_closed(self) -> bool:
        """Tells whether reading has ended."""
        return self._reader is None

    def leave(self) -> None:
        """Lets the reader go; the next `take` opens the data anew."""
        self._reader = None

    def deliver(self, item: T) -> None:
        """Takes in an item that was read."""
        heapq.heappush(self._at_hand, (self._count, item))
        self._count += 1

    def end(self, error: BaseException) -> None:
        """Takes in how reading ended: normally, or by an error that the next `take` raises."""
        self._reader = None
        if isinstance(error, (StopIteration, *END_OF_INPUT)):
            self._ended = True
        else:
            self._error = error

    def _may_come_back(self, transaction: Transaction) -> bool:
        # Runs that wait themselves, at this source or another, do not count: nobody is to wait for
        # one another.
        holders = self._taken.values()
        return any(holder is not transaction and not holder.waiting for holder in holders)

    async def _wait_for_others(self, transaction: Transaction) -> None:
        transaction.waiting += 1
        try:
            await self._settled.wait()
        finally:
            transaction.waiting -= 1

    def _settle(self, number: int, item: T, *, committed: bool) -> None:
        del self._taken[number]
        if not committed:
            heapq.heappush(self._at_hand, (number, item))
        if self._ended:
            self._settled.set()
            self._settled = anyio.Event()

    def _raise_if_over(self) -> None:
        if self._ended:
            raise OutOfRangeError(f"source {self.name!r} has no more items")
        if self._error is not None:
            error = self._error
            if not self._is_dead_generator():
                self._error = None
            raise error

    def _is_dead_generator(self) -> bool:
        return inspect.isgenerator(self.iterator) or inspect.isasyncgen(self.iterator)

    def _open_reader(self) -> _Reader:
        items: object = self.iterator
        skip = 0
        if self._reopen is not None:
            items, skip = in_place(self._reopen), self._count
        if isinstance(items, AsyncIterable):
            return _TaskReader(self, cast("AsyncIterable[T]", items), skip)
        if isinstance(items, Iterable):
            return _InPlaceReader(self, cast("Iterable[T]", items), skip)
        raise TypeError(
            f"the function of source {self.name!r} is to return a sync or async iterable, not "
            f"{items!r}"
        )


class _Reader(Protocol):
    async def read_on(self) -> None:
        """Reads until the position has an item, or has been told how reading ended."""
        ...

    async def aclose(self) -> None:
        """Ends reading, and leaves the position."""
        ...


class _InPlaceReader(Generic[T]):
    def __init__(self, position: Position[T], items: Iterable[T], skip: int) -> None:
        self._position = position
        self._opened = iter(items)
        self._iterator = islice(self._opened, skip, None)

    async def read_on(self) -> None:
        try:
            self._position.deliver(next(self._iterator))
        except BaseException as error:
            self._position.end(error)

    async def aclose(self) -> None:
        self._position.leave()
        if inspect.isgenerator(self._opened) and self._opened is not self._position.iterator:
            self._opened.close()


class _TaskReader(Generic[T]):
    """Reads in a task of its own, so that no run's cancellation reaches an async generator."""

    def __init__(self, position: Position[T], items: AsyncIterable[T], skip: int) -> None:
        self._position = position
        self._items = items
        self._skip = skip
        self._wanted = anyio.Event()
        self._news = anyio.Event()
        self._finished = anyio.Event()
        self._scope = anyio.CancelScope()
        self._closing_error: BaseException | None = None
        spawn_host_task(self._live, f"reading {position.name}", copy_context())

    async def read_on(self) -> None:
        self._wanted.set()
        await self._news.wait()

    async def aclose(self) -> None:
        self._scope.cancel()
        if not self._finished.is_set():
            await self._finished.wait()
        self._position.leave()
        if self._closing_error is not None:
            raise self._closing_error

    async def _live(self) -> None:
        try:
            with self._scope:
                await self._read()
        except BaseException as error:
            if self._scope.cancel_called:
                self._closing_error = error
            else:
                self._position.end(error)
        finally:
            self._finished.set()
            self._news.set()

    async def _read(self) -> None:
        iterator = aiter(self._items)
        try:
            await self._read_from(iterator)
        finally:
            if inspect.isasyncgen(iterator) and iterator is not self._position.iterator:
                await self._close(cast("AsyncGenerator[T]", iterator))

    async def _close(self, generator: AsyncGenerator[T]) -> None:
        with anyio.CancelScope(shield=True):
            await generator.aclose()

    async def _read_from(self, iterator: AsyncIterator[T]) -> None:
        for _ in range(self._skip):
            await anext(iterator)
        while True:
            await self._wanted.wait()
            # Whoever still lacks an item after this one asks again.
            self._wanted = anyio.Event()
            self._position.deliver(await anext(iterator))
            self._news.set()
            self._news = anyio.Event()
