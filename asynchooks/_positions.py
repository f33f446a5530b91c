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
from typing import Generic, Protocol, TypeVar, cast

import anyio
from anyio.lowlevel import checkpoint

from asynchooks._backend import spawn_host_task
from asynchooks._closing import logger
from asynchooks._errors import END_OF_INPUT, OutOfRangeError
from asynchooks._ops import in_place
from asynchooks._state import SourceMark, Transaction

T = TypeVar("T")

Items = Iterable[T] | AsyncIterable[T]
"""What is read item by item, with or without awaiting."""

PASSED_AT_ONCE = 1000
"""How many items are passed over before other tasks get their turn."""


class Data(Generic[T]):
    """What a source reads.

    Attributes:
        reopen: opens it from its start, or None for an iterator that can be read only once.
        iterator: that iterator, or None.
    """

    def __init__(self, reopen: Callable[[], Items[T]] | None, iterator: Items[T] | None) -> None:
        self.reopen = reopen
        self.iterator = iterator
        # Of an iterator that is read only once, for all sessions of this process.
        self._numbers = Numbers()

    @property
    def first(self) -> int:
        """The number of the first item that is read if reading starts now."""
        return self._numbers.next if self.reopen is None else 0

    def open(self) -> tuple[object, Numbers]:
        """Returns what is read, and what counts its items."""
        if self.reopen is None:
            return self.iterator, self._numbers
        return in_place(self.reopen), Numbers()


class Numbers:
    """Counts the items that were read, from the start of the data.

    Attributes:
        next: the number of the next one.
    """

    __slots__ = ("next",)

    def __init__(self) -> None:
        self.next = 0

    def take(self) -> int:
        """Returns the number of an item that was read."""
        number = self.next
        self.next += 1
        return number


class Position(Generic[T]):
    """One session's position in a source.

    Args:
        name: the source's.
        data: what is read.
        mark: which items need not be read again; None for none but those that an iterator has
            given already.
    """

    def __init__(self, name: str, data: Data[T], mark: SourceMark | None = None) -> None:
        self.name = name
        self.data = data
        mark = mark if mark is not None else SourceMark(data.first)
        self._count = mark.next_number
        # What is to be read once more, as no run has committed it.
        self._wanted = set(mark.uncommitted)
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

    def mark(self) -> SourceMark:
        """Returns which items were committed."""
        numbers = {number for number, _ in self._at_hand}
        uncommitted = sorted(numbers.union(self._taken, self._wanted))
        count = self._count
        while uncommitted and uncommitted[-1] == count - 1:
            count = uncommitted.pop()
        return SourceMark(count, tuple(uncommitted))

    def leave(self) -> None:
        """Lets the reader go; the next `take` opens the data anew."""
        self._reader = None

    def deliver(self, number: int, item: T) -> bool:
        """Takes in an item that was read, and tells whether it was wanted."""
        if number >= self._count:
            self._count = number + 1
        elif number in self._wanted:
            self._wanted.remove(number)
        else:
            return False
        heapq.heappush(self._at_hand, (number, item))
        return True

    def end(self, error: BaseException, number: int) -> None:
        """Takes in how reading ended: normally, or by an error that the next `take` raises.

        Args:
            error: what ended it.
            number: that of the item that would have come next.
        """
        self._reader = None
        if isinstance(error, (StopIteration, *END_OF_INPUT)):
            self._ended = True
            if number < self._count or self._wanted:
                logger.warning(
                    "source %r has ended after %d item(s), fewer than were read before",
                    self.name,
                    number,
                )
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
        iterator = self.data.iterator
        return inspect.isgenerator(iterator) or inspect.isasyncgen(iterator)

    def _forget_before(self, first: int) -> None:
        gone = {number for number in self._wanted if number < first}
        if gone or self._count < first:
            logger.warning(
                "source %r: %d item(s) of its iterator were read by other sessions, and cannot be "
                "read again; make it of a function that returns a new one",
                self.name,
                len(gone) + max(0, first - self._count),
            )
        self._wanted -= gone

    def _open_reader(self) -> _Reader:
        items, numbers = self.data.open()
        self._forget_before(numbers.next)
        if isinstance(items, AsyncIterable):
            return _TaskReader(self, cast("AsyncIterable[T]", items), numbers)
        if isinstance(items, Iterable):
            return _InPlaceReader(self, cast("Iterable[T]", items), numbers)
        raise TypeError(
            f"the function of source {self.name!r} is to return a sync or async iterable, not "
            f"{items!r}"
        )


class _Reader(Protocol):
    async def read_on(self) -> None:
        """Reads until the position has an item, or was told how reading ended, or a while."""
        ...

    async def aclose(self) -> None:
        """Ends reading, and leaves the position."""
        ...


class _InPlaceReader(Generic[T]):
    def __init__(self, position: Position[T], items: Iterable[T], numbers: Numbers) -> None:
        self._position = position
        self._iterator = iter(items)
        self._numbers = numbers

    async def read_on(self) -> None:
        if not self._has_news():
            await checkpoint()

    def _has_news(self) -> bool:
        for _ in range(PASSED_AT_ONCE):
            try:
                item = next(self._iterator)
            except BaseException as error:
                self._position.end(error, self._numbers.next)
                return True
            if self._position.deliver(self._numbers.take(), item):
                return True
        return False

    async def aclose(self) -> None:
        self._position.leave()
        iterator = self._iterator
        if inspect.isgenerator(iterator) and iterator is not self._position.data.iterator:
            iterator.close()


class _TaskReader(Generic[T]):
    """Reads in a task of its own, so that no run's cancellation reaches an async generator."""

    def __init__(self, position: Position[T], items: AsyncIterable[T], numbers: Numbers) -> None:
        self._position = position
        self._items = items
        self._numbers = numbers
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
                self._position.end(error, self._numbers.next)
        finally:
            self._finished.set()
            self._news.set()

    async def _read(self) -> None:
        iterator = aiter(self._items)
        try:
            await self._read_from(iterator)
        finally:
            if inspect.isasyncgen(iterator) and iterator is not self._position.data.iterator:
                await self._close(cast("AsyncGenerator[T]", iterator))

    async def _close(self, generator: AsyncGenerator[T]) -> None:
        with anyio.CancelScope(shield=True):
            await generator.aclose()

    async def _read_from(self, iterator: AsyncIterator[T]) -> None:
        while True:
            await self._wanted.wait()
            # Whoever still lacks an item after this one asks again.
            self._wanted = anyio.Event()
            while not self._position.deliver(*await self._read_item(iterator)):
                if self._numbers.next % PASSED_AT_ONCE == 0:
                    await checkpoint()
            self._news.set()
            self._news = anyio.Event()

    async def _read_item(self, iterator: AsyncIterator[T]) -> tuple[int, T]:
        item = await anext(iterator)
        return self._numbers.take(), item
