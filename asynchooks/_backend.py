"""The one place that knows the event loops by name: host tasks, cancellation, interruption."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextvars import Context
from functools import partial
from typing import Any, Protocol

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

# The loop itself refers to its tasks weakly only.
_asyncio_tasks: set[asyncio.Task[None]] = set()


class Interruption(Protocol):
    """A stretch of the current task, from now to `end`, that can be cancelled from outside.

    Attributes:
        before: what `native_cancellations` was at its start.
    """

    before: int

    def end(self, error: BaseException | None) -> bool:
        """Ends it.

        Args:
            error: what leaves it, if anything does.

        Returns:
            Whether `error` is this cancellation and nothing else, and so is not to leave.
        """
        ...

    def cancel(self) -> None:
        """Cancels it."""
        ...

    def check(self) -> None:
        """Raises a native cancellation that something in it has swallowed."""
        ...


def interruption_factory() -> Callable[[], Interruption]:
    """Returns what starts an interruption on the running event loop.

    On trio that is a cancel scope; on asyncio a native cancellation, at a tenth of the cost.
    """
    if _on_asyncio():
        return partial(_NativeInterruption, asyncio.get_running_loop())
    import trio

    return partial(_ScopeInterruption, trio.CancelScope)


class _ScopeInterruption:
    __slots__ = ("_scope", "before")

    def __init__(self, make_scope: Callable[[], Any]) -> None:
        self._scope = make_scope()
        self._scope.__enter__()
        self.before = 0

    def end(self, error: BaseException | None) -> bool:
        kind = None if error is None else type(error)
        traceback = None if error is None else error.__traceback__
        return bool(self._scope.__exit__(kind, error, traceback))

    def cancel(self) -> None:
        self._scope.cancel()

    def check(self) -> None:
        pass


class _NativeInterruption:
    __slots__ = ("_cancelled", "_left", "_loop", "_task", "before")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        task = asyncio.current_task(loop)
        assert task is not None
        self._loop = loop
        self._task: asyncio.Task[Any] = task
        self._cancelled = False
        self._left = False
        self.before = task.cancelling()

    def end(self, error: BaseException | None) -> bool:
        self._left = True
        if not self._cancelled:
            if error is None:
                self.check()
            return False
        others = self._task.uncancel() > self.before
        # A scope that is cancelled as well would not know this cancellation for its own; it sends
        # another one.
        return isinstance(error, asyncio.CancelledError) and (not others or _is_scope_cancelled())

    def check(self) -> None:
        # Asyncio delivers a cancellation only once; that of a scope comes again by itself.
        if self._task.cancelling() > self.before and not _is_scope_cancelled():
            raise asyncio.CancelledError

    def cancel(self) -> None:
        if self._task is asyncio.current_task(self._loop):
            # It could leave the block before the cancellation is delivered.
            self._loop.call_soon(self._deliver)
        else:
            self._deliver()

    def _deliver(self) -> None:
        if not self._left and not self._cancelled:
            self._cancelled = True
            self._task.cancel("interrupted by an error that was reported to the coordinator")


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


def waker() -> Callable[[Callable[[], object]], object]:
    """Returns what has the running event loop call a function soon, also out of a signal handler.

    It may be called in any thread.
    """
    if _on_asyncio():
        return asyncio.get_running_loop().call_soon_threadsafe
    import trio

    return trio.lowlevel.current_trio_token().run_sync_soon


Counter = Callable[[], int]
"""Returns how often one task was asked to cancel natively."""


def counter_factory() -> Callable[[], Counter]:
    """Returns what makes a counter for the current task, on the running event loop."""
    if not _on_asyncio():
        return _trio_counter
    # To look the loop up costs more than all the rest.
    return partial(_asyncio_counter, asyncio.get_running_loop())


def scope_check() -> Callable[[], bool]:
    """Returns what tells, on this event loop, whether a cancelled scope waits for a checkpoint.

    On asyncio nothing that matters ever does: what interrupts a run there is thrown at once.
    """
    if _on_asyncio():
        return _never
    import trio

    # As `_is_scope_cancelled`, which costs a tenth of a raw run more.
    return lambda: trio.current_effective_deadline() == -math.inf


def native_cancellations() -> int:
    """Returns how often the current asyncio task was asked to cancel; 0 on trio."""
    return counter_factory()()()


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


def _asyncio_counter(loop: asyncio.AbstractEventLoop) -> Counter:
    task = asyncio.current_task(loop)
    return task.cancelling if task is not None else _no_cancellations


def _trio_counter() -> Counter:
    return _no_cancellations


def _no_cancellations() -> int:
    return 0


def _never() -> bool:
    return False


def _is_scope_cancelled() -> bool:
    return anyio.current_effective_deadline() == -math.inf


async def _awaited(fn: Callable[[], Awaitable[None]]) -> None:
    await fn()


def _on_asyncio() -> bool:
    return anyio.get_cancelled_exc_class() is asyncio.CancelledError
