"""LoggingTensorHook: values in the log."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import asynchooks as ah
from tests.hooks.clocks import Clock
from tests.hooks.conftest import Lines


def counting_graph() -> tuple[ah.Graph, ah.Op[int]]:
    """Returns a graph and its global step, which counts the runs."""
    with ah.Graph().as_default() as graph:
        return graph, ah.get_or_create_global_step()


async def log(graph: ah.Graph, hook: ah.LoggingTensorHook, runs: int, clock: Clock) -> None:
    """Makes runs of half a second each with the hook."""
    async with ah.MonitoredSession(graph, [hook]) as session:
        for _ in range(runs):
            clock.now += 0.5
            await session.run([])


@pytest.mark.parametrize(
    ("period", "expected"),
    [
        ({"every_n_iter": 3}, ["step = 0", "step = 3 (1.500 sec)", "step = 6 (1.500 sec)"]),
        ({"every_n_secs": 2}, ["step = 0", "step = 4 (2.000 sec)"]),
        ({"at_end": True}, ["step = 7"]),
        (
            {"every_n_iter": 5, "at_end": True},
            ["step = 0", "step = 5 (2.500 sec)", "step = 7 (0.5"],
        ),
    ],
)
async def test_c85_values_are_logged_when_due(
    period: dict[str, Any], expected: list[str], lines: Lines
) -> None:
    """Of 7 runs the first is logged, then each that is far enough from the last; and the end."""
    (graph, step), clock = counting_graph(), Clock()
    await log(graph, ah.LoggingTensorHook({"step": step}, **period, clock=clock), 7, clock)
    assert [text[: len(each)] for text, each in zip(lines.texts, expected, strict=True)] == expected


async def test_c85_end_is_logged_without_any_run(lines: Lines) -> None:
    """With `at_end`, a session without a run logs one line."""
    graph, step = counting_graph()
    await log(graph, ah.LoggingTensorHook([step], at_end=True), 0, Clock())
    assert lines.texts == ["global_step = 0"]


async def test_failed_session_logs_no_end(lines: Lines) -> None:
    """After an error of the body the values are not evaluated again."""
    graph, step = counting_graph()
    with pytest.raises(ValueError, match="body"):
        async with ah.MonitoredSession(graph, [ah.LoggingTensorHook([step], at_end=True)]):
            raise ValueError("body")
    assert lines.texts == []


async def test_record_holds_the_parts_of_the_line(lines: Lines) -> None:
    """The record has level INFO, the values by tag and the seconds since the last line."""
    (graph, step), clock = counting_graph(), Clock()
    hook = ah.LoggingTensorHook({"all": {"step": [step]}}, every_n_iter=1, clock=clock)
    await log(graph, hook, 2, clock)
    shown = [(each.levelname, vars(each)["tensors"]) for each in lines.records]
    assert shown == [("INFO", {"all": {"step": [0]}}), ("INFO", {"all": {"step": [1]}})]
    assert [vars(each)["elapsed_secs"] for each in lines.records] == [None, 0.5]


@pytest.mark.parametrize(
    ("tensors", "expected"),
    [
        ({"b": "x", "a": "y"}, "a = 2, b = 1"),
        (["y", "x"], "y = 2, x = 1"),
    ],
)
async def test_order_of_the_tags(tensors: Any, expected: str, lines: Lines) -> None:
    """Those of a dict are sorted, those of a list stay in its order."""
    with ah.Graph().as_default() as graph:
        ah.constant(1, "x")
        ah.constant(2, "y")
    await log(graph, ah.LoggingTensorHook(tensors, every_n_iter=1), 1, Clock())
    assert lines.texts == [expected]


async def test_formatter_makes_the_line(lines: Lines) -> None:
    """A formatter gets the values by tag, and what it returns is the whole line."""
    graph, step = counting_graph()
    hook = ah.LoggingTensorHook({"s": step}, 1, formatter=lambda values: f"100% of {values}")
    await log(graph, hook, 1, Clock())
    assert lines.texts == ["100% of {'s': 0}"]


async def test_second_session_starts_anew(lines: Lines) -> None:
    """The first run of a second session with the same hook is logged."""
    (graph, step), clock = counting_graph(), Clock()
    hook = ah.LoggingTensorHook({"s": step}, every_n_iter=10, clock=clock)
    await log(graph, hook, 2, clock)
    await log(graph, hook, 2, clock)
    assert lines.texts == ["s = 0", "s = 0"]


async def test_values_are_asked_for_only_where_they_are_logged(lines: Lines) -> None:
    """What is logged is evaluated in no other run."""
    calls: list[int] = []
    async with ah.MonitoredSession(
        ah.Graph(), [ah.LoggingTensorHook({"n": lambda: calls.append(1)}, every_n_iter=3)]
    ) as session:
        for _ in range(5):
            await session.run([])
    assert (len(calls), lines.texts[0]) == (2, "n = None")


async def test_runs_that_overlap_log_one_line(lines: Lines) -> None:
    """Of runs that were started while a line was due, the first one to end logs it."""
    graph, step = counting_graph()
    ended = [anyio.Event() for _ in range(3)]
    clock = Clock()
    hook = ah.LoggingTensorHook({"s": step}, every_n_iter=4, clock=clock)
    async with (
        ah.MonitoredSession(graph, [hook]) as session,
        anyio.create_task_group() as group,
    ):
        for event in ended:
            group.start_soon(session.run, event.wait)
        await anyio.wait_all_tasks_blocked()
        for event in ended:
            event.set()
            await anyio.wait_all_tasks_blocked()
    assert lines.texts == ["s = 0"]


async def test_unknown_name_is_an_error_of_begin() -> None:
    """A name that the graph does not have is refused before the first run."""
    with pytest.raises(ValueError, match="no op named 'loss'") as caught:
        async with ah.MonitoredSession(ah.Graph(), [ah.LoggingTensorHook(["loss"], 1)]):
            pass
    assert caught.value.__notes__ == ["raised by LoggingTensorHook.begin (hooks[0])"]


BOTH_NAMES = "LoggingTensorHook takes exactly one of every_n_secs and every_n_iter"


@pytest.mark.parametrize(
    ("tensors", "arguments", "error", "message"),
    [
        (["x"], {}, ValueError, BOTH_NAMES),
        (["x"], {"every_n_iter": 1, "every_n_secs": 1}, ValueError, BOTH_NAMES),
        (
            ["x"],
            {"every_n_iter": 1, "every_n_secs": 1, "at_end": True},
            ValueError,
            BOTH_NAMES,
        ),
        (["x"], {"every_n_iter": 0}, ValueError, "every_n_iter is to be a number of steps from 1"),
        (["x"], {"every_n_secs": "1"}, TypeError, "every_n_secs is to be a number of seconds"),
        (["x"], {"at_end": True, "formatter": 3}, TypeError, "formatter is to be a function"),
        ([], {"at_end": True}, ValueError, "tensors is empty"),
        ("x", {"at_end": True}, TypeError, "tensors is to be a dict of ops by tag, or a list"),
        ({1: "x"}, {"at_end": True}, TypeError, "a tag in tensors is to be a string, not 1"),
        ([["x"]], {"at_end": True}, TypeError, "a list of tensors is to hold ops and names"),
    ],
)
def test_bad_arguments_are_refused(
    tensors: Any, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The message names what is wrong and what was expected."""
    with pytest.raises(error, match=message):
        ah.LoggingTensorHook(tensors, **arguments)
