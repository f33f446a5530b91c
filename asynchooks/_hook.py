"""The hook, and what it is given and gives back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from asynchooks._coordinator import Coordinator
from asynchooks._lifecycle import SessionEnd
from asynchooks._options import RunOptions
from asynchooks._session import Session


class SessionRunArgs(NamedTuple):
    """What a hook, or the caller, asks of one run.

    Carries over ``tf.compat.v1.train.SessionRunArgs``.

    Attributes:
        fetches: what to evaluate, nested as in `Session.run`; None asks for nothing.
        feed_dict: values by op or name; no op may be fed by two parties.
        options: merged with those of the others.
    """

    fetches: Any = None
    feed_dict: Any = None
    options: RunOptions | None = None


class SessionRunValues(NamedTuple):
    """What a run gave.

    Carries over ``tf.compat.v1.train.SessionRunValues``.

    Attributes:
        results: the values of the hook's own fetches, in their nesting; None if it asked for none.
        options: the merged options of the run.
    """

    results: Any
    options: RunOptions


class SessionRunContext:
    """One attempt of one run, as hooks see it: the same object before and after.

    Carries over ``tf.compat.v1.train.SessionRunContext``.

    Attributes:
        original_args: what the caller asked for.
        session: the raw session.
    """

    __slots__ = ("_request_stop", "_state", "_stop_requested", "original_args", "session")

    def __init__(
        self, original_args: SessionRunArgs, session: Session, request_stop: Callable[[], None]
    ) -> None:
        """Is called for each attempt."""
        self.original_args: SessionRunArgs = original_args
        self.session: Session = session
        self._request_stop = request_stop
        self._stop_requested = False
        self._state: dict[Any, Any] | None = None

    @property
    def state(self) -> dict[Any, Any]:
        """A place for what hooks keep from before to after the run; the hook can be the key."""
        if self._state is None:
            self._state = {}
        return self._state

    @property
    def stop_requested(self) -> bool:
        """Whether a stop was requested through this context."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Asks the session to stop after this run."""
        self._stop_requested = True
        self._request_stop()


class SessionRunHook:
    """Extends the runs of a `MonitoredSession`; override what is needed.

    Methods that are not overridden are not called and cost nothing. Runs may overlap, so what
    belongs to one run is kept in `SessionRunContext.state`; what is to be kept for good is a
    `Variable` made in `begin`. Carries over ``tf.compat.v1.train.SessionRunHook``; `on_run_error`,
    `close` and `state_name` are additions.

    Attributes:
        state_name: the name of the variable that the hook keeps its state in, if it keeps any; a
            session refuses two hooks of the same one.
    """

    state_name: str | None = None

    async def begin(self) -> None:
        """Is called once, in list order, before the first session is created.

        The default graph is the session's and may be added to; a second `begin` on the same graph
        must not change it. An error leaves the session unentered; `close` is called on the hooks
        whose `begin` has returned. Runs in the task that enters the session.
        """

    async def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Is called for each generation, in list order, before any run on it.

        Not called again before `end`, nor for a generation that another hook failed to set up.
        Runs in the generation's own task; the graph is final. A recoverable error replaces the
        generation, any other leaves the run that needed it (or entering).

        Args:
            session: the generation's raw session.
            coord: what is started through it is over before the next generation starts.
        """

    async def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Is called before each attempt of each run, in list order.

        Not called for runs on the raw session, and not after another hook's `before_run` raised. If
        it returns, exactly one of `after_run` and `on_run_error` follows. Runs in the task that
        called `run`.

        Args:
            run_context: this attempt.

        Returns:
            What to add to the run, or None.
        """
        return None

    async def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Is called after a run has committed, in list order.

        Not called if the attempt failed, was cancelled or met the end of the input, nor after
        another hook's `after_run` raised. An error leaves the run, which is never repeated: its
        work is done.

        Args:
            run_context: the object that `before_run` got.
            run_values: what this hook asked for.
        """

    async def on_run_error(self, run_context: SessionRunContext, error: BaseException) -> None:
        """Is called in list order instead of `after_run` when the attempt did not succeed.

        Also if it is going to be repeated. Shielded from cancellation up to the session's
        `close_timeout`. An error is attached to `error` as a note.

        Args:
            run_context: the object that `before_run` got.
            error: what ended the attempt: an error, a cancellation or the end of the input.
        """

    async def end(self, session: Session) -> None:
        """Is called at a clean end only, in list order, on a live session.

        A clean end is: the block ended, a stop was requested, `close` was called, or the input
        ended. Not called after any other error, nor after cancellation. If the last generation was
        lost, it is recovered first. An error leaves the block; the `end` of the other hooks is
        called all the same. Shielded from cancellation up to `close_timeout`.

        Args:
            session: the raw session.
        """

    async def close(self, session_end: SessionEnd) -> None:
        """Is called exactly once if `begin` returned, in reverse order, whatever happened.

        After the last generation is closed. Shielded from cancellation up to `close_timeout`. An
        error leaves the block if there is no other, and is attached to that one as a note if so.

        Args:
            session_end: how the session ended.
        """


HOOK_METHODS = (
    "begin",
    "after_create_session",
    "before_run",
    "after_run",
    "on_run_error",
    "end",
    "close",
)
"""The names of the methods of `SessionRunHook`."""


def overridden(hook: SessionRunHook, method: str) -> Callable[..., Any] | None:
    """Returns the hook's method, or None if it does not override it."""
    if method not in vars(hook) and getattr(type(hook), method) is getattr(SessionRunHook, method):
        return None
    bound: Callable[..., Any] = getattr(hook, method)
    return bound


def label(hooks: tuple[SessionRunHook, ...], index: int, method: str | None = None) -> str:
    """Returns what messages call a hook, or one of its methods."""
    name = type(hooks[index]).__name__
    return f"{name}{'.' + method if method else ''} (hooks[{index}])"
