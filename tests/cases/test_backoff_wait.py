"""C07, C35: a wait between two attempts ends at once when there is a reason to."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

import asynchooks as ah
from tests.cases.spies import (
    CountingCreator,
    LongWait,
    Spy,
    attempts,
    monitored,
    planned_graph,
    spies,
    steps,
)

Lost = ah.UnavailableError


class KeepsAll(Spy):
    """A spy that keeps what it could use to stop the session."""

    coord: ah.Coordinator
    run_context: ah.SessionRunContext

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        await super().after_create_session(session, coord)
        self.coord = coord

    async def before_run(self, run_context: ah.SessionRunContext) -> None:
        await super().before_run(run_context)
        self.run_context = run_context


STOPS: dict[str, Callable[[ah.MonitoredSession, KeepsAll], None]] = {
    "session": lambda session, hook: session.request_stop(),
    "coordinator": lambda session, hook: hook.coord.request_stop(),
    "run context": lambda session, hook: hook.run_context.request_stop(),
}


@pytest.mark.parametrize("by", STOPS)
async def test_c07_stop_ends_the_wait(by: str) -> None:
    """A stop ends the wait; one more attempt is made at once and completes the run."""
    graph, x, _ = planned_graph(Lost, 7)
    creator, wait = CountingCreator(), LongWait()
    hook = KeepsAll("A", creator)

    async def stop_during_wait() -> None:
        await wait.begun.wait()
        STOPS[by](session, hook)

    with anyio.fail_after(1):
        async with monitored(graph, creator, [hook], recovery=attempts(5, wait)) as session:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stop_during_wait)
                assert await session.run(x) == 7
            assert session.should_stop()
            with pytest.raises(ah.RunAfterStopError):
                await session.run(x)
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.error(UnavailableError) S1.closed",
        "A.acs(S2) A.before A.after A.end(S2) S2.closed A.close(stopped)",
    )


async def test_c07_stop_ends_the_wait_and_the_last_attempt_fails() -> None:
    """After a stop only one more attempt is made; if it fails, recovery gives up."""
    graph, x, plan = planned_graph(Lost)
    creator, wait = CountingCreator(), LongWait()
    hooks = spies("A", creator)

    async def stop_during_wait() -> None:
        await wait.begun.wait()
        session.request_stop()

    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(1), pytest.raises(ah.RecoveryError) as caught:
            async with monitored(graph, creator, hooks, recovery=attempts(5, wait)) as session:
                tasks.start_soon(stop_during_wait)
                await session.run(x)
    assert len(caught.value.attempts) == plan.calls == creator.calls == 2
    assert creator.log[-4:] == steps(
        "A.before A.error(UnavailableError) S2.closed A.close(gave_up)"
    )


async def test_c07_stop_before_the_loss() -> None:
    """A run in progress when the stop comes is repeated once, without a wait."""
    creator, wait = CountingCreator(), LongWait()
    with ah.Graph().as_default() as graph:

        @ah.op
        async def x() -> int:
            session.request_stop()
            if creator.calls == 1:
                raise Lost("lost")
            return 7

        out = x()
    with anyio.fail_after(1):
        async with monitored(graph, creator, recovery=attempts(5, wait)) as session:
            assert await session.run(out) == 7
    assert creator.calls == 2


async def test_c07_cancellation_ends_the_wait() -> None:
    """A cancelled wait leaves as cancellation: nothing is made anew and no end is called."""
    graph, x, _ = planned_graph(Lost, 7)
    creator, wait = CountingCreator(), LongWait()
    hooks = spies("A", creator)

    async def cancel_during_wait() -> None:
        await wait.begun.wait()
        scope.cancel()

    with anyio.fail_after(1):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_during_wait)
            with anyio.CancelScope() as scope:
                async with monitored(graph, creator, hooks, recovery=attempts(5, wait)) as session:
                    await session.run(x)
    assert scope.cancelled_caught
    assert creator.log == [
        *steps("A.begin A.acs(S1) A.before A.error(UnavailableError) S1.closed"),
        "A.close(cancelled)",
    ]


async def test_c07_close_ends_the_wait() -> None:
    """Closing during a wait ends the waiting run with the closed error; nothing is made anew."""
    error = Lost("lost")
    graph, x, _ = planned_graph(error, 7)
    creator, wait = CountingCreator(), LongWait()
    hooks = spies("A", creator)

    async def close_during_wait() -> None:
        await wait.begun.wait()
        await session.close()

    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(1), pytest.raises(ah.SessionClosedError):
            async with monitored(graph, creator, hooks, recovery=attempts(5, wait)) as session:
                tasks.start_soon(close_during_wait)
                await session.run(x)
    assert creator.log[:5] == steps(
        "A.begin A.acs(S1) A.before A.error(UnavailableError) S1.closed",
    )
    assert len(creator.log) == 6
    [session_end] = hooks[0].session_ends
    assert (session_end.reason, session_end.phase) == (ah.EndReason.GAVE_UP, ah.Phase.RUN)
    assert isinstance(session_end.error, ah.RecoveryError)
    assert session_end.error.attempts == (error,)


async def test_c07_stop_ends_the_wait_of_a_session_being_entered() -> None:
    """A stop during the wait for the first session makes one more attempt at once."""
    graph, _, _ = planned_graph(7)
    creator, wait = CountingCreator(errors=[Lost("down")]), LongWait()
    session = monitored(graph, creator, spies("A", creator), recovery=attempts(5, wait))

    async def stop_during_wait() -> None:
        await wait.begun.wait()
        session.request_stop()

    with anyio.fail_after(1):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_during_wait)
            async with session:
                assert session.should_stop()
    assert creator.log == steps("A.begin A.acs(S2) A.end(S2) S2.closed A.close(stopped)")


async def test_c07_close_ends_the_wait_of_a_session_being_entered() -> None:
    """Closing during the wait for the first session ends the entering with the closed error."""
    graph, _, _ = planned_graph(7)
    creator, wait = CountingCreator(errors=[Lost("down")] * 2), LongWait()
    session = monitored(graph, creator, spies("A", creator), recovery=attempts(5, wait))

    async def close_during_wait() -> None:
        await wait.begun.wait()
        await session.close()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(close_during_wait)
        with anyio.fail_after(1), pytest.raises(ah.SessionClosedError):
            async with session:
                pytest.fail("the block was entered")
    assert creator.calls == 1
    assert [step.partition("(")[0] for step in creator.log] == ["A.begin", "A.close"]


class Deadline:
    """A deadline for one block that comes just after `expire` is called."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()

    def expire(self) -> None:
        self.scope.deadline = anyio.current_time() + 0.001


@pytest.mark.parametrize("creations", [0, 1])
async def test_c35_timeout_round_the_session_stays_a_timeout(creations: int) -> None:
    """A deadline that comes during a wait leaves the block as the caller's TimeoutError."""
    graph, x, _ = planned_graph(Lost)
    creator, deadline = CountingCreator(errors=[Lost("down")] * creations), Deadline()
    hooks, recovery = spies("A", creator), attempts(5, LongWait(deadline.expire))
    with pytest.raises(TimeoutError) as caught:
        with anyio.fail_after(5) as deadline.scope:
            async with monitored(graph, creator, hooks, recovery=recovery) as session:
                await session.run(x)
    assert type(caught.value) is TimeoutError
    assert (creator.calls, creator.log[-1]) == (1, "A.close(cancelled)")


async def test_c35_timeout_round_one_run_leaves_the_session_usable() -> None:
    """A deadline that comes during the wait of one run ends that run; the next one recovers."""
    graph, x, _ = planned_graph(Lost, 7)
    creator, deadline = CountingCreator(), Deadline()
    hooks, wait = spies("A", creator), LongWait(deadline.expire, seconds=0.05)
    async with monitored(graph, creator, hooks, recovery=attempts(5, wait)) as session:
        with pytest.raises(TimeoutError):
            with anyio.fail_after(5) as deadline.scope:
                await session.run(x)
        with anyio.fail_after(1):
            assert await session.run(x) == 7
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.error(UnavailableError) S1.closed",
        "A.acs(S2) A.before A.after A.end(S2) S2.closed A.close(completed)",
    )


async def test_c07_recovery_that_nobody_waits_for_goes_on_at_a_clean_end() -> None:
    """A block that ends well while the session recovers calls `end` on the one that is made."""
    graph, x, _ = planned_graph(Lost, 7)
    creator, wait = CountingCreator(), LongWait(seconds=0.01)
    session = monitored(graph, creator, spies("A", creator), recovery=attempts(3, wait))
    async with session, anyio.create_task_group() as tasks:
        tasks.start_soon(session.run, x)
        await wait.begun.wait()
        tasks.cancel_scope.cancel()
    assert creator.log[-4:] == steps("A.acs(S2) A.end(S2) S2.closed A.close(completed)")
