"""Sources: data that runs take item by item; what a run takes and does not commit goes back."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from itertools import chain, count
from typing import Any, Generic, TypeGuard, TypeVar, cast

from asynchooks._graph import Graph, Op, OpKind, chosen_name, get_default_graph
from asynchooks._ops import check_takes_nothing, is_async, name_of, new_op
from asynchooks._positions import Data, Items, Position
from asynchooks._state import SessionState, SourceMark, Transaction

T = TypeVar("T")

SOURCES = "sources"
"""The collection that holds all sources of a graph."""


class Source(Generic[T]):
    """Data that runs take item by item; made by `from_iterable`.

    Each session has a position of its own in it, which checkpoints hold.

    Attributes:
        graph: the graph whose runs take the items.
        name: unique among the sources of the graph.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        reopen: Callable[[], Items[T]] | None = None,
        iterator: Items[T] | None = None,
    ) -> None:
        """Is called by `from_iterable`."""
        self.graph: Graph = graph
        self.name: str = _unique_name(graph, name)
        self._data = Data(reopen, iterator)
        graph.add_to_collection(SOURCES, self)

    def __repr__(self) -> str:
        return f"<Source {self.name!r}>"

    def get_next(self, name: str | None = None) -> Op[T]:
        """Makes an op that takes the next item in each run.

        At the end the run raises `OutOfRangeError`, as every later one does. An item taken by a run
        that does not commit is the next one taken, so at the end a run waits first for those under
        way that could give one back.

        Args:
            name: None takes the source's name with "/get_next".
        """

        async def take(transaction: Transaction) -> T:
            return await self._position(transaction).take(transaction)

        chosen = chosen_name(name, f"{self.name}/get_next")
        return new_op(self.graph, chosen, OpKind.ASYNC, take, stateful=True)

    def go_on(self, state: SessionState, mark: SourceMark) -> None:
        """Has a session go on after the items that were committed by the time of a checkpoint."""
        state.positions[self] = Position(self.name, self._data, mark)

    def mark(self, state: SessionState) -> SourceMark:
        """Returns which items a session has committed."""
        position = state.positions.get(self)
        return position.mark() if position is not None else SourceMark(self._data.first)

    def _position(self, transaction: Transaction) -> Position[T]:
        positions = transaction.state.positions
        position = positions.get(self)
        if position is None:
            position = positions[self] = Position(self.name, self._data)
        return cast("Position[T]", position)


def from_iterable(
    iterable: Items[T] | Callable[[], Items[T]], name: str | None = None
) -> Source[T]:
    """Makes a source of the default graph from data that is read item by item.

    Args:
        iterable: a sync or async iterable, or a function that returns one, such as a generator
            function. Reading starts with the first run that takes an item. Whatever can be opened
            anew (a function's result, a list) is opened anew after reading has failed, and read on
            from the same item. A generator that has failed raises its error again; any other
            iterator is asked for the next item.
            An async iterable is read in a task of its own, so that the cancellation of a run cannot
            break it; a sync one is read in the loop and must not block.
            After a restart, a session that goes on from a checkpoint opens the data, or asks the
            iterator, and passes over what was committed, so they are to come in the same order.
        name: None takes the function's name or "source"; checkpoints know the source by it. If it
            is taken by another source of the graph, a number is added.

    Raises:
        TypeError: `iterable` is neither, or a function that needs arguments.
    """
    graph = get_default_graph()
    if _is_items(iterable):
        return _source_of(graph, chosen_name(name, "source"), iterable)
    if not callable(iterable) or is_async(iterable):
        raise TypeError(
            f"a source is made of a sync or async iterable or of a function that returns one, not "
            f"of {iterable!r}"
        )
    check_takes_nothing(iterable, "the function of a source")
    return Source(graph, chosen_name(name, name_of(iterable)), reopen=iterable)


def _unique_name(graph: Graph, name: str) -> str:
    taken = {source.name for source in graph.get_collection(SOURCES)}
    candidates = chain([name], (f"{name}_{number}" for number in count(1)))
    return next(candidate for candidate in candidates if candidate not in taken)


def _is_items(value: object) -> TypeGuard[Items[Any]]:
    return isinstance(value, Iterable | AsyncIterable)


def _source_of(graph: Graph, name: str, items: Items[T]) -> Source[T]:
    if isinstance(items, Iterator | AsyncIterator):
        return Source(graph, name, iterator=cast("Items[T]", items))
    return Source(graph, name, reopen=lambda: items)
