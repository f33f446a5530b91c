"""GlobalStepWaiterHook: a first run that waits for a global step."""

from __future__ import annotations

import math
from typing import Any

import anyio
import pytest
import tenacity

import asynchooks as ah
from tests.hooks.conftest import Lines


def stepping_graph() -> tuple[ah.Graph, ah.Op[int]]:
    """Returns a graph, and an op that makes a step for another than the runs that wait."""
    with ah.Graph().as_default() as graph:
        return graph, ah.get_or_create_global_step().assign_add(1)


async def settle() -> None:
    """Lets every other task go on as far as it can."""
    for _ in range(10):
        await anyio.lowlevel.checkpoint()


async def test_first_runs_wait_for_the_step() -> None:
    """Runs that are started before the step is reached go on once it is; a later one at once."""
    (graph, make_step), ran = stepping_graph(), []

    async def run(session: ah.MonitoredSession, name: str) -> None:
        await session.run(lambda: ran.append(name))

    waiter = ah.GlobalStepWaiterHook(2, poll_interval=0)
    async with ah.MonitoredSession(graph, [waiter]) as session:
        async with anyio.create_task_group() as group:
            for name in "ab":
                group.start_soon(run, session, name)
            for step in range(2):
                await settle()
                assert ran == []
                await session.session.run(make_step)
                assert await session.session.run("global_step") == step + 1
        assert sorted(ran) == ["a", "b"]
        await run(session, "c")
    assert ran[2:] == ["c"]


@pytest.mark.parametrize("goal", [0, -1])
async def test_no_wait_from_zero_down(goal: int, lines: Lines) -> None:
    """A goal that every step has reached is not looked at."""
    hook = ah.GlobalStepWaiterHook(goal)
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        assert await session.run(lambda: 1) == 1
    assert lines.texts == []


async def test_recovery_does_not_wait_again() -> None:
    """Once the step was reached, a run on the next generation does not wait, whatever the step."""
    lost = [ah.AbortedError("lost")]
    with ah.Graph().as_default() as graph:
        step = ah.get_or_create_global_step()
        step.initial_value = 5
        back = step.assign(0)

    async def work() -> str:
        if lost:
            raise lost.pop()
        return "done"

    recovery = ah.Recovery(wait=tenacity.wait_none())
    hook = ah.GlobalStepWaiterHook(5, poll_interval=math.nextafter(0, 1))
    async with ah.MonitoredSession(graph, [hook], recovery=recovery) as session:
        await session.run(back)
        assert await session.run(work) == "done"


async def test_c81_stop_ends_the_wait(lines: Lines) -> None:
    """A request to stop wakes the run, which goes on; then the loop ends cleanly."""
    done: list[str] = []
    final = ah.FinalOpsHook(lambda: "ended")
    hooks = [ah.GlobalStepWaiterHook(100, poll_interval=3600), final]

    async def loop(session: ah.MonitoredSession) -> None:
        while not session.should_stop():
            await session.run(lambda: done.append("run"))

    async with (
        ah.MonitoredSession(ah.Graph(), hooks) as session,
        anyio.create_task_group() as group,
    ):
        group.start_soon(loop, session)
        await anyio.wait_all_tasks_blocked()
        assert done == []
        session.request_stop()
    assert (done, final.final_ops_values) == (["run"], "ended")
    assert lines.texts == [
        "waiting for global step 100",
        "no longer waiting for global step 100: a stop was requested",
    ]


async def test_c81_cancellation_ends_the_wait() -> None:
    """A cancelled run leaves the wait, and the session can be used for what needs no wait."""
    async with ah.MonitoredSession(
        ah.Graph(), [ah.GlobalStepWaiterHook(100, poll_interval=3600)]
    ) as session:
        async with anyio.create_task_group() as group:
            group.start_soon(session.run, [])
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        assert await session.session.run("global_step") == 0


@pytest.mark.parametrize("way", ["scope", "options"])
async def test_c81_deadline_ends_the_wait(way: str) -> None:
    """A scope's deadline and that of the run's options end the wait, each with its own error."""
    errors: dict[str, Any] = {"scope": TimeoutError, "options": ah.DeadlineExceededError}
    options = ah.RunOptions(timeout=0.01) if way == "options" else None
    async with ah.MonitoredSession(
        ah.Graph(), [ah.GlobalStepWaiterHook(100, poll_interval=3600)]
    ) as session:
        with pytest.raises(TimeoutError) as caught:
            with anyio.fail_after(0.01 if way == "scope" else None):
                await session.run([], options=options)
        assert type(caught.value) is errors[way]


async def test_error_of_a_task_ends_the_wait() -> None:
    """What a background task reports interrupts the run that waits."""

    async def watchdog() -> None:
        await anyio.wait_all_tasks_blocked()
        raise ValueError("no sign of life")

    with pytest.raises(ValueError, match="no sign of life"):
        async with ah.MonitoredSession(
            ah.Graph(), [ah.GlobalStepWaiterHook(100, poll_interval=3600)]
        ) as session:
            session.coordinator.start_soon(watchdog)
            await session.run([])


async def test_second_session_waits_anew() -> None:
    """A hook that has reached its step in one session waits for it in the next one, too."""
    (graph, make_step), ran = stepping_graph(), []
    hook = ah.GlobalStepWaiterHook(1, poll_interval=0)
    for number in range(2):
        async with (
            ah.MonitoredSession(graph, [hook]) as session,
            anyio.create_task_group() as group,
        ):
            group.start_soon(session.run, lambda number=number: ran.append(number))
            await settle()
            assert ran == list(range(number))
            await session.session.run(make_step)
    assert ran == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1.5,), TypeError, "wait_until_step is to be an int, not 1.5"),
        ((True,), TypeError, "wait_until_step is to be an int, not True"),
    ],
)
def test_bad_step_is_refused(
    arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    """The message names what is wrong and what was expected."""
    with pytest.raises(error, match=message):
        ah.GlobalStepWaiterHook(*arguments)


@pytest.mark.parametrize("interval", [-1, math.inf, math.nan])
def test_bad_interval_is_refused(interval: float) -> None:
    """The interval is a finite number of seconds from 0."""
    with pytest.raises(ValueError, match="poll_interval is to be a number of seconds from 0"):
        ah.GlobalStepWaiterHook(1, poll_interval=interval)
