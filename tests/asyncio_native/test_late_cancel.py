"""A native cancellation that comes when nothing awaits any more."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

import asynchooks as ah

pytestmark = pytest.mark.asyncio


def cancel_me(*args: Any) -> None:
    """Cancels the current task."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


async def cancelled(run: Any) -> bool:
    """Awaits a run in a task of its own; tells whether it was left by the cancellation."""
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(run)
    return True


async def test_cancel_in_after_run_is_not_lost() -> None:
    """A run that is cancelled by the last hook that looks at it ends as cancelled."""

    class Cancels(ah.SessionRunHook):
        async def after_run(
            self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
        ) -> None:
            if run_values.results:
                cancel_me()

        async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs:
            return ah.SessionRunArgs(lambda: planned.pop() if planned else None)

    planned = ["cancel"]
    async with ah.MonitoredSession(ah.Graph(), [Cancels()]) as session:
        assert await cancelled(session.run([]))
        assert await session.run([lambda: 7]) == [7]


@pytest.mark.parametrize("beside", [[], [anyio.lowlevel.checkpoint, anyio.lowlevel.checkpoint]])
async def test_cancel_in_the_last_op_leaves_no_trace(beside: list[Any]) -> None:
    """A run whose op cancels it without awaiting commits nothing."""

    async def cancels() -> None:
        cancel_me()

    with ah.Graph().as_default() as graph:
        v = ah.Variable(1)
        last = ah.op(lambda *args: None)(v.assign(2))
        ops = [last, cancels, *beside]
    async with ah.Session(graph) as session:
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(session.run(ops))
        assert await session.run(v) == 1


async def test_two_cancels_while_the_generation_closes() -> None:
    """Closing waits for its generation however often its task is cancelled."""
    log: list[str] = []

    class Slow:
        async def __aenter__(self) -> None: ...

        async def __aexit__(self, *exc_info: object) -> None:
            await asyncio.sleep(0.005)
            log.append("resource closed")

    class Last(ah.SessionRunHook):
        async def close(self, session_end: ah.SessionEnd) -> None:
            log.append(f"close {session_end.reason}")

    with ah.Graph().as_default() as graph:
        ah.resource(Slow)
    session = await ah.MonitoredSession(graph, [Last()]).__aenter__()
    closing = asyncio.create_task(session.close())
    for _ in range(2):
        await asyncio.sleep(0.001)
        closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert log == ["resource closed", "close cancelled"]
