"""What was asked for before is compiled once, and never taken for something else."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import pytest

import asynchooks as ah
from asynchooks import _requests
from asynchooks._plan import Plan, compile_plan


class Pair(NamedTuple):
    """A named tuple, which is equal to a tuple."""

    left: Any
    right: Any


def graph_of_three() -> tuple[ah.Graph, list[ah.Op[str]]]:
    """Returns a graph with the constants x, y and z."""
    with ah.Graph().as_default() as graph:
        return graph, [ah.constant(name, name) for name in "xyz"]


def shapes(x: Any, y: Any) -> list[Any]:
    """Returns fetches that are easily taken for one another."""
    return [
        x,
        (x,),
        (x, ()),
        ((x,), ()),
        ((x, ()), ()),
        (x, (y,)),
        ((x,), (y,)),
        (x, y),
        Pair(x, y),
        Pair(x, (y,)),
        [x, y],
        (Pair(x, y), ()),
        (),
        ((), ()),
        ([], ()),
    ]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("first", ["raw", "monitored"])
async def test_similar_fetches_are_told_apart(first: str, order: int) -> None:
    """Whatever was fetched before, with hooks or without, each nesting is given back exactly."""
    graph, (x, y, _) = graph_of_three()
    async with ah.MonitoredSession(graph) as session:
        runs = [session.session.run, session.run][:: 1 if first == "raw" else -1]
        asked = [*zip(shapes(x, y), shapes("x", "y"), strict=True)][::order]
        for run, (fetches, expected) in itertools.product(runs, asked):
            got = await run(fetches)
            assert repr(got) == repr(expected)


async def test_names_and_ops_are_told_apart_from_feeds() -> None:
    """The same fetches with and without feeds, by op and by name, are not taken for another."""
    graph, (x, y, z) = graph_of_three()
    async with ah.Session(graph) as session:
        assert await session.run((x, (y,))) == ("x", ("y",))
        assert await session.run(x, {y: 1}) == "x"
        assert await session.run((x, "y"), {y: 1}) == ("x", 1)
        assert await session.run(("x", y), {"y": 2}) == ("x", 2)
        assert await session.run(("x", y, z)) == ("x", "y", "z")
        assert await session.run(("x", y, z), {z: 3, x: 1}) == (1, "y", 3)
        assert await session.run(("x", y, z), {x: 1, z: 3}) == (1, "y", 3)


async def test_fetches_that_are_changed_are_compiled_again() -> None:
    """A list that the caller changes between two runs gives what is in it then."""
    graph, (x, y, z) = graph_of_three()
    fetches: list[Any] = [x]
    asked = {"a": fetches}
    async with ah.MonitoredSession(graph) as session:
        assert await session.run(asked) == {"a": ["x"]}
        fetches.append((y,))
        assert await session.run(asked) == {"a": ["x", ("y",)]}
        fetches[:] = [z]
        assert await session.run(asked) == {"a": ["z"]}


async def test_results_of_two_runs_are_two_objects() -> None:
    """What one run returned is not touched by the next one."""
    graph, (x, *_) = graph_of_three()
    async with ah.MonitoredSession(graph) as session:
        first, second = [await session.run(([x],)) for _ in range(2)]
    first[0].append("more")
    assert second == (["x"],)


async def test_thousands_of_different_fetches_are_served() -> None:
    """A session that is asked for ever new combinations keeps answering, also the first again."""
    with ah.Graph().as_default() as graph:
        ops = [ah.constant(number) for number in range(40)]
    async with ah.MonitoredSession(graph) as session:
        for a, b in itertools.product(range(40), repeat=2):
            assert await session.run((ops[a], ops[b])) == (a, b)
        assert await session.run((ops[0], ops[0])) == (0, 0)


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Returns what was planned, by the names of the ops that were wanted."""
    planned: list[list[str]] = []

    def recording(fetched: tuple[ah.Op[Any], ...], fed: tuple[ah.Op[Any], ...]) -> Plan:
        planned.append([op.name for op in fetched])
        return compile_plan(fetched, fed)

    monkeypatch.setattr(_requests, "compile_plan", recording)
    return planned


async def test_fetches_are_planned_once(plans: list[list[str]]) -> None:
    """The same ops are planned once, however they are nested and however often they are run."""
    graph, (x, y, z) = graph_of_three()
    for _ in range(2):
        async with ah.MonitoredSession(graph) as session:
            for fetches in ((x, y), [x, y], {"a": x, "b": [y]}, "z", z, (x, y), [x, y]):
                await session.run(fetches)
    assert plans == [["x", "y"], ["z"]]


async def test_what_hooks_ask_for_is_planned_once(plans: list[list[str]]) -> None:
    """A run with hooks has one plan for what the caller, the hooks and the step ask together."""
    graph, (x, y, z) = graph_of_three()
    with graph.as_default():
        ah.get_or_create_global_step()

    class Asking(ah.SessionRunHook):
        async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs:
            return ah.SessionRunArgs([y, z])

    async with ah.MonitoredSession(graph, [Asking(), Asking()]) as session:
        for _ in range(3):
            assert await session.run(x) == "x"
    assert plans == [["x", "global_step/increment", "y", "z"]]
