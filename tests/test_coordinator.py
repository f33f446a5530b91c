"""The coordinator alone: stop, first error, background tasks, join, context managers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import asynchooks as ah


async def fail(error: BaseException) -> None:
    await anyio.lowlevel.checkpoint()
    raise error


def test_coordinator_can_be_made_anywhere() -> None:
    """Making, asking and stopping a coordinator needs no event loop."""
    coordinator = ah.Coordinator()
    coordinator.clear_stop()
    assert (coordinator.should_stop(), coordinator.joined) == (False, False)
    coordinator.request_stop()
    assert coordinator.should_stop()
    coordinator.raise_requested_exception()
    coordinator.clear_stop()
    assert not coordinator.should_stop()


def test_first_error_is_kept() -> None:
    """Of several errors the first is kept, also after a plain stop, and is raised each time."""
    coordinator = ah.Coordinator()
    first = ValueError("first")
    coordinator.request_stop()
    coordinator.request_stop(first)
    coordinator.request_stop(TypeError("second"))
    for _ in range(2):
        with pytest.raises(ValueError, match="first") as caught:
            coordinator.raise_requested_exception()
        assert caught.value is first
    assert coordinator.error is first


@pytest.mark.parametrize(
    "error",
    [
        ah.OutOfRangeError("end"),
        StopAsyncIteration(),
        ah.StepFunctionStopped(),
        ExceptionGroup("ends", [ah.OutOfRangeError(), StopAsyncIteration()]),
    ],
)
def test_end_of_the_input_is_a_plain_stop(error: Exception) -> None:
    """An error that stops normally is no error: nothing is raised."""
    coordinator = ah.Coordinator()
    coordinator.request_stop(error)
    coordinator.raise_requested_exception()
    assert coordinator.should_stop()
    assert (coordinator.error, coordinator.clean_stop) == (None, error)


def test_end_of_a_stream_is_an_error() -> None:
    """A listener whose peer has hung up has failed, unless the coordinator is told otherwise."""
    error = anyio.EndOfStream("hung up")
    coordinator = ah.Coordinator()
    coordinator.request_stop(error)
    with pytest.raises(anyio.EndOfStream, match="hung up"):
        coordinator.raise_requested_exception()
    coordinator = ah.Coordinator((anyio.EndOfStream,))
    coordinator.request_stop(error)
    coordinator.raise_requested_exception()
    assert coordinator.clean_stop is error


def test_what_stops_normally_can_be_chosen() -> None:
    """Other classes can stop normally; the end of the input does so only if it is among them."""
    coordinator = ah.Coordinator(clean_stop_exception_types=(KeyError, OSError))
    coordinator.request_stop(ConnectionResetError("clean"))
    coordinator.raise_requested_exception()
    assert repr(coordinator.clean_stop) == "ConnectionResetError('clean')"
    coordinator.request_stop(ah.OutOfRangeError("end"))
    with pytest.raises(ah.OutOfRangeError, match="end"):
        coordinator.raise_requested_exception()


def test_nothing_stops_normally_if_so_wished() -> None:
    """With no classes each error is one."""
    coordinator = ah.Coordinator(())
    coordinator.request_stop(StopAsyncIteration("end"))
    with pytest.raises(StopAsyncIteration, match="end"):
        coordinator.raise_requested_exception()


def test_group_of_one_error_is_kept_bare() -> None:
    """A group that holds a single error counts as that error."""
    coordinator = ah.Coordinator()
    error = ValueError("x")
    coordinator.request_stop(ExceptionGroup("g", [ExceptionGroup("h", [error])]))
    assert coordinator.error is error


@pytest.mark.parametrize("kind", [ValueError, ah.OutOfRangeError])
def test_stop_can_be_taken_back(kind: type[Exception]) -> None:
    """clear_stop() forgets request and error, so that new ones are kept."""
    coordinator = ah.Coordinator()
    coordinator.request_stop(kind("old"))
    coordinator.request_stop()
    coordinator.clear_stop()
    assert not coordinator.should_stop()
    coordinator.raise_requested_exception()
    coordinator.request_stop(TypeError("new"))
    with pytest.raises(TypeError, match="new"):
        coordinator.raise_requested_exception()


def test_stop_on_exception_takes_errors_in() -> None:
    """An error in the block is a request to stop with it; without one nothing happens."""
    coordinator = ah.Coordinator()
    with coordinator.stop_on_exception():
        pass
    assert not coordinator.should_stop()
    with coordinator.stop_on_exception():
        raise ValueError("x")
    with pytest.raises(ValueError, match="x"):
        coordinator.raise_requested_exception()


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_stop_on_exception_lets_interrupts_through(kind: type[BaseException]) -> None:
    """What is to end the program, or a generator, goes through the block and stops nobody."""
    coordinator = ah.Coordinator()
    with pytest.raises(kind), coordinator.stop_on_exception():
        raise kind
    assert not coordinator.should_stop()


async def test_stop_on_exception_lets_the_cancellation_through() -> None:
    """A cancelled block is left by the cancellation."""
    coordinator = ah.Coordinator()
    with anyio.CancelScope() as scope, coordinator.stop_on_exception():
        scope.cancel()
        await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert not coordinator.should_stop()


async def test_tasks_run_beside_the_block() -> None:
    """Started tasks get their arguments and run at once; join waits for them."""
    log: list[Any] = []

    async def work(*args: Any) -> None:
        await anyio.lowlevel.checkpoint()
        log.append(args)

    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(work, 1, "two", name="named")
        coordinator.start_soon(lambda: work("awaitable"))
        await coordinator.join()
        assert coordinator.joined
    assert sorted(log, key=str) == [("awaitable",), (1, "two")]


async def test_failing_task_is_a_request_to_stop() -> None:
    """A task's error stops the others, and leaves the coordinator with the task's name."""
    log: list[str] = []

    async def watches(coordinator: ah.Coordinator) -> None:
        await coordinator.wait_for_stop()
        log.append("saw it")

    with pytest.raises(ValueError, match="x") as caught:
        async with ah.Coordinator() as coordinator:
            coordinator.start_soon(watches, coordinator)
            coordinator.start_soon(fail, ValueError("x"), name="reader")
            await coordinator.join()
    assert caught.value.__notes__ == ["raised by background task 'reader'"]
    assert log == ["saw it"]


async def test_task_that_reports_its_error_itself() -> None:
    """Inside stop_on_exception a task's error is kept without the task failing."""

    async def work(coordinator: ah.Coordinator) -> None:
        with coordinator.stop_on_exception():
            await fail(ValueError("x"))

    with pytest.raises(ValueError, match="x"):
        async with ah.Coordinator() as coordinator:
            coordinator.start_soon(work, coordinator)
            await coordinator.join()


async def test_end_of_the_input_in_a_task_ends_normally() -> None:
    """A task that meets the end of the input stops the others without an error."""
    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(fail, ah.OutOfRangeError())
        coordinator.start_soon(coordinator.wait_for_stop)
        await coordinator.join()
        assert coordinator.should_stop()


async def test_leaving_cancels_the_tasks() -> None:
    """Tasks that still run when the block is left are cancelled and awaited."""
    log: list[str] = []

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            log.append("over")

    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(work)
        await anyio.wait_all_tasks_blocked()
    assert log == ["over"]
    with pytest.raises(ah.LifecycleError, match="not open"):
        coordinator.start_soon(work)


async def test_leaving_after_join_raises_nothing_again() -> None:
    """An error that join has raised is not raised again by leaving."""
    async with ah.Coordinator() as coordinator:
        coordinator.request_stop(ValueError("x"))
        for _ in range(2):
            with pytest.raises(ValueError, match="x"):
                await coordinator.join()


async def test_join_without_tasks_returns_at_once() -> None:
    """With nothing to wait for, join returns, whatever the grace."""
    async with ah.Coordinator() as coordinator:
        with anyio.fail_after(1):
            await coordinator.join()
        assert coordinator.joined


async def test_join_names_the_tasks_that_run_on() -> None:
    """Tasks that outlive the grace are named; they run on, and a later join waits again."""
    release = anyio.Event()
    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(release.wait, name="stuck")
        coordinator.start_soon(release.wait)
        coordinator.start_soon(anyio.lowlevel.checkpoint, name="quick")
        coordinator.request_stop()
        with pytest.raises(ah.TasksStillRunningError, match=r"0\.001 s after the stop") as caught:
            await coordinator.join(grace=0.001)
        assert (caught.value.names, caught.value.grace) == (("stuck", "wait"), 0.001)
        await coordinator.join(grace=0, ignore_live_tasks=True)
        release.set()
        await coordinator.join()


async def test_grace_begins_with_the_stop() -> None:
    """Before a stop is requested join waits as long as the tasks run."""
    release = anyio.Event()

    async def stop_later() -> None:
        await anyio.sleep(0.005)
        coordinator.request_stop()
        await anyio.sleep(0.005)
        release.set()

    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(release.wait)
        coordinator.start_soon(stop_later)
        with anyio.fail_after(5):
            await coordinator.join(grace=4)


async def test_error_is_raised_before_tasks_are_named() -> None:
    """Where tasks run on and there is an error, join raises the error."""
    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(anyio.sleep_forever)
        coordinator.request_stop(ValueError("x"))
        with pytest.raises(ValueError, match="x"):
            await coordinator.join(grace=0)


async def test_error_after_join_is_the_reporters() -> None:
    """What is reported when nobody waits any more is raised to whoever reports it."""
    async with ah.Coordinator() as coordinator:
        await coordinator.join()
        error = ValueError("late")
        with pytest.raises(ValueError, match="late") as caught:
            coordinator.request_stop(error)
        assert caught.value is error
        coordinator.request_stop(ah.OutOfRangeError("end"))
        assert coordinator.should_stop()
        await coordinator.join()


@pytest.mark.parametrize("before", ["join", "another error"])
async def test_error_that_nobody_will_ask_for_is_logged(
    before: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A task that fails after join, or after another one, is named in the log with its error."""
    go = anyio.Event()

    async def fails_late() -> None:
        await go.wait()
        raise ValueError("late")

    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(fails_late)
        if before == "join":
            coordinator.request_stop()
            with pytest.raises(ah.TasksStillRunningError):
                await coordinator.join(grace=0)
        else:
            coordinator.request_stop(TypeError("first"))
            with pytest.raises(TypeError, match="first"):
                await coordinator.join(grace=0)
        go.set()
        await anyio.wait_all_tasks_blocked()
    (record,) = [each for each in caplog.records if each.name == "asynchooks"]
    assert record.levelname == "ERROR"
    assert "'fails_late'" in record.getMessage()
    assert record.exc_info is not None
    assert repr(record.exc_info[1]) == "ValueError('late')"


async def test_interrupt_in_a_task_takes_the_place_of_an_error() -> None:
    """A KeyboardInterrupt is not lost behind an error that was reported before."""
    with pytest.raises(KeyboardInterrupt):
        async with ah.Coordinator() as coordinator:
            coordinator.request_stop(ValueError("first"))
            coordinator.start_soon(fail, KeyboardInterrupt())
            await anyio.wait_all_tasks_blocked()


@pytest.mark.parametrize(
    "stop",
    [
        lambda coordinator: coordinator.request_stop(),
        lambda coordinator: coordinator.request_stop(ValueError()),
        lambda coordinator: coordinator.request_stop(ah.OutOfRangeError()),
    ],
)
async def test_wait_for_stop_wakes_everybody(stop: Callable[[ah.Coordinator], None]) -> None:
    """All who wait are woken by whichever stop, and who waits later returns at once."""
    woken: list[bool] = []
    coordinator = ah.Coordinator()

    async def wait() -> None:
        woken.append(await coordinator.wait_for_stop())

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        assert woken == []
        stop(coordinator)
    assert woken == [True] * 3
    assert await coordinator.wait_for_stop(timeout=0)


async def test_wait_for_stop_has_a_timeout() -> None:
    """Without a stop it says so after the timeout; 0 asks without waiting."""
    coordinator = ah.Coordinator()
    assert await coordinator.wait_for_stop(timeout=0) is False
    assert await coordinator.wait_for_stop(timeout=0.001) is False


@asynccontextmanager
async def logged(log: list[str], name: str) -> AsyncIterator[str]:
    log.append(f"enter {name}")
    try:
        yield name
    finally:
        log.append(f"exit {name}")


async def test_context_managers_are_left_after_the_tasks() -> None:
    """What is entered is left in reverse order, when the tasks are over."""
    log: list[str] = []

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            log.append("task over")

    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(work)
        for name in "ab":
            assert await coordinator.enter_async_context(logged(log, name)) == name
        await anyio.wait_all_tasks_blocked()
    assert log == ["enter a", "enter b", "task over", "exit b", "exit a"]


async def test_context_manager_is_entered_in_the_coordinators_task_only() -> None:
    """Another task is refused, since it would leave in another task than it entered in."""
    errors: list[Exception] = []

    async def work() -> None:
        try:
            await coordinator.enter_async_context(logged([], "a"))
        except ah.LifecycleError as error:
            errors.append(error)

    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(work)
        await coordinator.join()
    assert "own task" in str(errors[0])


async def test_error_of_a_context_manager_leaves() -> None:
    """An error of leaving what was entered leaves the coordinator."""

    @asynccontextmanager
    async def fails() -> AsyncIterator[None]:
        yield
        raise ValueError("exit")

    with pytest.raises(ValueError, match="exit"):
        async with ah.Coordinator() as coordinator:
            await coordinator.enter_async_context(fails())


async def test_tasks_may_start_tasks() -> None:
    """A background task can start others; join waits for all of them."""
    log: list[int] = []

    async def work(depth: int) -> None:
        await anyio.lowlevel.checkpoint()
        log.append(depth)
        if depth:
            coordinator.start_soon(work, depth - 1)

    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(work, 3)
        await coordinator.join()
    assert log == [3, 2, 1, 0]


async def test_cancelled_block_cancels_the_tasks() -> None:
    """A coordinator whose block is cancelled ends its tasks and lets the cancellation through."""
    log: list[str] = []

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            log.append("over")

    with anyio.CancelScope() as scope:
        async with ah.Coordinator() as coordinator:
            coordinator.start_soon(work)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
            await coordinator.wait_for_stop()
    assert scope.cancelled_caught
    assert log == ["over"]
