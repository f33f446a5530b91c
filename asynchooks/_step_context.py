"""What a step function is given."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

from asynchooks._errors import RunAfterStopError, StepFunctionStopped
from asynchooks._graph import Op
from asynchooks._hook import SessionRunArgs
from asynchooks._ops import in_place, name_of
from asynchooks._options import RunOptions
from asynchooks._session import Session
from asynchooks._stop import StopFlag

T = TypeVar("T")


class StepContext:
    """What a step function can do; see `MonitoredSession.run_step_fn`.

    Carries over ``tf.compat.v1.train.MonitoredSession.StepContext``.

    Attributes:
        session: the raw session of the current generation: its runs pass by the hooks.
    """

    __slots__ = ("_run", "_runs_after_stop", "_stop_flag", "session")

    def __init__(
        self,
        session: Session,
        run: Callable[[SessionRunArgs], Awaitable[Any]],
        stop_flag: StopFlag,
        *,
        repeated: bool,
    ) -> None:
        """Is called for each attempt."""
        self.session: Session = session
        self._run = run
        self._stop_flag = stop_flag
        # A stop that was requested in an earlier attempt does not end the step that is repeated.
        self._runs_after_stop = repeated and stop_flag.requested

    @property
    def stop_requested(self) -> bool:
        """Whether anybody has requested a stop."""
        return self._stop_flag.requested

    @overload
    async def run_with_hooks(
        self, fetches: Op[T], feed_dict: Any = None, options: RunOptions | None = None
    ) -> T: ...
    @overload
    async def run_with_hooks(
        self,
        fetches: Callable[[], Awaitable[T]],
        feed_dict: Any = None,
        options: RunOptions | None = None,
    ) -> T: ...
    @overload
    async def run_with_hooks(
        self, fetches: Any, feed_dict: Any = None, options: RunOptions | None = None
    ) -> Any: ...
    async def run_with_hooks(
        self, fetches: Any, feed_dict: Any = None, options: RunOptions | None = None
    ) -> Any:
        """Runs as `MonitoredSession.run` does, but is not repeated by itself: the step is.

        Args:
            fetches: as in `Session.run`.
            feed_dict: as in `Session.run`.
            options: as in `Session.run`.

        Raises:
            RunAfterStopError: a stop was requested.
            BaseException: as `Session.run`.
        """
        if self._stop_flag.requested and not self._runs_after_stop:
            raise RunAfterStopError("run_with_hooks() after a stop was requested")
        return await self._run(SessionRunArgs(fetches, feed_dict, options))

    def request_stop(self) -> None:
        """Asks the session to stop and leaves the step function.

        Raises:
            StepFunctionStopped: always; let it through. Leaving the block with it is a clean end.
        """
        self._stop_flag.request()
        raise StepFunctionStopped("the step function requested a stop")


def check_step_fn(step_fn: object) -> None:
    """Checks that a step function can be called with a step context.

    Raises:
        TypeError: it is not callable.
        ValueError: it cannot be called with one argument.
    """
    message = "a step function takes one argument, the step context, and returns an awaitable"
    if not callable(step_fn):
        raise TypeError(f"{message}; {step_fn!r} is not callable")
    try:
        inspect.signature(step_fn).bind(None)
    except TypeError as error:
        raise ValueError(f"{message}; {name_of(step_fn)!r}: {error}") from None


def awaitable_of(
    step_fn: Callable[[StepContext], Awaitable[T]], context: StepContext
) -> Awaitable[T]:
    """Calls a step function.

    Raises:
        TypeError: it did not return an awaitable.
    """
    result = in_place(step_fn, context)
    if not inspect.isawaitable(result):
        raise TypeError(f"step function {name_of(step_fn)!r} returned {result!r}, no awaitable")
    return result
