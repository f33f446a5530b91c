"""C28, C29, C31: tasks that hooks start are over when the session that they serve is."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest

import asynchooks as ah
from tests.cases.spies import CountingCreator, Spy, monitored, planned_graph, spies, steps

Lost = ah.UnavailableError


class Starter(Spy):
    """A spy that starts a task with each session."""

    def __init__(
        self,
        name: str,
        creator: CountingCreator,
        task: Callable[[ah.Coordinator], Awaitable[None]],
    ) -> None:
        super().__init__(name, creator)
        self._task = task

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        await super().after_create_session(session, coord)
        coord.start_soon(self._task, coord, name="background")


async def test_c28_hook_task_ends_when_the_run_fails(caplog: pytest.LogCaptureFixture) -> None:
    """A task that would run for ever is over, clean-up included, when a failed block is left."""
    graph, x, _ = planned_graph(ValueError("op"))
    creator, started = CountingCreator(), anyio.Event()

    async def for_ever(coord: ah.Coordinator) -> None:
        try:
            started.set()
            await anyio.sleep_forever()
        finally:
            creator.log.append("task.over")

    with anyio.fail_after(1), pytest.raises(ValueError, match="op"):
        async with monitored(graph, creator, [Starter("A", creator, for_ever)]) as session:
            await started.wait()
            await session.run(x)
    gc.collect()
    assert creator.log[-3:] == ["task.over", "S1.closed", "A.close(failed)"]
    assert [record for record in caplog.records if record.name == "asyncio"] == []


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
async def test_c28_run_ends_when_the_hook_task_fails(kind: type[BaseException]) -> None:
    """A task that fails interrupts the run in flight, and the block is left with its error."""
    error, in_flight = kind("task"), anyio.Event()
    with ah.Graph().as_default() as graph:

        @ah.op
        async def for_ever() -> None:
            in_flight.set()
            await anyio.sleep_forever()

        x = for_ever()

    async def fail(coord: ah.Coordinator) -> None:
        await in_flight.wait()
        raise error

    creator = CountingCreator()
    with anyio.fail_after(1), pytest.raises(kind) as caught:
        async with monitored(graph, creator, [Starter("A", creator, fail)]) as session:
            await session.run(x)
    assert caught.value is error
    assert creator.log == steps(
        f"A.begin A.acs(S1) A.before A.error({kind.__name__}) S1.closed A.close(failed)"
    )


async def test_c28_run_is_repeated_when_the_hook_task_reports_a_loss() -> None:
    """A watchdog that reports the loss of the session makes a run that would wait for ever move."""
    creator, in_flight = CountingCreator(), anyio.Event()
    with ah.Graph().as_default() as graph:

        @ah.op
        async def hangs_on_the_first() -> int:
            in_flight.set()
            if creator.calls == 1:
                await anyio.sleep_forever()
            return creator.calls

        x = hangs_on_the_first()

    async def watchdog(coord: ah.Coordinator) -> None:
        if creator.calls == 1:
            await in_flight.wait()
            raise Lost("no sign of life")

    with anyio.fail_after(1):
        async with monitored(graph, creator, [Starter("A", creator, watchdog)]) as session:
            assert await session.run(x) == 2
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.error(UnavailableError) S1.closed",
        "A.acs(S2) A.before A.after A.end(S2) S2.closed A.close(completed)",
    )


@pytest.mark.parametrize("way", ["body", "stop", "close"])
async def test_c29_grace_is_a_limit(way: str) -> None:
    """A task that sees the stop and returns is not waited for any longer, whatever the grace."""
    graph, _, _ = planned_graph(7)
    creator = CountingCreator()

    async def polls(coord: ah.Coordinator) -> None:
        while not coord.should_stop():
            await anyio.sleep(0.001)
        creator.log.append("saw the stop")

    with anyio.fail_after(1):
        async with monitored(
            graph, creator, [Starter("A", creator, polls)], stop_grace=120
        ) as session:
            if way == "stop":
                session.request_stop()
            if way == "close":
                await session.close()
    assert "saw the stop" in creator.log
    assert creator.log.index("saw the stop") < creator.log.index("S1.closed")


async def test_c29_grace_without_tasks() -> None:
    """A session without tasks is not kept open by its grace."""
    graph, x, _ = planned_graph(7)
    creator = CountingCreator()
    with anyio.fail_after(1):
        async with monitored(graph, creator, spies("A", creator), stop_grace=120) as session:
            await session.run(x)


@pytest.mark.parametrize("grace", [0, 0.005])
async def test_c29_grace_is_over(grace: float) -> None:
    """A task that does not see the stop within the grace is cancelled."""
    graph, _, _ = planned_graph(7)
    creator, started = CountingCreator(), anyio.Event()

    async def deaf(coord: ah.Coordinator) -> None:
        try:
            started.set()
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            creator.log.append("cancelled")
            raise

    with anyio.fail_after(1):
        async with monitored(graph, creator, [Starter("A", creator, deaf)], stop_grace=grace):
            await started.wait()
    assert creator.log == steps(
        "A.begin A.acs(S1) A.end(S1) cancelled S1.closed A.close(completed)"
    )


async def test_c31_old_tasks_end_before_the_new_set_up() -> None:
    """What a hook started on a lost session is over before any hook sets up the next one."""
    graph, x, _ = planned_graph(Lost, 7)
    creator = CountingCreator()

    async def slow_to_end(coord: ah.Coordinator) -> None:
        number = creator.calls
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.005)
            creator.log.append(f"task{number}.over")

    async with monitored(graph, creator, [Starter("A", creator, slow_to_end)]) as session:
        await anyio.lowlevel.checkpoint()
        assert await session.run(x) == 7
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.error(UnavailableError) task1.over S1.closed",
        "A.acs(S2) A.before A.after A.end(S2) task2.over S2.closed A.close(completed)",
    )


async def test_c31_tasks_of_a_failed_set_up_end_before_the_next() -> None:
    """What hooks started in a set-up that lost its session is over before the next set-up."""
    graph, x, _ = planned_graph(7)
    creator = CountingCreator()

    async def for_ever(coord: ah.Coordinator) -> None:
        number = creator.calls
        try:
            await anyio.sleep_forever()
        finally:
            creator.log.append(f"task{number}.over")

    class LosesOnce(Spy):
        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            await anyio.lowlevel.checkpoint()
            await super().after_create_session(session, coord)

    hooks = [
        Starter("A", creator, for_ever),
        LosesOnce("B", creator, {"acs": [Lost("set-up")]}),
    ]
    async with monitored(graph, creator, hooks) as session:
        assert await session.run(x) == 7
    assert creator.log[2:8] == steps("A.acs(S1) B.acs(S1) task1.over S1.closed A.acs(S2) B.acs(S2)")


async def test_c31_old_contexts_are_left_before_the_new_set_up() -> None:
    """What a hook entered on a lost session is left, in reverse order, before the next set-up."""
    graph, x, _ = planned_graph(Lost, 7)
    creator = CountingCreator()

    @asynccontextmanager
    async def channel(name: str) -> AsyncIterator[None]:
        yield
        await anyio.sleep(0.002)
        creator.log.append(f"{name}.left")

    class Enters(Spy):
        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            await super().after_create_session(session, coord)
            for part in "ab":
                await coord.enter_async_context(channel(f"{self.name}{part}"))

    hooks = [Enters("A", creator), Enters("B", creator)]
    async with monitored(graph, creator, hooks) as session:
        assert await session.run(x) == 7
    left = "Bb.left Ba.left Ab.left Aa.left"
    assert creator.log[6:] == steps(
        f"A.error(UnavailableError) B.error(UnavailableError) {left} S1.closed",
        "A.acs(S2) B.acs(S2) A.before B.before A.after B.after A.end(S2) B.end(S2)",
        f"{left} S2.closed B.close(completed) A.close(completed)",
    )


async def test_c31_error_of_an_old_task_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """An error of closing what was lost is logged and does not disturb the repeated run."""
    graph, x, _ = planned_graph(Lost, 7)
    creator = CountingCreator()

    async def fails_to_end(coord: ah.Coordinator) -> None:
        number = creator.calls
        try:
            await anyio.sleep_forever()
        finally:
            if number == 1:
                raise ValueError("old task")

    async with monitored(graph, creator, [Starter("A", creator, fails_to_end)]) as session:
        await anyio.lowlevel.checkpoint()
        assert await session.run(x) == 7
    assert creator.calls == 2
    logged = [record for record in caplog.records if record.name == "asynchooks"]
    assert any("old task" in f"{record.getMessage()} {record.exc_text}" for record in logged)
