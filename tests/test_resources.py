"""Resources: opened in order for each generation, given to ops and hooks, closed in reverse."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import anyio
import pytest

import asynchooks as ah


class Pool:
    """A resource that logs its life, and in which task it was opened and closed."""

    def __init__(self, log: list[str], name: str, *needs: Any, **more: Any) -> None:
        self.log = log
        self.name = name
        self.needs = needs
        self.more = more
        self.tasks: list[int] = []

    async def __aenter__(self) -> Pool:
        self.tasks.append(anyio.get_current_task().id)
        self.log.append(f"open {self.name}")
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.tasks.append(anyio.get_current_task().id)
        with anyio.CancelScope(shield=True):
            await anyio.lowlevel.checkpoint()
        self.log.append(f"close {self.name}")


def graph_of(log: list[str], names: str) -> tuple[ah.Graph, list[ah.Op[Pool]]]:
    """Returns a graph with a resource for each letter."""
    with ah.Graph().as_default() as graph:
        return graph, [ah.resource(Pool, log, name, name=name) for name in names]


async def test_resources_are_opened_in_order_and_closed_in_reverse() -> None:
    """All resources of the graph are opened in the order in which they were made."""
    log: list[str] = []
    graph, ops = graph_of(log, "abc")
    async with ah.Session(graph) as session:
        assert log == ["open a", "open b", "open c"]
        pools = await session.run(ops)
    assert [pool.name for pool in pools] == ["a", "b", "c"]
    assert log[3:] == ["close c", "close b", "close a"]


async def test_run_gets_the_live_one() -> None:
    """Ops and fetches get what the context manager gave, the same in each run."""
    log: list[str] = []
    graph, (op,) = graph_of(log, "a")
    with graph.as_default():
        name = ah.op(lambda pool: pool.name)(op)
    async with ah.Session(graph) as session:
        pool = await session.run(op)
        assert await session.run([name, [op], "a"]) == ["a", [pool], pool]
    assert log == ["open a", "close a"]


async def test_resources_are_arguments_of_resources() -> None:
    """A factory gets values as they are and resources opened, also nested and by keyword."""
    log: list[str] = []
    with ah.Graph().as_default() as graph:
        a = ah.resource(Pool, log, "a", name="a")
        b = ah.resource(Pool, log, "b", [a, {"a": (a, 1)}], other=a, plain=[2], name="b")
    async with ah.Session(graph) as session:
        pool_a, pool_b = await session.run([a, b])
    assert pool_b.needs == ([pool_a, {"a": (pool_a, 1)}],)
    assert pool_b.more == {"other": pool_a, "plain": [2]}
    assert log == ["open a", "open b", "close b", "close a"]


async def test_what_could_be_opened_is_closed_when_another_cannot() -> None:
    """When a resource fails to open, those before it are closed and those after it untouched."""
    log: list[str] = []

    @asynccontextmanager
    async def refuses() -> AsyncIterator[None]:
        raise OSError("refused")
        yield

    with ah.Graph().as_default() as graph:
        ah.resource(Pool, log, "a")
        ah.resource(refuses)
        ah.resource(Pool, log, "c")
    session = ah.Session(graph)
    with pytest.raises(OSError, match="refused"):
        async with session:
            pass
    assert log == ["open a", "close a"]
    assert session.closed
    with pytest.raises(ah.SessionClosedError):
        await session.run([])


async def test_each_generation_opens_its_own() -> None:
    """A lost generation's resources are closed before the next one's are opened, each in a task."""
    log: list[str] = []
    graph, (op,) = graph_of(log, "a")
    pools: list[Pool] = []

    async def use(pool: Pool) -> None:
        pools.append(pool)
        if len(pools) == 1:
            raise ah.UnavailableError("lost")

    with graph.as_default():
        uses = ah.op(use)(op)
    async with ah.MonitoredSession(graph) as session:
        await session.run(uses)
        assert await session.run(op) is pools[1]
    assert log == ["open a", "close a"] * 2
    assert pools[0] is not pools[1]
    for pool in pools:
        opened, closed = pool.tasks
        assert opened == closed != anyio.get_current_task().id


async def test_hooks_fetch_the_live_one() -> None:
    """A hook that fetches a resource gets it in after_run, and can run it in its set-up and end."""
    log: list[str] = []
    graph, (op,) = graph_of(log, "a")

    class Uses(ah.SessionRunHook):
        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            log.append(f"set up {(await session.run(op)).name}")

        async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs:
            return ah.SessionRunArgs(op)

        async def after_run(
            self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
        ) -> None:
            log.append(f"got {run_values.results.name}")

        async def end(self, session: ah.Session) -> None:
            log.append(f"end with {(await session.run(op)).name}")

    async with ah.MonitoredSession(graph, [Uses()]) as session:
        await session.run([])
    assert log == ["open a", "set up a", "got a", "end with a", "close a"]


async def test_resource_sees_no_error_of_a_run() -> None:
    """A resource is told of what ends its generation, not of errors that runs have raised."""
    seen: list[type[BaseException] | None] = []

    class Watches(Pool):
        async def __aexit__(self, exc_type: Any, exc: Any, traceback: Any) -> None:
            seen.append(exc_type)

    async def fails() -> None:
        raise ValueError("fails")

    with ah.Graph().as_default() as graph:
        ah.resource(Watches, [], "a")
    async with ah.MonitoredSession(graph) as session:
        with pytest.raises(ValueError, match="fails"):
            await session.run(fails)
    assert seen == [None]


def test_names_of_resources() -> None:
    """A resource is named after its factory unless it is given a name."""
    with ah.Graph().as_default() as graph:
        ah.resource(Pool, [], "a")
        ah.resource(Pool, [], "b", name="mine")
    assert [op.name for op in graph.get_operations()] == ["Pool", "mine"]


async def test_factory_is_called_for_each_session_only() -> None:
    """Making the op calls nothing; each session calls the factory once."""
    calls: list[str] = []

    def make(log: list[str]) -> Pool:
        calls.append("made")
        return Pool(log, "a")

    with ah.Graph().as_default() as graph:
        op = ah.resource(make, [])
    assert calls == []
    for _ in range(2):
        async with ah.Session(graph) as session:
            await session.run([op])
            await session.run([op])
    assert calls == ["made", "made"]


async def test_factory_that_fails_is_an_error_of_entering() -> None:
    """An error of the factory itself leaves, and what was open is closed."""
    log: list[str] = []

    def fails() -> Any:
        raise ValueError("factory")

    with ah.Graph().as_default() as graph:
        ah.resource(Pool, log, "a")
        ah.resource(fails)
    with pytest.raises(ValueError, match="factory"):
        async with ah.MonitoredSession(graph):
            pass
    assert log == ["open a", "close a"]


class Leaves:
    """A resource whose exit raises what it is told to, or else what it gets."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, exc_type: Any, exc: BaseException | None, traceback: Any) -> None:
        if self.error is not None or exc is not None:
            raise self.error or exc  # type: ignore[misc]


async def open_with(*errors: BaseException | None) -> None:
    """Enters a session with resources, of which the last one refuses to open."""

    def refuses() -> Any:
        raise OSError("refused")

    with ah.Graph().as_default() as graph:
        for error in errors:
            ah.resource(Leaves, error)
        ah.resource(refuses)
    async with ah.Session(graph):
        pass


async def test_interrupt_in_closing_wins_over_what_failed_to_open() -> None:
    """A KeyboardInterrupt while closing leaves instead of the error of opening, which is noted."""
    with pytest.raises(KeyboardInterrupt) as caught:
        await open_with(KeyboardInterrupt(), ValueError("closing"))
    assert caught.value.__notes__ == [
        "also raised: OSError: refused",
        "also raised: ValueError: closing",
    ]
    assert repr(caught.value.__cause__) == "OSError('refused')"


async def test_error_that_a_resource_lets_through_is_no_second_one() -> None:
    """A resource that raises again what it was told of adds nothing."""
    with pytest.raises(OSError, match="refused") as caught:
        await open_with(None, None)
    assert caught.value.__notes__ == ["raised by resource 'refuses'"]
