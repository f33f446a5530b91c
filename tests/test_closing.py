"""Clean-up in its one shape: steps that all run, shielded up to a deadline."""

from __future__ import annotations

import anyio
import pytest

from asynchooks._closing import outlast, run_all


class Steps:
    """Makes steps that log their names, and may fail or hang."""

    def __init__(self) -> None:
        self.log: list[str] = []

    async def works(self) -> None:
        await anyio.sleep(0.001)
        self.log.append("worked")

    async def fails(self) -> None:
        self.log.append("failed")
        raise ValueError("fails")

    async def hangs(self) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            self.log.append("hung")


async def test_every_step_runs() -> None:
    """A step that fails does not keep the others from running; its error is returned."""
    steps = Steps()
    planned = [("a", steps.fails), ("b", steps.works), ("c", steps.fails)]
    errors = await run_all(planned, timeout=5)
    assert steps.log == ["failed", "worked", "failed"]
    assert [repr(error) for error in errors] == ["ValueError('fails')"] * 2


async def test_steps_are_shielded() -> None:
    """A cancelled scope round the steps does not cut them short."""
    steps = Steps()
    with anyio.CancelScope() as scope:
        scope.cancel()
        assert await run_all([("a", steps.works), ("b", steps.works)], timeout=5) == []
        steps.log.append("after")
        await anyio.sleep_forever()
    assert steps.log == ["worked", "worked", "after"]


async def test_straggler_is_cancelled_and_named(caplog: pytest.LogCaptureFixture) -> None:
    """A step that takes longer than the timeout is cancelled, and the others run."""
    steps = Steps()
    planned = [("hanging", steps.hangs), ("b", steps.works)]
    assert await run_all(planned, timeout=0.005) == []
    assert steps.log == ["hung", "worked"]
    assert [record.getMessage() for record in caplog.records] == [
        "hanging did not finish within 0.005 s; closing goes on"
    ]


async def test_what_is_waited_for_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    """A wait ends when the thing does, also if it has ended before."""
    done = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.sleep, 0.001)
        tasks.start_soon(outlast, "x", done.wait, done.is_set, 5)
        await anyio.wait_all_tasks_blocked()
        done.set()
    assert await outlast("x", done.wait, done.is_set, 0)
    assert caplog.records == []


async def test_wait_is_not_cut_short_by_a_scope() -> None:
    """A cancelled scope round the wait does not end it."""
    done = anyio.Event()

    async def later() -> None:
        await anyio.sleep(0.002)
        done.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(later)
        with anyio.CancelScope() as scope:
            scope.cancel()
            assert await outlast("x", done.wait, done.is_set, 5)


async def test_wait_has_a_deadline(caplog: pytest.LogCaptureFixture) -> None:
    """What does not end in time is named, and the wait is over."""
    done = anyio.Event()
    assert not await outlast("the thing", done.wait, done.is_set, 0.002)
    assert [record.getMessage() for record in caplog.records] == [
        "the thing did not finish within 0.002 s; closing goes on"
    ]


async def test_error_of_what_is_waited_for_is_raised() -> None:
    """An error that is no cancellation ends the wait."""

    async def fails() -> None:
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        await outlast("x", fails, lambda: False, 5)
