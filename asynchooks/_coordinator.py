"""One generation's stop flag, first error, background tasks and runs in flight."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from types import TracebackType
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup

from asynchooks._backend import Interruption, interruption_factory, is_cancellation
from asynchooks._closing import logger
from asynchooks._errors import (
    CLEAN_STOPS,
    LifecycleError,
    TasksStillRunningError,
    are_error_types,
    bare,
    every_leaf,
    note_once,
)
from asynchooks._flight import Interruptible
from asynchooks._ops import name_of
from asynchooks._options import check_seconds
from asynchooks._stop import StopFlag

T = TypeVar("T")


class Coordinator:
    """Coordinates the end of background tasks: a stop flag, the first error, and the tasks.

    A hook gets that of the generation in `after_create_session`. Used alone it is entered with
    ``async with``: leaving it cancels the tasks that still run, and raises the first error unless
    `join` was called. Carries over ``tf.train.Coordinator``.

    Attributes:
        has_report: whether an error was reported, of either kind.
        interruption: starts what can be interrupted, in the event loop in which this was entered.
    """

    def __init__(
        self,
        clean_stop_exception_types: tuple[type[BaseException], ...] = CLEAN_STOPS,
        *,
        stop_flag: StopFlag | None = None,
    ) -> None:
        """Makes a coordinator without tasks.

        Args:
            clean_stop_exception_types: the errors that stop normally, as a plain request does. Not
                `anyio.EndOfStream`: a listener whose peer has hung up has failed.
            stop_flag: where plain requests are kept; None makes a flag of its own.
        """
        if clean_stop_exception_types and not are_error_types(clean_stop_exception_types):
            raise TypeError(
                "clean_stop_exception_types are to be a tuple of exception classes, not "
                f"{clean_stop_exception_types!r}"
            )
        self._clean = clean_stop_exception_types
        self._stop_flag = stop_flag if stop_flag is not None else StopFlag()
        self.has_report: bool = False
        self._error: BaseException | None = None
        self._clean_stop: BaseException | None = None
        self._ending = False
        self._joined = False
        # There only while somebody waits for something to change.
        self._news: anyio.Event | None = None
        self._tasks: dict[object, str] = {}
        self._flights: set[Interruptible] = set()
        self._group: TaskGroup | None = None
        self._stack = AsyncExitStack()
        self._host: int | None = None

    @property
    def joined(self) -> bool:
        """Whether `join` has waited for the tasks."""
        return self._joined

    @property
    def error(self) -> BaseException | None:
        """The first error that was reported, if any."""
        return self._error

    @property
    def clean_stop(self) -> BaseException | None:
        """The first error that was reported and stops normally, such as the end of the input."""
        return self._clean_stop

    def should_stop(self) -> bool:
        """Tells whether tasks are to end: a stop was requested or the generation ends."""
        return self.has_report or self._ending or self._stop_flag.requested

    def request_stop(self, error: BaseException | None = None) -> None:
        """Asks everybody to stop.

        A plain request never interrupts a run. With an error, the runs in flight are interrupted
        and raise it, or, if it is recoverable, are repeated on a new generation.

        Args:
            error: why; only the first one is kept.

        Raises:
            TypeError: `error` is no exception.
            BaseException: `error`, if `join` was called already.
        """
        if error is None:
            self._stop_flag.request()
            self._tell()
            return
        if not isinstance(error, BaseException):
            raise TypeError(f"a stop is requested with an exception or nothing, not {error!r}")
        if self._joined and not self._stops_normally(error):
            raise error
        self.report(error)

    def raise_requested_exception(self) -> None:
        """Raises the first error that was reported, if any."""
        if self._error is not None:
            raise self._error

    def clear_stop(self) -> None:
        """Takes back the request to stop and forgets the error."""
        self._stop_flag.clear()
        self.has_report = False
        self._error = None
        self._clean_stop = None
        self._joined = False

    @contextmanager
    def stop_on_exception(self) -> Generator[None]:
        """Turns an `Exception` in the block into a request to stop with it.

        Cancellation, `KeyboardInterrupt`, `SystemExit` and `GeneratorExit` go through.
        """
        try:
            yield
        except Exception as error:
            self.request_stop(error)

    def start_soon(
        self, fn: Callable[..., Awaitable[object]], *args: Any, name: str | None = None
    ) -> None:
        """Starts a background task, which is over before the next generation starts.

        If it fails, that is a request to stop with its error. At the end of the generation it is
        cancelled, after the session's `stop_grace`.

        Args:
            fn: an async function.
            *args: its arguments.
            name: what messages call it; None takes the function's name.

        Raises:
            TypeError: `fn` is not callable.
            LifecycleError: the coordinator is not open.
        """
        if not callable(fn):
            raise TypeError(f"start_soon() takes an async function, not {fn!r}")
        if self._group is None:
            raise LifecycleError("the coordinator is not open; enter it with `async with`")
        key = object()
        self._tasks[key] = name or name_of(fn)
        self._group.start_soon(self._attend, key, fn, args, name=self._tasks[key])

    async def enter_async_context(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Enters an async context manager, which is left when the generation ends.

        Args:
            manager: left after the background tasks have ended, in reverse order of entering.

        Raises:
            TypeError: `manager` is no async context manager.
            LifecycleError: called in another task than the coordinator's own, which is the one that
                runs `after_create_session`.
        """
        if not isinstance(manager, AbstractAsyncContextManager):
            raise TypeError(
                f"enter_async_context() takes an async context manager, not {manager!r}"
            )
        if self._host != anyio.get_current_task().id:
            raise LifecycleError(
                "enter_async_context() is to be called in the coordinator's own task: in "
                "after_create_session(), or where the coordinator was entered"
            )
        return await self._stack.enter_async_context(manager)

    async def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until tasks are to end.

        Args:
            timeout: seconds; None waits for ever.

        Returns:
            `should_stop`.
        """
        if timeout is not None:
            check_seconds("timeout", timeout, infinite=True)
        with anyio.move_on_after(timeout):
            await self._until(self.should_stop)
        return self.should_stop()

    async def join(self, grace: float = 120.0, *, ignore_live_tasks: bool = False) -> None:
        """Waits for the background tasks.

        Args:
            grace: seconds that they may run on after the stop was requested.
            ignore_live_tasks: whether those that run even longer are no error.

        Raises:
            TasksStillRunningError: tasks ran longer than that. They run on.
            BaseException: the first error that was reported.
        """
        check_seconds("grace", grace, infinite=True)
        await self._until(lambda: not self._tasks or self.should_stop())
        with anyio.move_on_after(grace):
            await self._until(lambda: not self._tasks)
        self._joined = True
        self.raise_requested_exception()
        if self._tasks and not ignore_live_tasks:
            raise TasksStillRunningError(tuple(self._tasks.values()), grace)

    async def __aenter__(self) -> Coordinator:
        """Lets tasks be started."""
        await self.open()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Cancels the tasks that still run, and leaves the context managers that were entered."""
        await self.aclose()
        if exc is None and not self._joined:
            self.raise_requested_exception()

    async def open(self) -> None:
        """Lets tasks be started, and makes the current task the coordinator's own."""
        if self._host is not None:
            raise LifecycleError("a coordinator is entered once; make a new one")
        self._host = anyio.get_current_task().id
        self.interruption: Callable[[], Interruption] = interruption_factory()
        self._stop_flag.listen(self._tell)
        self._group = await anyio.create_task_group().__aenter__()

    async def aclose(self) -> None:
        """Ends the tasks, and leaves the context managers that were entered."""
        assert self._group is not None
        group, self._group = self._group, None
        self._stop_flag.unlisten(self._tell)
        group.cancel_scope.cancel()
        try:
            await group.__aexit__(None, None, None)
        finally:
            await self._stack.aclose()

    async def wind_down(self, grace: float) -> None:
        """Tells the tasks to end, and waits at most `grace` seconds until they have."""
        self._ending = True
        self._tell()
        with anyio.move_on_after(grace):
            await self._until(lambda: not self._tasks)

    def report(self, error: BaseException) -> None:
        """Takes in an error as `request_stop` does, after `join` too."""
        error = bare(error)
        self.has_report = True
        if self._stops_normally(error):
            self._clean_stop = self._clean_stop or error
        elif self._error is None:
            self._error = error
            for flight in self._flights:
                flight.interrupt()
        self._tell()

    def take_off(self, flight: Interruptible) -> None:
        """Adds something under way, which an error that is reported interrupts."""
        self._flights.add(flight)

    def land(self, flight: Interruptible) -> None:
        """Ends `take_off`."""
        self._flights.discard(flight)
        if self._news is not None:
            self._tell()

    def all_landed(self) -> bool:
        """Tells whether nothing is in flight."""
        return not self._flights

    async def wait_landed(self) -> None:
        """Waits until nothing is in flight."""
        await self._until(self.all_landed)

    def interrupt_all(self, error: BaseException) -> None:
        """Interrupts all runs in flight, also those whose work is committed."""
        self.has_report = True
        self._error = self._error or error
        for flight in self._flights:
            flight.interrupt(even_if_committed=True)

    async def _attend(
        self, key: object, fn: Callable[..., Awaitable[object]], args: tuple[Any, ...]
    ) -> None:
        try:
            await fn(*args)
        except BaseException as error:
            if is_cancellation(error):
                raise
            self._take_in(self._tasks[key], error)
        finally:
            del self._tasks[key]
            self._tell()

    def _take_in(self, name: str, error: BaseException) -> None:
        if not isinstance(error, Exception):
            # An interrupt takes the place of an error that was reported before.
            self._error = None
            self.report(error)
            return
        note_once(error, f"raised by background task {name!r}")
        if self._joined or self._error is not None:
            # Nobody will ask for this one.
            logger.error("background task %r failed as well", name, exc_info=error)
        else:
            self.report(error)

    def _stops_normally(self, error: BaseException) -> bool:
        return every_leaf(error, lambda leaf: isinstance(leaf, self._clean))

    def _tell(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = None

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            if self._news is None:
                self._news = anyio.Event()
            await self._news.wait()
