"""StopAtStepHook: a stop at a number of steps."""

from __future__ import annotations

from typing import Any

import pytest
import tenacity

import asynchooks as ah


async def run_until_stop(session: ah.MonitoredSession, fetches: Any = ()) -> int:
    """Makes runs until the session should stop; returns how many."""
    runs = 0
    while not session.should_stop():
        await session.run(fetches)
        runs += 1
    return runs


@pytest.mark.parametrize(("last_step", "runs"), [(1, 1), (3, 3), (0, 1), (-5, 1)])
async def test_session_stops_at_the_last_step(last_step: int, runs: int) -> None:
    """Runs are made until the global step is there; one is made in any case."""
    hook = ah.StopAtStepHook(last_step=last_step)
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        assert await run_until_stop(session) == runs
        with pytest.raises(ah.RunAfterStopError):
            await session.run([])


@pytest.mark.parametrize(("num_steps", "runs"), [(1, 1), (3, 3)])
async def test_session_stops_after_a_number_of_steps(num_steps: int, runs: int) -> None:
    """`num_steps` are counted from the global step at the session's start."""
    with ah.Graph().as_default() as graph:
        step = ah.get_or_create_global_step()
        step.initial_value = 10
    hook = ah.StopAtStepHook(num_steps=num_steps)
    async with ah.MonitoredSession(graph, [hook, final := ah.FinalOpsHook(step)]) as session:
        assert await run_until_stop(session) == runs
    assert final.final_ops_values == 10 + runs


@pytest.mark.parametrize(("by", "expected"), [(1, 6), (2, 4), (3, 3), (5, 2), (7, 2)])
async def test_steps_may_be_larger_than_one(by: int, expected: int) -> None:
    """Where a run adds several steps, the stop comes with a run that started one step before it.

    As in TensorFlow, which takes a run for one step until it has come that far.
    """
    with ah.Graph().as_default() as graph:
        train = ah.get_or_create_global_step().assign_add(by)
    async with ah.MonitoredSession(graph, [ah.StopAtStepHook(last_step=6)]) as session:
        await session.run([])
        runs = await run_until_stop(session, train)
        assert await session.session.run("global_step") == runs * by
    assert runs == expected


async def test_hook_makes_the_global_step_if_there_is_none() -> None:
    """A graph without a global step gets one, once, however often it is used."""
    graph = ah.Graph()
    for _ in range(2):
        async with ah.MonitoredSession(graph, [ah.StopAtStepHook(last_step=1)]):
            pass
    assert [op.name for op in graph.get_operations()] == ["global_step"]


@pytest.mark.parametrize("limit", [{"num_steps": 2}, {"last_step": 2}])
async def test_hook_is_used_again(limit: dict[str, int]) -> None:
    """A second session with the same hook counts from its own start."""
    graph, hook = ah.Graph(), ah.StopAtStepHook(**limit)
    for _ in range(2):
        async with ah.MonitoredSession(graph, [hook]) as session:
            assert await run_until_stop(session) == 2


async def test_steps_are_counted_across_a_recovery() -> None:
    """The goal is fixed when the first generation starts; losing one does not move it."""
    planned = [None, ah.AbortedError("lost"), None, ah.AbortedError("lost"), None]
    committed: list[int] = []

    async def work() -> None:
        error = planned.pop(0)
        if error is not None:
            raise error
        committed.append(1)

    recovery = ah.Recovery(stop=tenacity.stop_after_attempt(5), wait=tenacity.wait_none())
    hook = ah.StopAtStepHook(num_steps=3)
    async with ah.MonitoredSession(ah.Graph(), [hook], recovery=recovery) as session:
        assert await run_until_stop(session, work) == 3
    assert (len(committed), planned) == (3, [])


async def test_hook_without_any_run() -> None:
    """A session without a run is not stopped by the hook."""
    async with ah.MonitoredSession(ah.Graph(), [ah.StopAtStepHook(num_steps=0)]) as session:
        assert not session.should_stop()


async def test_run_that_makes_no_step_does_not_stop() -> None:
    """Where the graph keeps the global step as it is, the last step is not reached."""
    with ah.Graph().as_default() as graph:
        stays = ah.get_or_create_global_step().assign_add(0)
    async with ah.MonitoredSession(graph, [ah.StopAtStepHook(last_step=1)]) as session:
        await session.run(stays)
        assert not session.should_stop()
