"""The one place that knows the event loops by name: tasks of no scope, native cancellation."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

# The loop itself refers to its tasks weakly only.
_asyncio_tasks: set[asyncio.Task[None]] = set()


def spawn_host_task(fn: Callable[[], Awaitable[None]], name: str, context: Context) -> None:
    """Starts `fn` in a task that belongs to the event loop and to no caller's scope.

    Args:
        fn: must not raise; what it has to say it leaves behind itself.
        name: shown by debuggers.
        context: the context variables that it sees.
    """
    if _on_asyncio():
        task = asyncio.get_running_loop().create_task(_awaited(fn), name=name, context=context)
        _asyncio_tasks.add(task)
        task.add_done_callback(_asyncio_tasks.discard)
    else:
        import trio

        trio.lowlevel.spawn_system_task(fn, name=name, context=context)


def native_cancellations() -> int:
    """Returns how often the current asyncio task was asked to cancel; 0 on trio."""
    if not _on_asyncio():
        return 0
    task: asyncio.Task[Any] | None = asyncio.current_task()
    return task.cancelling() if task is not None else 0


def is_cancelled(since: int) -> bool:
    """Tells whether the current task is to end.

    Args:
        since: what `native_cancellations` was when the task was not yet to end.
    """
    return anyio.current_effective_deadline() == -math.inf or native_cancellations() > since


async def raise_if_cancelled(since: int) -> None:
    """Raises the backend's cancellation if the current task is to end.

    Args:
        since: what `native_cancellations` was when the task was not yet to end.
    """
    await checkpoint_if_cancelled()
    raise_if_natively_cancelled(since)


def raise_if_natively_cancelled(since: int) -> None:
    """Raises asyncio's cancellation if the current task was asked to cancel natively."""
    if native_cancellations() > since:
        raise asyncio.CancelledError


def is_cancellation(error: BaseException) -> bool:
    """Tells whether `error` is the backend's cancellation."""
    return isinstance(error, anyio.get_cancelled_exc_class())


async def _awaited(fn: Callable[[], Awaitable[None]]) -> None:
    await fn()


def _on_asyncio() -> bool:
    return anyio.get_cancelled_exc_class() is asyncio.CancelledError
