"""SummarySaverHook and scalar_summary: scalars to a writer."""

from __future__ import annotations

import threading
import time
from typing import Any

import anyio
import pytest
import tenacity

import asynchooks as ah
from tests.hooks.clocks import Clock
from tests.hooks.writers import Makes, Writer


class Model:
    """A graph whose global step counts the runs, with two ops of numbers."""

    def __init__(self) -> None:
        with ah.Graph().as_default() as self.graph:
            self.step = ah.get_or_create_global_step()
            self.double = ah.op(lambda step: 2 * step, name="double")(self.step)
            self.half = ah.op(lambda step: step / 2, name="half")(self.step)


async def written(model: Model, runs: int, hook: ah.SessionRunHook, clock: Clock) -> None:
    """Makes runs of half a second each with the hook."""
    async with ah.MonitoredSession(model.graph, [hook]) as session:
        for _ in range(runs):
            clock.now += 0.5
            await session.run([])


@pytest.mark.parametrize(
    ("period", "expected"),
    [
        ({"save_steps": 3}, [("double", 0, 1), ("double", 6, 4), ("double", 12, 7)]),
        ({"save_secs": 2}, [("double", 0, 1), ("double", 8, 5)]),
        ({"save_steps": 100}, [("double", 0, 1)]),
    ],
)
async def test_summaries_are_written_when_due(period: dict[str, Any], expected: list[Any]) -> None:
    """Those of the first run, then those that are due, under the step after their run."""
    model, writer, clock = Model(), Writer(), Clock()
    hook = ah.SummarySaverHook(
        **period, summary_writer=writer, summary_op=model.double, clock=clock
    )
    await written(model, 7, hook, clock)
    assert writer.calls == [*expected, ("flush",)]
    assert threading.get_ident() not in writer.threads


@pytest.mark.parametrize(
    ("summary_op", "tags"),
    [
        ("double", ["double"]),
        (["double", "half"], ["double", "half"]),
        ({"a/double": "double", "half": "half"}, ["a/double", "half"]),
    ],
)
async def test_kinds_of_summary_op(summary_op: Any, tags: list[str]) -> None:
    """A name, a list and a dict say what is written, and under which tags."""
    model, writer = Model(), Writer()
    hook = ah.SummarySaverHook(1, summary_writer=writer, summary_op=summary_op)
    await written(model, 1, hook, Clock())
    assert [call[0] for call in writer.calls] == [*tags, "flush"]


class AddsSummary(ah.SessionRunHook):
    """Adds a summary in `begin`."""

    async def begin(self) -> None:
        ah.scalar_summary("late", ah.get_or_create_global_step())


async def test_summaries_of_the_graph_are_written() -> None:
    """Without `summary_op` those of the graph are, also what hooks add in their `begin`."""
    model, writer = Model(), Writer()
    assert ah.scalar_summary("twice", model.double) is model.double
    ah.scalar_summary("twice", model.double)
    hooks = [ah.SummarySaverHook(1, summary_writer=writer), AddsSummary()]
    for _ in range(2):
        async with ah.MonitoredSession(model.graph, hooks) as session:
            await session.run([])
    assert writer.calls == [("twice", 0, 1), ("late", 0, 1), ("flush",)] * 2


async def test_graph_without_summaries_writes_nothing() -> None:
    """Where nothing is there to be written, the writer is only flushed."""
    model, writer = Model(), Writer()
    await written(model, 2, ah.SummarySaverHook(1, summary_writer=writer), Clock())
    assert writer.calls == [("flush",)]


async def test_summaries_are_evaluated_only_where_they_are_written() -> None:
    """What is not due is not asked for."""
    calls: list[int] = []
    writer = Writer()

    def count() -> int:
        calls.append(1)
        return len(calls)

    hook = ah.SummarySaverHook(3, summary_writer=writer, summary_op={"calls": count})
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        for _ in range(6):
            await session.run([])
    assert writer.calls == [("calls", 1, 1), ("calls", 2, 4), ("flush",)]


async def test_lost_run_is_written_once() -> None:
    """A run that is repeated after a loss is written once."""
    model, writer = Model(), Writer()
    lost = [ah.AbortedError("lost")]

    async def work() -> None:
        if lost:
            raise lost.pop()

    hook = ah.SummarySaverHook(1, summary_writer=writer, summary_op="double")
    recovery = ah.Recovery(wait=tenacity.wait_none())
    async with ah.MonitoredSession(model.graph, [hook], recovery=recovery) as session:
        await session.run(work)
        await session.run([])
    assert writer.calls == [("double", 0, 1), ("double", 2, 2), ("flush",)]


async def test_step_that_goes_back_is_written_again() -> None:
    """Where an older step is restored, writing goes on from there."""
    model, writer = Model(), Writer()
    with model.graph.as_default():
        train, restore = model.step.assign_add(1), model.step.assign(0)
    hook = ah.SummarySaverHook(2, summary_writer=writer, summary_op="global_step")
    async with ah.MonitoredSession(model.graph, [hook]) as session:
        for op in train, train, train, restore, train, train, train, train:
            await session.run(op)
    assert [call[2] for call in writer.calls[:-1]] == [1, 3, 1, 3]


async def test_runs_that_overlap_write_once() -> None:
    """Of runs that were started while a write was due, the first one to end writes."""
    model, writer = Model(), Writer()
    ended = [anyio.Event() for _ in range(3)]
    hook = ah.SummarySaverHook(4, summary_writer=writer, summary_op="double")
    async with (
        ah.MonitoredSession(model.graph, [hook]) as session,
        anyio.create_task_group() as group,
    ):
        for event in ended:
            group.start_soon(session.run, event.wait)
        await anyio.wait_all_tasks_blocked()
        for event in ended:
            event.set()
            await anyio.wait_all_tasks_blocked()
    assert writer.calls == [("double", 0, 1), ("flush",)]


class Slow(Writer):
    """Takes its time, and notes how many calls are under way."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way: list[int] = []
        self.inside = 0

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int) -> None:
        self.inside += 1
        self.under_way.append(self.inside)
        time.sleep(0.001)
        self.inside -= 1


async def test_writer_is_called_by_one_run_at_a_time() -> None:
    """Runs that overlap and are all to be written wait for one another, not for the event loop."""
    model, writer = Model(), Slow()
    hook = ah.SummarySaverHook(1, summary_writer=writer, summary_op=["double", "half"])
    async with ah.MonitoredSession(model.graph, [hook]) as session:
        await session.run([])
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(session.run, [])
    assert set(writer.under_way) == {1}
    assert len(writer.under_way) > 2


class Full(Writer):
    """Cannot write."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int) -> None:
        raise OSError("disk full")


@pytest.mark.parametrize("clean", [True, False])
async def test_writer_that_the_hook_made_is_closed(clean: bool) -> None:
    """However the session ends, one that the hook was given stays open."""
    made, given = Makes(), Writer()
    for writer in made, given:
        hook = ah.SummarySaverHook(1, summary_writer=writer)
        try:
            async with ah.MonitoredSession(Model().graph, [hook]):
                if not clean:
                    raise ValueError("body")
        except ValueError:
            pass
    flushed = [("flush",)] if clean else []
    assert (made.made[0].calls, given.calls) == ([*flushed, ("close",)], flushed)


async def test_error_of_the_writer_is_the_runs() -> None:
    """What the writer raises leaves the run, with the hook's name."""
    hook = ah.SummarySaverHook(1, summary_writer=Full, summary_op="double")
    with pytest.raises(OSError, match="disk full") as caught:
        async with ah.MonitoredSession(Model().graph, [hook]) as session:
            await session.run([])
    assert caught.value.__notes__ == ["raised by SummarySaverHook.after_run (hooks[0])"]


async def test_unknown_name_opens_no_writer() -> None:
    """A summary that the graph does not have is an error of `begin`, before a writer is made."""
    make = Makes()
    with pytest.raises(ValueError, match="no op named 'lost'"):
        async with ah.MonitoredSession(
            Model().graph, [ah.SummarySaverHook(1, summary_writer=make, summary_op="lost")]
        ):
            pass
    assert make.made == []


BOTH_NAMES = "SummarySaverHook takes exactly one of save_secs and save_steps"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, BOTH_NAMES),
        ({"save_steps": 1, "save_secs": 1}, ValueError, BOTH_NAMES),
        ({"save_steps": 1, "summary_writer": None}, TypeError, "summary_writer is to be a writer"),
        ({"save_steps": 1, "summary_op": 3}, TypeError, "summary_op is to be a dict of ops by tag"),
        ({"save_steps": 1, "summary_op": {}}, ValueError, "summary_op is empty"),
    ],
)
def test_bad_arguments_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The message names what is wrong and what was expected."""
    with pytest.raises(error, match=message):
        ah.SummarySaverHook(**{"summary_writer": Writer()} | arguments)


def test_bad_summary_is_refused() -> None:
    """A tag is a string and stands for one op."""
    model = Model()
    ah.scalar_summary("a", model.double)
    with pytest.raises(ValueError, match="'a' is the summary of op 'double' already"):
        ah.scalar_summary("a", model.half)
    with pytest.raises(TypeError, match="the tag of a summary is to be a string, not 3"):
        ah.scalar_summary(3, model.half)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the summary 'b' is to be of an op, not of 'half'"):
        ah.scalar_summary("b", "half")  # type: ignore[arg-type]
