"""Watching an awaitable suspend changes nothing for it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from asynchooks.testing._suspensions import Watched


class Count:
    """Counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1


async def test_each_suspension_is_seen_and_the_value_returned() -> None:
    """The callback is called once for each suspension, none for an awaitable without any."""

    async def suspend(times: int) -> int:
        for _ in range(times):
            await anyio.sleep(0)
        return times

    for times in (0, 1, 3):
        count = Count()
        assert await Watched(suspend(times), count) == times
        assert count.calls == times


async def test_errors_pass_in_and_out() -> None:
    """What the event loop throws in arrives, and what the awaitable raises leaves."""

    async def fail() -> None:
        with anyio.move_on_after(0) as scope:
            await anyio.sleep_forever()
        assert scope.cancelled_caught
        raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        await Watched(fail(), Count())


async def test_values_pass_in() -> None:
    """What a suspension gives to the awaitable comes through."""
    send, receive = anyio.create_memory_object_stream[str](1)
    count = Count()
    async with send, receive, anyio.create_task_group() as tasks:

        async def answer() -> None:
            await checkpoint()
            await send.send("answer")

        tasks.start_soon(answer)
        assert await Watched(receive.receive(), count) == "answer"
    assert count.calls > 0


async def test_an_awaitable_without_a_coroutine_is_watched_too() -> None:
    """Anything that can be awaited can be watched."""

    class Nested:
        def __await__(self) -> Generator[Any, Any, None]:
            return checkpoint().__await__()

    count = Count()
    await Watched(Nested(), count)
    assert count.calls == 1
