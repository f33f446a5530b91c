"""C28, C35, C37: a run that a reported loss interrupts, met by asyncio's own cancellations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import anyio
import pytest

import asynchooks as ah
from tests.cases.spies import CountingCreator, monitored, spies, steps

pytestmark = pytest.mark.asyncio

Lost = ah.UnavailableError
REPEATED = steps(
    "A.begin A.acs(S1) A.before A.error(UnavailableError) S1.closed",
    "A.acs(S2) A.before A.after A.end(S2) S2.closed A.close(completed)",
)


class Scene:
    """A session with an op that hangs on the first raw session only."""

    def __init__(self, answer: int | None = None) -> None:
        self.creator = CountingCreator()
        self.in_flight = asyncio.Event()
        self._answer = answer
        with ah.Graph().as_default() as graph:
            self.x = ah.op(self._hang, name="x")()
        self.session = monitored(graph, self.creator, spies("A", self.creator))

    async def _hang(self) -> int:
        self.in_flight.set()
        if self.creator.calls == 1:
            await self._wait()
        return self.creator.calls

    async def _wait(self) -> None:
        try:
            await asyncio.sleep(2)
        except asyncio.CancelledError:
            if self._answer is None:
                raise

    async def use(self) -> int:
        async with self.session:
            return await self.session.run(self.x)

    def lose(self) -> None:
        self.session.coordinator.request_stop(Lost("no sign of life"))


async def outcome(task: asyncio.Task[int]) -> object:
    """Waits for a task, a second at most; returns its result, or how it ended."""
    await asyncio.wait([task], timeout=1)
    if task.cancelled():
        return "cancelled"
    return task.exception() or task.result() if task.done() else "pending"


async def test_c28_interruption_leaves_no_cancellation_behind() -> None:
    """After a run was interrupted and repeated, its task is as ready to be cancelled as before."""
    scene = Scene()

    async def use_and_wait() -> int:
        result = await scene.use()
        assert asyncio.current_task().cancelling() == 0
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await asyncio.sleep(2)
        return result

    task = asyncio.create_task(use_and_wait())
    await scene.in_flight.wait()
    scene.lose()
    assert await outcome(task) == 2
    assert scene.creator.log == REPEATED


async def test_c28_op_that_swallows_the_interruption() -> None:
    """An op that answers an interruption with a value does not keep the lost session alive."""
    scene = Scene(answer=5)

    async def use_twice() -> int:
        async with scene.session as session:
            await session.run(scene.x)
            assert asyncio.current_task().cancelling() == 0
            return await session.run(scene.x)

    task = asyncio.create_task(use_twice())
    await scene.in_flight.wait()
    scene.lose()
    assert await outcome(task) == 2
    runs = [step.partition("(")[0] for step in scene.creator.log]
    assert runs.count("A.before") == runs.count("A.after") + runs.count("A.error")
    assert scene.creator.log[-3:] == steps("A.end(S2) S2.closed A.close(completed)")


ORDERS: dict[str, Callable[[Scene, asyncio.Task[int]], None]] = {
    "loss first": lambda scene, task: (scene.lose(), task.cancel())[0],
    "cancel first": lambda scene, task: (task.cancel(), scene.lose())[1],
}


@pytest.mark.parametrize("order", ORDERS)
async def test_c37_loss_and_cancel_at_once(order: str) -> None:
    """A task cancelled in the same turn in which its run is interrupted ends as cancelled."""
    scene = Scene()
    task = asyncio.create_task(scene.use())
    await scene.in_flight.wait()
    ORDERS[order](scene, task)
    assert await outcome(task) == "cancelled"
    assert scene.creator.calls == 1
    assert scene.creator.log[-2:] == ["S1.closed", "A.close(cancelled)"]
    assert not any("end" in step for step in scene.creator.log)


@pytest.mark.parametrize("order", [1, -1])
async def test_c35_loss_and_timeout_at_once(order: int) -> None:
    """A timeout that comes in the same turn as the loss is a timeout, and the next run recovers."""
    scene = Scene()
    async with scene.session as session:

        async def strike() -> None:
            await scene.in_flight.wait()
            now = asyncio.get_running_loop().time()
            for act in [scene.lose, lambda: timeout.reschedule(now)][::order]:
                act()

        striking = asyncio.create_task(strike())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2) as timeout:
                await session.run(scene.x)
                await asyncio.sleep(2)
        await striking
        assert asyncio.current_task().cancelling() == 0
        async with asyncio.timeout(1):
            assert await session.run(scene.x) == 2


@pytest.mark.parametrize("order", [1, -1])
async def test_c37_loss_and_cancelled_scope_at_once(order: int) -> None:
    """A scope cancelled in the turn in which the run in it is lost catches its cancellation."""
    scene = Scene()
    async with scene.session as session:

        async def strike() -> None:
            await scene.in_flight.wait()
            for act in [scene.lose, scope.cancel][::order]:
                act()

        striking = asyncio.create_task(strike())
        with anyio.CancelScope() as scope:
            await session.run(scene.x)
        await striking
        assert scope.cancelled_caught
        assert asyncio.current_task().cancelling() == 0
        assert await session.run(scene.x) == 2
    assert scene.creator.calls == 2
