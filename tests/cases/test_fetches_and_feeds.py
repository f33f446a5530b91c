"""C51, C52: what several parties of one run ask for and feed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import asynchooks as ah


class Asks(ah.SessionRunHook):
    """Asks for fetches in each run and keeps what it gets."""

    def __init__(self, fetches: Any) -> None:
        self.fetches = fetches
        self.got: list[Any] = []

    async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs:
        return ah.SessionRunArgs(self.fetches)

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        self.got.append(run_values.results)


class AsksNothing(Asks):
    """Returns None from before_run and keeps what it gets."""

    async def before_run(  # type: ignore[override]
        self, run_context: ah.SessionRunContext
    ) -> None:
        return None


class Pair(NamedTuple):
    """A named tuple."""

    left: Any
    right: Any


@dataclass
class Record:
    """A dataclass."""

    values: Any
    rest: Any


def counted() -> tuple[ah.Graph, ah.Op[str], ah.Op[str], dict[str, int]]:
    """Returns a graph with ops x and y, and how often each was evaluated."""
    calls = {"X": 0, "Y": 0}

    async def value(name: str) -> str:
        calls[name] += 1
        return name

    with ah.Graph().as_default() as graph:
        return graph, ah.op(value)("X"), ah.op(value)("Y"), calls


SHAPES: list[Callable[[Any, Any], Any]] = [
    lambda x, y: {"a": x, "l": [y, (x,)]},
    lambda x, y: [x, x, y],
    lambda x, y: Pair(x, {"y": y}),
    lambda x, y: Record([x, y], (Pair(y, x), {"x": {"x": x}})),
    lambda x, y: [(), {"e": []}, (x, y)],
]


@pytest.mark.parametrize("shape", SHAPES)
async def test_c51_structures_and_single_evaluation(shape: Callable[[Any, Any], Any]) -> None:
    """Each party gets the nesting it asked for, and each op is evaluated once."""
    graph, x, y, calls = counted()
    asks, nothing = Asks(shape(x, y)), AsksNothing(None)
    async with ah.MonitoredSession(graph, [asks, nothing]) as session:
        assert await session.run(y) == "Y"
    assert asks.got == [shape("X", "Y")]
    assert type(asks.got[0]) is type(shape("X", "Y"))
    assert nothing.got == [None]
    assert calls == {"X": 1, "Y": 1}


@pytest.mark.parametrize("empty", [[], (), {}])
async def test_c51_nothing_asked_is_nothing_got(empty: Any) -> None:
    """An empty structure gives the same, and a hook with args but no fetches gets None."""
    graph, x, _, calls = counted()
    hooks = [Asks(empty), Asks(None)]
    async with ah.MonitoredSession(graph, hooks) as session:
        assert await session.run(x) == "X"
    assert [hook.got for hook in hooks] == [[empty], [None]]
    assert calls == {"X": 1, "Y": 0}


async def test_c51_caller_asks_for_a_structure() -> None:
    """The caller gets the nesting it asked for, whatever hooks add, by op or by name."""
    graph, x, y, calls = counted()
    hooks = [Asks(x.name), Asks((y,))]
    async with ah.MonitoredSession(graph, hooks) as session:
        assert await session.run({"x": [x], "y": y.name}) == {"x": ["X"], "y": "Y"}
    assert [hook.got for hook in hooks] == [["X"], [("Y",)]]
    assert calls == {"X": 1, "Y": 1}


class A(ah.SessionRunHook):
    """Feeds what it is told to feed."""

    def __init__(self, feeds: Mapping[Any, Any]) -> None:
        self.feeds = feeds

    async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs:
        return ah.SessionRunArgs(feed_dict=dict(self.feeds))


class B(A):
    """Another hook that feeds."""


def fed() -> tuple[ah.Graph, ah.Op[Any], ah.Op[Any], list[Any]]:
    """Returns a graph with a placeholder p and an op on it that notes what it was fed."""
    seen: list[Any] = []

    @ah.op
    async def see(p: Any) -> Any:
        seen.append(p)
        return p

    with ah.Graph().as_default() as graph:
        p = ah.placeholder("p")
        return graph, p, see(p), seen


@pytest.mark.parametrize("value", [1, 2], ids=["equal", "different"])
@pytest.mark.parametrize("by_name", [False, True])
async def test_c52_two_hooks_feed_one_op(value: int, by_name: bool) -> None:
    """Two hooks that feed the same op are both named before any op runs."""
    graph, p, x, seen = fed()
    hooks = [A({p: 1}), B({p.name if by_name else p: value})]
    async with ah.MonitoredSession(graph, hooks) as session:
        with pytest.raises(ah.FeedConflictError) as caught:
            await session.run(x)
        assert seen == []
        hooks[1].feeds = {}
        assert await session.run(x) == 1
    assert (caught.value.op_name, caught.value.parties) == ("p", ("A (hooks[0])", "B (hooks[1])"))
    assert all(word in str(caught.value) for word in ["'p'", "A (hooks[0])", "B (hooks[1])"])


@pytest.mark.parametrize("value", [1, 2], ids=["equal", "different"])
async def test_c52_hook_and_caller_feed_one_op(value: int) -> None:
    """A hook and the caller that feed the same op are both named, also with equal values."""
    graph, p, x, seen = fed()
    async with ah.MonitoredSession(graph, [A({p: 1})]) as session:
        with pytest.raises(ah.FeedConflictError) as caught:
            await session.run(x, feed_dict={p: value})
        assert seen == []
        assert await session.run(x) == 1
    assert caught.value.op_name == "p"
    assert set(caught.value.parties) == {"A (hooks[0])", "the caller"}
    assert all(word in str(caught.value) for word in ["'p'", "A (hooks[0])", "the caller"])


async def test_c52_conflict_is_told_to_the_hooks_of_the_run() -> None:
    """A feed conflict is an error of the run: hooks that prepared it are told."""
    graph, p, x, _ = fed()

    class Told(A):
        errors: list[BaseException]

        async def on_run_error(
            self, run_context: ah.SessionRunContext, error: BaseException
        ) -> None:
            self.errors = [error]

    hook = Told({p: 1})
    async with ah.MonitoredSession(graph, [hook]) as session:
        with pytest.raises(ah.FeedConflictError) as caught:
            await session.run(x, feed_dict={p: 2})
    assert hook.errors == [caught.value]


async def test_c52_feeds_of_several_parties_add_up() -> None:
    """Feeds of different ops by the caller and two hooks go together."""
    with ah.Graph().as_default() as graph:
        p, q, r = (ah.placeholder(name) for name in "pqr")
    async with ah.MonitoredSession(graph, [A({p: 1}), B({"q": 2})]) as session:
        assert await session.run([p, q, r], feed_dict={r: 3}) == [1, 2, 3]
