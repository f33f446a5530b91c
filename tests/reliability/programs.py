"""What is done with the session while it is disturbed."""

from __future__ import annotations

from contextvars import copy_context
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

import asynchooks as ah
from asynchooks._backend import spawn_host_task
from tests.reliability.world import LOST_AT, World


async def drain(world: World) -> list[Any]:
    """Runs until the input ends."""
    results: list[Any] = []
    async with world.session as session:
        while not session.should_stop():
            results.append(await session.run(world.fetches))
    await checkpoint()
    return results


async def leave(world: World) -> list[Any]:
    """Runs twice, with the loss in between, and leaves."""
    results: list[Any] = []
    async with world.session as session:
        while len(results) < 2:
            results.append(await session.run(world.fetches))
    await checkpoint()
    return results


async def stop(world: World) -> list[Any]:
    """Runs until an op requests a stop, in the run that then meets the loss."""
    world.stops_at = LOST_AT
    return await drain(world)


async def close_amid_runs(world: World) -> list[Any]:
    """Closes the session while another task runs, which the loss may have met by then."""
    world.closes_inside = True
    results: list[Any] = []
    errors: list[BaseException] = []
    started, ended = anyio.Event(), anyio.Event()

    async def run_on() -> None:
        try:
            while True:
                results.append(await world.session.run(world.fetches))
                started.set()
        except ah.SessionClosedError:
            pass
        except BaseException as error:
            errors.append(error)
        started.set()
        ended.set()

    async with world.session as session:
        # Not in a task group: on asyncio those can lose count of a native cancellation.
        spawn_host_task(run_on, "running on", copy_context())
        await started.wait()
        try:
            await session.close()
        except (Exception, KeyboardInterrupt) as error:
            errors.append(error)
        await ended.wait()
        if errors:
            raise BaseExceptionGroup("errors of both tasks", errors)
    await checkpoint()
    return results
