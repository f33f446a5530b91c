"""StepCounterHook: steps per second."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
import tenacity

import asynchooks as ah
from tests.hooks.clocks import Clock
from tests.hooks.conftest import Lines
from tests.hooks.writers import Makes, Writer


def stepping_graph(by: int = 1) -> tuple[ah.Graph, ah.Op[int]]:
    """Returns a graph and an op that makes so many steps."""
    with ah.Graph().as_default() as graph:
        return graph, ah.get_or_create_global_step().assign_add(by)


async def rates(
    arguments: dict[str, Any], *durations: float, by: int = 1
) -> list[tuple[float, int]]:
    """Makes a run of each duration; returns the rates that are written, with their steps."""
    graph, train = stepping_graph(by)
    clock, writer = Clock(), Writer()
    hook = ah.StepCounterHook(**arguments, summary_writer=writer, clock=clock)
    async with ah.MonitoredSession(graph, [hook]) as session:
        for seconds in durations:
            clock.now += seconds
            await session.run(train)
    assert writer.calls.pop() == ("flush",)
    assert {tag for tag, _, _ in writer.calls} <= {"global_step/sec"}
    return [(value, step) for _, value, step in writer.calls]


@pytest.mark.parametrize(
    ("arguments", "by", "expected"),
    [
        ({"every_n_steps": 1}, 1, [(2.0, 2), (2.0, 3), (2.0, 4), (2.0, 5), (2.0, 6), (2.0, 7)]),
        ({"every_n_steps": 3}, 1, [(2.0, 4), (2.0, 7)]),
        ({"every_n_steps": None, "every_n_secs": 1.25}, 1, [(2.0, 4), (2.0, 7)]),
        ({"every_n_steps": 6}, 4, [(8.0, 16), (8.0, 28)]),
        ({}, 1, []),
    ],
)
async def test_rate_is_told_when_due(
    arguments: dict[str, Any], by: int, expected: list[tuple[float, int]]
) -> None:
    """The first run only starts the count; a run that makes several steps counts as such."""
    assert await rates(arguments, *[0.5] * 7, by=by) == expected


async def test_no_rate_while_the_clock_stands_still() -> None:
    """Steps that took no time by the clock count for the next rate, which is finite."""
    assert await rates({"every_n_steps": 1}, 0, 0, 0, 0.5, 0.5) == [(6.0, 4), (2.0, 5)]


async def test_no_rate_while_the_clock_is_set_back() -> None:
    """A clock that goes back gives no negative rate."""
    assert await rates({"every_n_steps": 1}, 0, -1, 1.5) == [(4.0, 3)]


async def test_step_that_goes_back_starts_the_count_anew() -> None:
    """Where an older step is restored, no rate spans the two counts."""
    with ah.Graph().as_default() as graph:
        step = ah.get_or_create_global_step()
        train, restore = step.assign_add(1), step.assign(0)
    clock, writer = Clock(), Writer()
    hook = ah.StepCounterHook(1, summary_writer=writer, clock=clock)
    async with ah.MonitoredSession(graph, [hook]) as session:
        for op in train, train, restore, train:
            clock.now += 0.5
            await session.run(op)
    assert [call[1:] for call in writer.calls] == [(2.0, 2), (2.0, 1), ()]


async def test_rate_is_logged(lines: Lines) -> None:
    """Without a writer the rate goes to the log alone, its parts are fields of the record."""
    graph, train = stepping_graph()
    clock = Clock()
    async with ah.MonitoredSession(graph, [ah.StepCounterHook(1, clock=clock)]) as session:
        for _ in range(2):
            await session.run(train)
            clock.now += 0.08
    assert lines.texts == ["global_step/sec: 12.5"]
    fields = vars(lines.records[0])
    assert (fields["levelname"], fields["global_step"]) == ("INFO", 2)
    assert fields["steps_per_sec"] == pytest.approx(12.5)


async def test_recovery_does_not_start_the_count_anew() -> None:
    """The time that a recovery takes counts, as it does for whoever waits."""
    graph, train = stepping_graph()
    clock, writer = Clock(), Writer()
    lost = [ah.AbortedError("lost")]

    async def work() -> None:
        clock.now += 1
        if lost:
            raise lost.pop()

    hook = ah.StepCounterHook(1, summary_writer=writer, clock=clock)
    recovery = ah.Recovery(wait=tenacity.wait_none())
    async with ah.MonitoredSession(graph, [hook], recovery=recovery) as session:
        await session.run(train)
        await session.run([work, train])
    assert writer.calls == [("global_step/sec", 0.5, 2), ("flush",)]


async def test_runs_that_overlap_are_all_counted() -> None:
    """A rate is of all steps since the last, and a run that was overtaken tells none again."""
    graph, train = stepping_graph()
    clock, writer = Clock(), Writer()
    ended = [anyio.Event() for _ in range(3)]
    hook = ah.StepCounterHook(2, summary_writer=writer, clock=clock)
    async with ah.MonitoredSession(graph, [hook]) as session:
        for _ in range(2):
            await session.run(train)
        async with anyio.create_task_group() as group:
            for event in ended:
                group.start_soon(session.run, [event.wait, train])
            await anyio.wait_all_tasks_blocked()
            for event in ended:
                clock.now += 1
                if event is ended[-1]:
                    await session.run(train)
                event.set()
                await anyio.wait_all_tasks_blocked()
    assert [call[1:] for call in writer.calls] == [(2.0, 3), (1.0, 5), ()]


async def test_hook_is_used_again() -> None:
    """A second session makes a second writer and starts a count of its own."""
    graph, train = stepping_graph()
    clock, make = Clock(), Makes()
    hook = ah.StepCounterHook(2, summary_writer=make, clock=clock)
    for _ in range(2):
        async with ah.MonitoredSession(graph, [hook]) as session:
            for _ in range(3):
                await session.run(train)
                clock.now += 1
    expected = [("global_step/sec", 1.0, 3), ("flush",), ("close",)]
    assert [writer.calls for writer in make.made] == [expected, expected]


async def test_writer_that_the_hook_made_is_closed_after_an_error() -> None:
    """After an error there is no flush; what the hook has made it closes."""
    graph, _ = stepping_graph()
    make = Makes()
    with pytest.raises(ValueError, match="body"):
        async with ah.MonitoredSession(graph, [ah.StepCounterHook(summary_writer=make)]):
            raise ValueError("body")
    assert make.made[0].calls == [("close",)]
    assert threading.get_ident() not in make.made[0].threads


class NoClose:
    """Lacks a method of a writer."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int) -> None:
        return None

    flush = None


async def test_maker_of_no_writer_is_an_error_of_begin() -> None:
    """What a function makes is checked when it is made."""
    hook: ah.SessionRunHook = ah.StepCounterHook(summary_writer=NoClose)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"methods add_scalar, flush and close.* has no flush"):
        async with ah.MonitoredSession(ah.Graph(), [hook]):
            pass


BOTH_NAMES = "StepCounterHook takes exactly one of every_n_secs and every_n_steps"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"every_n_steps": None}, ValueError, BOTH_NAMES),
        ({"every_n_secs": 1}, ValueError, BOTH_NAMES),
        ({"every_n_steps": 0}, ValueError, "every_n_steps is to be a number of steps from 1"),
        ({"summary_writer": 3}, TypeError, "a writer with the methods add_scalar, flush and close"),
        ({"summary_writer": NoClose()}, TypeError, "has no flush"),
        ({"clock": 3}, TypeError, "clock is to be a function"),
    ],
)
def test_bad_arguments_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The message names what is wrong and what was expected."""
    with pytest.raises(error, match=message):
        ah.StepCounterHook(**arguments)
