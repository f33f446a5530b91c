"""EvaluationHook: evaluations while the session goes on."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest
import tenacity

import asynchooks as ah
from tests.hooks.clocks import Clock
from tests.hooks.conftest import Lines


class Model:
    """A graph in which each run adds one to `total`, and an evaluation doubles it."""

    def __init__(self) -> None:
        with ah.Graph().as_default() as self.graph:
            self.total = ah.Variable(0, name="total")
            self.train = self.total.assign_add(1)
            self.double = ah.op(lambda total: 2 * total, name="double")(self.total)
            self.scaled = ah.op(lambda total, by: by * total)(self.total, ah.placeholder("by"))


async def trained(model: Model, runs: int, *hooks: ah.SessionRunHook, clock: Any = None) -> None:
    """Makes runs of half a second each with the hooks."""
    async with ah.MonitoredSession(model.graph, hooks) as session:
        for _ in range(runs):
            if clock is not None:
                clock.now += 0.5
            await session.run(model.train)


@pytest.mark.parametrize(
    ("period", "at_end", "expected"),
    [
        ({"every_n_steps": 3}, True, [(3, 6), (6, 12), (7, 14)]),
        ({"every_n_steps": 3}, False, [(3, 6), (6, 12)]),
        ({"every_n_steps": 7}, True, [(7, 14)]),
        ({"every_n_steps": 100}, True, [(7, 14)]),
        ({"every_n_steps": 100}, False, []),
        ({"every_n_secs": 2}, True, [(4, 8), (7, 14)]),
    ],
)
async def test_evaluations_are_made_when_due(
    period: dict[str, Any], at_end: bool, expected: list[Any]
) -> None:
    """After so many steps or seconds, and once at the end, on the state after that step."""
    model, clock = Model(), Clock()
    hook = ah.EvaluationHook(model.double, **period, at_end=at_end, clock=clock)
    await trained(model, 7, hook, clock=clock)
    assert hook.results == expected


async def test_step_and_values_have_names() -> None:
    """A result tells its step and the values, in the nesting of the fetches."""
    model = Model()
    hook_with_feeds = ah.EvaluationHook(model.scaled, 2, feed_dict={"by": 10})
    hook = ah.EvaluationHook({"double": "double", "both": [model.total]}, 2)
    await trained(model, 2, hook, hook_with_feeds)
    [result] = hook.results
    assert (result.step, result.values) == (2, {"double": 4, "both": [2]})
    assert hook_with_feeds.results == [(2, 20)]


async def test_function_without_arguments_is_evaluated() -> None:
    """A function that needs no argument is run as `Session.run` runs it."""

    async def answer(value: int = 42) -> int:
        return value

    hook = ah.EvaluationHook(answer, 1)
    await trained(Model(), 1, hook)
    assert hook.results == [(1, 42)]


async def test_function_gets_the_raw_session() -> None:
    """A function of the session makes as many raw runs as it likes; they are no steps."""
    model = Model()

    async def mean(session: ah.Session) -> float:
        batches = [await session.run(model.scaled, {"by": by}) for by in (1, 2, 3)]
        return sum(batches) / len(batches)

    hook = ah.EvaluationHook(mean, 2)
    await trained(model, 4, hook)
    assert hook.results == [(2, 4.0), (4, 8.0)]


async def test_evaluation_is_logged(lines: Lines) -> None:
    """A line tells name, step and values; they are attributes of the record, too."""
    model = Model()
    hooks = [
        ah.EvaluationHook({"double": "double", "total": "total"}, 2, name="test"),
        ah.EvaluationHook({"third": lambda: 1 / 3}, 2),
        ah.EvaluationHook("double", 2),
    ]
    await trained(model, 2, *hooks)
    assert lines.texts == [
        "test at step 2: double = 4, total = 2",
        "evaluation at step 2: third = 0.333333",
        "evaluation at step 2: 4",
    ]
    record = vars(lines.records[0])
    assert {key: record[key] for key in ("levelno", "evaluation", "global_step", "values")} == {
        "levelno": logging.INFO,
        "evaluation": "test",
        "global_step": 2,
        "values": {"double": 4, "total": 2},
    }


async def test_hook_is_used_again() -> None:
    """A second session starts with no results and counts from its own first step."""
    model = Model()
    with model.graph.as_default():
        ah.get_or_create_global_step().initial_value = 10
    hook = ah.EvaluationHook("total", 2, at_end=False)
    assert (hook.name, list(hook.results), hook.active) == ("evaluation", [], False)
    for _ in range(2):
        async with ah.MonitoredSession(model.graph, [hook]) as session:
            assert (list(hook.results), hook.active) == ([], True)
            for _ in range(3):
                await session.run(model.train)
        assert (hook.results, hook.active) == ([(12, 2)], False)


async def test_begin_adds_no_more_than_the_global_step() -> None:
    """A graph without a global step gets one, once, however often it is used."""
    graph = ah.Graph()
    hook = ah.EvaluationHook([], 2)
    for _ in range(2):
        async with ah.MonitoredSession(graph, [hook]):
            pass
    assert [op.name for op in graph.get_operations()] == ["global_step"]


async def test_results_survive_a_recovery() -> None:
    """Losing the session neither forgets results nor moves the next evaluation."""
    model = Model()
    planned = [None, ah.AbortedError("lost"), None, None, ah.AbortedError("lost"), None]

    async def work() -> None:
        error = planned.pop(0)
        if error is not None:
            raise error

    hook = ah.EvaluationHook("total", 2, at_end=False)
    recovery = ah.Recovery(wait=tenacity.wait_none())
    async with ah.MonitoredSession(model.graph, [hook], recovery=recovery) as session:
        for _ in range(4):
            await session.run([model.train, work])
    assert hook.results == [(2, 2), (4, 4)]


async def test_evaluation_that_is_lost_is_made_after_the_next_run() -> None:
    """A recoverable error of an evaluation leaves its run, and the evaluation stays due."""
    lost = [ah.AbortedError("lost")]

    async def evaluate() -> str:
        if lost:
            raise lost.pop()
        return "done"

    hook = ah.EvaluationHook(evaluate, 2, at_end=False)
    recovery = ah.Recovery(wait=tenacity.wait_none())
    async with ah.MonitoredSession(ah.Graph(), [hook], recovery=recovery) as session:
        await session.run([])
        with pytest.raises(ah.AbortedError, match="lost"):
            await session.run([])
        await session.run([])
        await session.run([])
    assert hook.results == [(3, "done")]


async def test_evaluation_that_is_cancelled_is_made_after_the_next_run() -> None:
    """Cancelling the run that evaluates cancels the evaluation, which stays due."""
    waits = [anyio.Event()]

    async def evaluate() -> str:
        if waits:
            await waits.pop().wait()
        return "done"

    hook = ah.EvaluationHook(evaluate, 2, at_end=False)
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        await session.run([])
        async with anyio.create_task_group() as group:
            group.start_soon(session.run, [])
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        assert list(hook.results) == []
        await session.run([])
    assert hook.results == [(3, "done")]


async def test_runs_that_overlap_evaluate_once() -> None:
    """While an evaluation is being made, other runs end without a second one."""
    calls: list[int] = []
    done = anyio.Event()

    async def evaluate() -> int:
        calls.append(1)
        if len(calls) == 1:
            await done.wait()
        return len(calls)

    hook = ah.EvaluationHook(evaluate, 1, at_end=False)
    async with (
        ah.MonitoredSession(ah.Graph(), [hook]) as session,
        anyio.create_task_group() as group,
    ):
        group.start_soon(session.run, [])
        await anyio.wait_all_tasks_blocked()
        await session.run([])
        assert calls == [1]
        done.set()
    assert hook.results == [(1, 1)]


async def test_run_that_makes_no_step_is_not_evaluated() -> None:
    """Where the graph keeps the global step as it is, nothing is due; the end is evaluated."""
    with ah.Graph().as_default() as graph:
        stays = ah.get_or_create_global_step().assign_add(0)
    hook = ah.EvaluationHook("global_step", 1)
    async with ah.MonitoredSession(graph, [hook]) as session:
        await session.run(stays)
        assert list(hook.results) == []
    assert hook.results == [(0, 0)]


async def test_unclean_end_evaluates_nothing() -> None:
    """An error of the block leaves no evaluation behind it."""
    hook = ah.EvaluationHook([], 2)
    with pytest.raises(ValueError, match="body"):
        async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
            await session.run([])
            raise ValueError("body")
    assert (list(hook.results), hook.active) == ([], False)


@pytest.mark.parametrize("steps", [1, 100])
async def test_end_of_the_evaluations_input_is_no_end_of_the_session(steps: int) -> None:
    """Data that is used up does not end the session quietly, after a run or at the end."""
    with ah.Graph().as_default() as graph:
        item = ah.from_iterable([]).get_next()
    with pytest.raises(
        RuntimeError, match="tests met the end of its input; give it data"
    ) as caught:
        async with ah.MonitoredSession(graph, [ah.EvaluationHook(item, steps, name="tests")]) as it:
            await it.run([])
    assert isinstance(caught.value.__cause__, ah.OutOfRangeError)


async def test_error_of_an_evaluation_is_the_runs() -> None:
    """What the evaluation raises leaves the run, with the hook's name."""

    async def fail(session: ah.Session) -> None:
        raise ValueError("bad data")

    with pytest.raises(ValueError, match="bad data") as caught:
        async with ah.MonitoredSession(ah.Graph(), [ah.EvaluationHook(fail, 1)]) as session:
            await session.run([])
    assert caught.value.__notes__ == ["raised by EvaluationHook.after_run (hooks[0])"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"evaluate": "lost"}, "no op named 'lost'"), ({"feed_dict": {"who": 1}}, "op named 'who'")],
)
async def test_unknown_name_is_an_error_of_begin(arguments: dict[str, Any], message: str) -> None:
    """A name that the graph does not have is found before the first run."""
    with pytest.raises(ValueError, match=message):
        async with ah.MonitoredSession(
            Model().graph, [ah.EvaluationHook(**{"evaluate": "total"} | arguments, every_n_steps=1)]
        ):
            pass


async def one(session: ah.Session) -> None:
    """Evaluates nothing."""


def plain(session: ah.Session) -> None:
    """Evaluates nothing, and cannot be awaited."""


async def two(session: ah.Session, more: int) -> None:
    """Wants more than it gets."""


BOTH_NAMES = "EvaluationHook takes exactly one of every_n_secs and every_n_steps"
FUNCTION = "a function to evaluate is to be async and take the raw session, or to take nothing"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"every_n_steps": None}, ValueError, BOTH_NAMES),
        ({"every_n_secs": 1}, ValueError, BOTH_NAMES),
        ({"every_n_steps": 0}, ValueError, "every_n_steps is to be a number of steps from 1"),
        ({"evaluate": None}, TypeError, "evaluate is to be fetches, or an async function"),
        ({"evaluate": plain}, TypeError, FUNCTION),
        ({"evaluate": two}, TypeError, FUNCTION),
        ({"evaluate": one, "feed_dict": {}}, ValueError, "feed_dict is for fetches"),
        ({"name": 3}, TypeError, "the name of an evaluation is to be a string, not 3"),
        ({"name": ""}, ValueError, "the name of an evaluation is empty"),
        ({"clock": 3}, TypeError, "clock is to be a function that tells seconds"),
    ],
)
def test_bad_arguments_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The message names what is wrong and what was expected."""
    with pytest.raises(error, match=message):
        ah.EvaluationHook(**{"evaluate": "loss", "every_n_steps": 1} | arguments)
