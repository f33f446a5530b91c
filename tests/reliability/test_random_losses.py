"""Many callers, random losses, errors and cancellations: each item is committed exactly once."""

from __future__ import annotations

import contextlib
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
import pytest
import tenacity
from anyio.lowlevel import checkpoint

import asynchooks as ah

SEEDS = range(60)


class World(ah.SessionRunHook):
    """A session whose connection, ops, hook and background task fail at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.items = self.random.choice([5, 20, 60])
        self.open = self.most_open = 0
        self.begun = self.told = 0
        self.ends: list[ah.EndReason] = []
        with ah.Graph().as_default() as self.graph:
            connection = ah.resource(self.connect)
            source = self.random.choice([self.read, self.read_async])
            item = ah.from_iterable(source).get_next()
            self.kept = ah.Variable[tuple[int, ...]](())
            step = self.kept.assign_add(ah.op(self.work)(connection, item))
            self.step = [step, ah.op(self.check)(item)]

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[object]:
        await self.dawdle()
        self.open += 1
        self.most_open = max(self.open, self.most_open)
        try:
            yield self
        finally:
            self.open -= 1
            await checkpoint()

    def read(self) -> Iterator[int]:
        yield from range(self.items)

    async def read_async(self) -> AsyncIterator[int]:
        for item in range(self.items):
            await checkpoint()
            yield item

    async def work(self, connection: object, item: int) -> tuple[int, ...]:
        await self.dawdle()
        self.fail(0.08, ah.UnavailableError("lost"))
        self.fail(0.05, ValueError("bad"))
        self.fail(0.02, ExceptionGroup("both", [ah.AbortedError("a"), ah.AbortedError("b")]))
        return (item,)

    async def check(self, item: int) -> None:
        await self.dawdle()
        self.fail(0.04, ah.AbortedError("lost"))

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        self.fail(0.1, ah.UnavailableError("set-up"))
        if self.random.random() < 0.2:
            coord.start_soon(self.watch)

    async def watch(self) -> None:
        await self.dawdle()
        raise ah.UnavailableError("watchdog")

    async def before_run(self, run_context: ah.SessionRunContext) -> None:
        await self.dawdle()
        self.begun += 1

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        self.told += 1
        self.fail(0.02, ah.UnavailableError("after"))
        await self.dawdle()

    async def on_run_error(self, run_context: ah.SessionRunContext, error: BaseException) -> None:
        self.told += 1
        await self.dawdle()

    async def close(self, session_end: ah.SessionEnd) -> None:
        self.ends.append(session_end.reason)

    async def dawdle(self) -> None:
        for _ in range(self.random.randrange(4)):
            await checkpoint()

    def fail(self, probability: float, error: Exception) -> None:
        if self.random.random() < probability:
            raise error

    async def call(self, session: ah.MonitoredSession) -> None:
        """Runs until the input ends, and cancels a run now and then."""
        while True:
            patience = 0.0003 if self.random.random() < 0.1 else 60
            with anyio.move_on_after(patience):
                try:
                    await session.run(self.step)
                except (ValueError, ah.UnavailableError, ah.RecoveryError):
                    continue
                except (ah.OutOfRangeError, ah.RunAfterStopError, ah.SessionClosedError):
                    return

    async def meddle(self, session: ah.MonitoredSession) -> None:
        """Stops, closes or breaks the session after a while."""
        for _ in range(self.random.randrange(30)):
            await checkpoint()
        match self.random.randrange(3):
            case 0:
                session.request_stop()
            case 1:
                await session.close()
            case _:
                session.coordinator.request_stop(KeyError("broken"))


@pytest.mark.parametrize("seed", SEEDS)
async def test_each_item_is_committed_exactly_once(seed: int) -> None:
    """Whatever is lost, fails or is cancelled: no item is lost or doubled, and all is paired."""
    world = World(seed)
    final = ah.FinalOpsHook(world.kept)
    recovery = ah.Recovery(stop=tenacity.stop_never, wait=tenacity.wait_none())
    async with (
        ah.MonitoredSession(world.graph, [world, final], recovery=recovery) as session,
        anyio.create_task_group() as callers,
    ):
        for _ in range(world.random.choice([1, 3, 8])):
            callers.start_soon(world.call, session)
    assert sorted(final.final_ops_values) == list(range(world.items))
    assert (world.begun, world.open, world.most_open) == (world.told, 0, 1)


@pytest.mark.parametrize("seed", SEEDS)
async def test_nothing_is_left_whatever_ends_it(seed: int) -> None:
    """Stopped, closed or broken at any moment: all is paired and closed, and no item is doubled."""
    world = World(seed)
    final = ah.FinalOpsHook(world.kept)
    recovery = ah.Recovery(stop=tenacity.stop_never, wait=tenacity.wait_none())
    session = ah.MonitoredSession(world.graph, [world, final], recovery=recovery)
    with contextlib.suppress(KeyError, ah.RecoveryError, ExceptionGroup):
        async with session, anyio.create_task_group() as callers:
            callers.start_soon(world.meddle, session)
            for _ in range(world.random.choice([1, 3, 8])):
                callers.start_soon(world.call, session)
    clean = {ah.EndReason.COMPLETED, ah.EndReason.STOPPED}
    assert (world.begun, world.open, world.most_open) == (world.told, 0, 1)
    assert [reason in clean for reason in world.ends] == [final.final_ops_values is not None]
    assert len(set(final.final_ops_values or ())) == len(final.final_ops_values or ())


async def read_slowly() -> AsyncIterator[int]:
    for item in range(3):
        await checkpoint()
        yield item


@pytest.mark.parametrize("callers", [2, 3, 5])
async def test_sources_that_end_together_keep_nobody_waiting(callers: int) -> None:
    """Runs that each hold what another one lacks do not wait for one another for ever."""
    with ah.Graph().as_default() as graph:
        both = [ah.from_iterable(read_slowly).get_next() for _ in range(2)]
    pairs: list[list[int]] = []

    async def call(session: ah.MonitoredSession) -> None:
        with contextlib.suppress(ah.OutOfRangeError):
            while True:
                pairs.append(await session.run(both))

    with anyio.fail_after(5):
        async with ah.MonitoredSession(graph) as session, anyio.create_task_group() as tasks:
            for _ in range(callers):
                tasks.start_soon(call, session)
    assert [sorted(items) for items in zip(*pairs, strict=True)] == [[0, 1, 2], [0, 1, 2]]
