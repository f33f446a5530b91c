"""A session that is lost while the ops of a cancelled run clean up."""

from __future__ import annotations

import anyio

import asynchooks as ah
from tests.cases.spies import CountingCreator, monitored, spies


async def test_c37_loss_while_a_cancelled_run_cleans_up() -> None:
    """The cancellation stays that of its scope, and the next run meets the next session."""
    creator = CountingCreator()
    started, cleaning = anyio.Event(), anyio.Event()

    @ah.op
    async def slow_to_end() -> int:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            cleaning.set()
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.005)
        return 0

    with ah.Graph().as_default() as graph:
        both, seven = [slow_to_end(), slow_to_end()], ah.constant(7)

    async def lose(session: ah.MonitoredSession, scope: anyio.CancelScope) -> None:
        await started.wait()
        scope.cancel()
        await cleaning.wait()
        session.coordinator.request_stop(ah.UnavailableError("lost"))

    async with monitored(graph, creator, spies("A", creator)) as session:
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as scope:
                tasks.start_soon(lose, session, scope)
                await session.run(both)
        assert scope.cancelled_caught
        assert await session.run(seven) == 7
    assert creator.calls == 2
