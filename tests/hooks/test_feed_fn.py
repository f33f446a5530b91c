"""FeedFnHook: feeds from a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
import tenacity

import asynchooks as ah


def graph_of_p() -> tuple[ah.Graph, ah.Op[Any]]:
    """Returns a graph with a placeholder."""
    with ah.Graph().as_default() as graph:
        return graph, ah.placeholder("p")


class Feeds:
    """Gives the numbers from 1 to 3 as feeds of p, and then raises `end`."""

    def __init__(self, end: type[Exception] = StopIteration) -> None:
        self.calls = 0
        self.end = end

    def plain(self) -> dict[Any, Any]:
        self.calls += 1
        if self.calls > 3:
            raise self.end
        return {"p": self.calls}

    async def later(self) -> dict[Any, Any]:
        await anyio.lowlevel.checkpoint()
        return self.plain()

    def awaitable(self) -> Any:
        return self.later()


@pytest.mark.parametrize("kind", ["plain", "later", "awaitable"])
async def test_each_run_gets_its_feeds(kind: str) -> None:
    """A plain or async function is asked for the feeds of each run."""
    graph, p = graph_of_p()
    async with ah.MonitoredSession(graph, [ah.FeedFnHook(getattr(Feeds(), kind))]) as session:
        assert [await session.run(p) for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("kind", "end"),
    [
        ("plain", StopIteration),
        ("plain", ah.OutOfRangeError),
        ("later", StopAsyncIteration),
        ("awaitable", anyio.EndOfStream),
    ],
)
async def test_end_of_the_function_ends_the_loop(kind: str, end: type[Exception]) -> None:
    """Each kind of end leaves the block normally, after as many runs as there were feeds."""
    graph, p = graph_of_p()
    feeds = Feeds(end)
    got: list[int] = []
    final = ah.FinalOpsHook(lambda: "ended")
    hooks = [ah.FeedFnHook(getattr(feeds, kind)), final]
    async with ah.MonitoredSession(graph, hooks) as session:
        while True:
            got.append(await session.run(p))
    assert (got, final.final_ops_values) == ([1, 2, 3], "ended")


async def test_repeated_run_gets_the_next_feeds() -> None:
    """The function is asked for each attempt."""
    graph, p = graph_of_p()
    lost = [ah.AbortedError("lost")]
    seen: list[int] = []

    async def use(value: int) -> int:
        seen.append(value)
        if lost:
            raise lost.pop()
        return value

    with graph.as_default():
        x = ah.op(use)(p)
    recovery = ah.Recovery(wait=tenacity.wait_none())
    hooks = [ah.FeedFnHook(Feeds().plain)]
    async with ah.MonitoredSession(graph, hooks, recovery=recovery) as session:
        assert await session.run(x) == 2
    assert seen == [1, 2]


@pytest.mark.parametrize("feeds", [dict, lambda: None])
async def test_function_may_feed_nothing(feeds: Callable[[], Any]) -> None:
    """An empty dict and None are no feeds."""
    async with ah.MonitoredSession(ah.Graph(), [ah.FeedFnHook(feeds)]) as session:
        assert await session.run([]) == []


async def test_error_of_the_function_is_the_runs() -> None:
    """Another error leaves the run, with the hook's name."""

    def fails() -> dict[Any, Any]:
        raise ValueError("no feeds")

    async with ah.MonitoredSession(ah.Graph(), [ah.FeedFnHook(fails)]) as session:
        with pytest.raises(ValueError, match="no feeds") as caught:
            await session.run([])
    assert caught.value.__notes__ == ["raised by FeedFnHook.before_run (hooks[0])"]
