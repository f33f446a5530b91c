"""FinalOpsHook: evaluated once, at a clean end."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import asynchooks as ah


def counting_graph() -> tuple[ah.Graph, ah.Op[int], ah.Variable[int]]:
    """Returns a graph with a variable, and the op that adds one to it."""
    with ah.Graph().as_default() as graph:
        total = ah.Variable(0, "total")
        return graph, total.assign_add(1), total


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda total: total, 2),
        (lambda total: "total", 2),
        (lambda total: {"t": [total, ("total",)]}, {"t": [2, (2,)]}),
        (lambda total: [], []),
        (lambda total: None, None),
    ],
)
async def test_values_have_the_nesting_of_the_ops(make: Any, expected: Any) -> None:
    """The values are there after the block, with what the last run has committed."""
    graph, add, total = counting_graph()
    hook = ah.FinalOpsHook(make(total))
    async with ah.MonitoredSession(graph, [hook]) as session:
        await session.run(add)
        await session.run(add)
        assert hook.final_ops_values is None
    assert hook.final_ops_values == expected


async def test_feeds_are_those_of_the_hook() -> None:
    """The final ops are evaluated with the hook's own feeds, by op or name."""
    with ah.Graph().as_default() as graph:
        p, q = ah.placeholder("p"), ah.placeholder("q")
    hook = ah.FinalOpsHook([p, q], final_ops_feed_dict={p: 1, "q": 2})
    async with ah.MonitoredSession(graph, [hook]):
        pass
    assert hook.final_ops_values == [1, 2]


async def test_final_ops_are_awaited() -> None:
    """An async op, or a callable, is awaited before the session is closed."""
    log: list[str] = []

    async def summary() -> str:
        await anyio.lowlevel.checkpoint()
        log.append("evaluated")
        return "summary"

    class Last(ah.SessionRunHook):
        async def close(self, session_end: ah.SessionEnd) -> None:
            log.append("closed")

    hook = ah.FinalOpsHook(summary)
    async with ah.MonitoredSession(ah.Graph(), [hook, Last()]):
        pass
    assert (hook.final_ops_values, log) == ("summary", ["evaluated", "closed"])


@pytest.mark.parametrize("end", ["stop", "input", "close", "nothing"])
async def test_every_clean_end_evaluates(end: str) -> None:
    """A stop, the end of the input, close() and the end of the block are all clean."""
    graph, add, total = counting_graph()
    hook = ah.FinalOpsHook(total)
    async with ah.MonitoredSession(graph, [hook]) as session:
        await session.run(add)
        if end == "stop":
            session.request_stop()
        if end == "close":
            await session.close()
        if end == "input":
            raise ah.OutOfRangeError
    assert hook.final_ops_values == 1


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt("x")])
async def test_other_ends_do_not(error: BaseException) -> None:
    """After an error nothing is evaluated."""
    graph, _, total = counting_graph()
    hook = ah.FinalOpsHook(total)
    with pytest.raises(type(error), match="x"):
        async with ah.MonitoredSession(graph, [hook]):
            raise error
    assert hook.final_ops_values is None


async def test_hook_that_is_used_again_starts_anew() -> None:
    """The values of an earlier session are forgotten when the next one begins."""
    graph, add, total = counting_graph()
    hook = ah.FinalOpsHook(total)
    async with ah.MonitoredSession(graph, [hook]) as session:
        await session.run(add)
    assert hook.final_ops_values == 1
    with pytest.raises(ValueError, match="x"):
        async with ah.MonitoredSession(graph, [hook]):
            assert hook.final_ops_values is None
            raise ValueError("x")
    assert hook.final_ops_values is None


async def test_error_of_final_ops_leaves_the_session() -> None:
    """What evaluating raises leaves, the end of the input too, and the values stay None."""
    with ah.Graph().as_default() as graph:
        item = ah.from_iterable([1]).get_next()
    hook = ah.FinalOpsHook(item)
    with pytest.raises(ah.OutOfRangeError, match="has no more items") as caught:
        async with ah.MonitoredSession(graph, [hook]) as session:
            await session.run(item)
    assert hook.final_ops_values is None
    assert "raised by FinalOpsHook.end (hooks[0])" in caught.value.__notes__


async def test_final_ops_are_seen_by_no_hook() -> None:
    """The final evaluation is a run on the raw session: it does not count, and no hook sees it."""
    graph, _, _ = counting_graph()
    step = ah.get_or_create_global_step(graph)
    hook = ah.FinalOpsHook(step)
    async with ah.MonitoredSession(graph, [hook]) as session:
        await session.run([])
        await session.run([])
    assert hook.final_ops_values == 2
