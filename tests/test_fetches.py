"""What can be fetched and fed, on a raw session."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import pytest

import asynchooks as ah


def graph_of_two() -> tuple[ah.Graph, ah.Op[int], ah.Op[int], list[str]]:
    """Returns a graph with ops x = 1 and y = x + 1, and a log of their evaluations."""
    log: list[str] = []
    with ah.Graph().as_default() as graph:
        x = ah.op(name="x")(lambda: log.append("x") or 1)()
        y = ah.op(name="y")(lambda x: log.append("y") or x + 1)(x)
    return graph, x, y, log


async def test_op_and_its_name_are_the_same() -> None:
    """An op can be fetched as itself and by name; either way it is evaluated once."""
    graph, x, y, log = graph_of_two()
    async with ah.Session(graph) as session:
        assert await session.run([y, "y", x, {"x": "x"}]) == [2, 2, 1, {"x": 1}]
    assert log == ["x", "y"]


@pytest.mark.parametrize("empty", [[], (), {}, [[], ({},)]])
async def test_nothing_fetched_is_nothing_run(empty: Any) -> None:
    """An empty structure gives the same, and no op runs."""
    graph, _, _, log = graph_of_two()
    async with ah.Session(graph) as session:
        assert await session.run(empty) == empty
    assert log == []


class Calls:
    """Callables of many shapes that count how often they are called."""

    def __init__(self) -> None:
        self.count = 0

    async def coroutine(self, by: int = 1) -> int:
        await anyio.lowlevel.checkpoint()
        return self.plain(by)

    def plain(self, by: int = 1) -> int:
        self.count += by
        return self.count

    def later(self) -> Any:
        return self.coroutine()

    async def __call__(self) -> int:
        return self.plain()


class Unhashable(Calls):
    """A callable object that cannot be a key."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


CALLABLES: dict[str, Callable[[], Callable[[], Any]]] = {
    "async function": lambda: Calls().coroutine,
    "plain function": lambda: Calls().plain,
    "function of an awaitable": lambda: Calls().later,
    "partial": lambda: partial(Calls().coroutine, by=1),
    "object": Calls,
    "object that is unhashable": Unhashable,
    "built-in": lambda: iter([1]).__next__,
    "lambda": lambda: lambda: 1,
}


@pytest.mark.parametrize("make", CALLABLES.values(), ids=CALLABLES)
async def test_callable_is_an_op_of_its_own(make: Callable[[], Callable[[], Any]]) -> None:
    """A callable that is fetched is called once in the run, and awaited if need be."""
    fn = make()
    async with ah.Session(ah.Graph()) as session:
        assert await session.run([fn, {"again": fn}]) == [1, {"again": 1}]
    assert session.graph.get_operations() == []


async def test_unhashable_callables_are_told_apart_by_identity() -> None:
    """Two callables that are equal are two ops."""
    async with ah.Session(ah.Graph()) as session:
        first, second = Unhashable(), Unhashable()
        await session.run([first, second, first])
    assert (first.count, second.count) == (1, 1)


async def test_built_in_without_a_signature_can_be_fetched() -> None:
    """A callable of which Python knows no signature is called without arguments."""
    async with ah.Session(ah.Graph()) as session:
        assert await session.run([{}.update]) == [None]


async def test_any_op_can_be_fed() -> None:
    """A fed op is not run, nor is what only it needs; what it feeds is."""
    graph, x, y, log = graph_of_two()
    async with ah.Session(graph) as session:
        assert await session.run([y, x], {x: 10}) == [11, 10]
        assert await session.run(y, {"y": 5}) == 5
        assert await session.run(x, {y: 5}) == 1
    assert log == ["y", "x"]


async def test_fed_values_are_not_looked_into() -> None:
    """Whatever is fed is the value: a list, an op, an awaitable, None."""
    graph, x, y, _ = graph_of_two()
    values = [[y], y, None, anyio.sleep]
    async with ah.Session(graph) as session:
        for value in values:
            assert await session.run(x, {x: value}) is value


async def test_feeds_can_be_any_mapping_or_none() -> None:
    """No feeds, None and an empty dict are the same."""
    graph, x, _, _ = graph_of_two()
    async with ah.Session(graph) as session:
        for feeds in (None, {}):
            assert await session.run(x, feed_dict=feeds) == 1


async def test_variable_and_resource_can_be_fed() -> None:
    """A variable that is fed has that value in the run and keeps its own."""
    with ah.Graph().as_default() as graph:
        v = ah.Variable(1, "v")
        double = ah.op(lambda v: 2 * v)(v)
    async with ah.Session(graph) as session:
        assert await session.run([v, double], {v: 21}) == [21, 42]
        assert await session.run([v, double]) == [1, 2]
