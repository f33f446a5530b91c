"""A restored source goes on after the last committed item, and misses none before it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import pytest

import asynchooks as ah
from asynchooks._positions import PASSED_AT_ONCE
from asynchooks._state import SourceMark

COUNT = 6


def numbers() -> Iterator[int]:
    """Yields the numbers of the data."""
    yield from range(COUNT)


async def async_numbers() -> AsyncIterator[int]:
    """Yields the same, to be awaited."""
    for number in range(COUNT):
        await anyio.lowlevel.checkpoint()
        yield number


DATA: list[Callable[[], Any]] = [
    lambda: range(COUNT),
    lambda: numbers,
    lambda: async_numbers,
    numbers,
    async_numbers,
]


def reading(data: Any) -> tuple[ah.Graph, ah.Source[int], ah.Op[int]]:
    """Makes a graph that reads data."""
    with ah.Graph().as_default() as graph:
        source: ah.Source[int] = ah.from_iterable(data, name="rows")
        return graph, source, source.get_next(name="next")


async def rest_of(session: ah.Session) -> list[int]:
    """Takes all items that are left."""
    taken: list[int] = []
    with pytest.raises(ah.OutOfRangeError):
        while True:
            taken.append(await session.run("next"))
    return taken


@pytest.mark.parametrize("make", DATA)
@pytest.mark.parametrize("read", range(COUNT + 1))
async def test_reading_goes_on_after_a_restart(make: Callable[[], Any], read: int) -> None:
    """Whatever the data are made of, a new process reads on after the last committed item."""
    store, saver = ah.MemoryStore(), ah.Saver()
    async with ah.Session(reading(make())[0]) as session:
        for _ in range(read):
            await session.run("next")
        await saver.save(session, store, 1)
    async with ah.Session(reading(make())[0]) as session:
        await saver.restore(session, store)
        assert await rest_of(session) == list(range(read, COUNT))


@pytest.mark.parametrize("make", DATA)
async def test_uncommitted_items_are_read_again(make: Callable[[], Any]) -> None:
    """Runs under way do not count: their items come again, in order, and later ones do not."""
    store, saver = ah.MemoryStore(), ah.Saver()
    graph, source, taken = reading(make())
    gates = {number: anyio.Event() for number in range(COUNT)}

    @ah.op
    async def passed(number: int) -> int:
        await gates[number].wait()
        return number

    with graph.as_default():
        wait = passed(taken)
    async with ah.Session(graph) as session, anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(session.run, wait)
            await anyio.wait_all_tasks_blocked()
        for number in (1, 3):
            gates[number].set()
        await anyio.wait_all_tasks_blocked()
        assert source.mark(session.state) == SourceMark(4, (0, 2))
        await saver.save(session, store, 1)
        group.cancel_scope.cancel()
    graph, source, _ = reading(make())
    async with ah.Session(graph) as session:
        await saver.restore(session, store)
        assert source.mark(session.state) == SourceMark(4, (0, 2))
        assert await session.run("next") == 0
        assert source.mark(session.state) == SourceMark(4, (2,))
        assert await rest_of(session) == [2, 4, 5]
        assert source.mark(session.state) == SourceMark(COUNT)


async def test_iterator_goes_on_in_the_same_process(caplog: pytest.LogCaptureFixture) -> None:
    """What this process has read off an iterator is not passed over once more, but it may lack."""
    store, saver = ah.MemoryStore(), ah.Saver()
    graph, source, _ = reading(numbers())
    async with ah.Session(graph) as session:
        assert await session.run("next") == 0
        await saver.save(session, store, 1)
    async with ah.Session(graph) as session:
        assert source.mark(session.state) == SourceMark(1)
        await saver.restore(session, store)
        assert [await session.run("next"), await session.run("next")] == [1, 2]
        assert caplog.records == []
        await saver.restore(session, store)
        assert await rest_of(session) == [3, 4, 5]
    assert caplog.records[-1].message == (
        "source 'rows': 2 item(s) of its iterator were read by other sessions, and cannot be read "
        "again; make it of a function that returns a new one"
    )


async def test_uncommitted_item_of_an_iterator_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    """An item that was read off an iterator and not committed cannot be read again."""
    graph, source, _ = reading(numbers())
    async with ah.Session(graph) as session:
        await session.run("next")
        await session.run("next")
        source.go_on(session.state, SourceMark(2, (0,)))
        assert await rest_of(session) == [2, 3, 4, 5]
        assert source.mark(session.state) == SourceMark(COUNT)
    assert "1 item(s) of its iterator were read by other sessions" in caplog.text


@pytest.mark.parametrize("make", DATA)
async def test_data_that_have_become_shorter(
    make: Callable[[], Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Data that end before the position have ended, and a warning says so."""
    graph, source, _ = reading(make())
    async with ah.Session(graph) as session:
        source.go_on(session.state, SourceMark(9))
        assert await rest_of(session) == []
    assert [record.message for record in caplog.records] == [
        f"source 'rows' has ended after {COUNT} item(s), fewer than were read before"
    ]


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_passing_over_lets_others_run(kind: str) -> None:
    """However many items are passed over, other tasks get their turn."""

    async def many() -> AsyncIterator[int]:
        for number in range(9 * PASSED_AT_ONCE):
            yield number

    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    graph, source, _ = reading(many if kind == "async" else range(9 * PASSED_AT_ONCE))
    async with ah.Session(graph) as session, anyio.create_task_group() as group:
        source.go_on(session.state, SourceMark(8 * PASSED_AT_ONCE))
        group.start_soon(take_turns)
        assert await session.run("next") == 8 * PASSED_AT_ONCE
        group.cancel_scope.cancel()
    assert turns >= 6


def test_sources_have_names_of_their_own() -> None:
    """A name that another source of the graph has gets a number, as those of ops do."""
    with ah.Graph().as_default():
        made = [ah.from_iterable([1], name="rows") for _ in range(3)]
        assert [source.name for source in made] == ["rows", "rows_1", "rows_2"]
        assert made[1].get_next().name == "rows_1/get_next"
    with ah.Graph().as_default():
        assert ah.from_iterable([1], name="rows").name == "rows"
