"""Bad input to sessions, hooks, recovery and coordinators: made wrongly or used at a wrong time."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import tenacity

import asynchooks as ah
from tests.bad_input.world import Asks, Log, Row, World


class PlainEnd(ah.SessionRunHook):
    """A hook whose `end` is no coroutine function."""

    def end(self, session: Any) -> None:  # type: ignore[override]
        """Is not awaited."""


class Streams(ah.SessionRunHook):
    """A hook whose `before_run` is an async generator."""

    async def before_run(self, run_context: Any) -> AsyncIterator[None]:  # type: ignore[override]
        yield


class NoMethods:
    """An object with no method of a hook."""


class EndIsNumber:
    """An object whose `end` is no method."""

    end = 3


class GivesNothing:
    """A session creator that forgets to return."""

    def create_session(self, graph: ah.Graph, state: ah.SessionState) -> Any:
        return None


class GivesNoSession:
    """A session creator whose context manager gives something else."""

    @asynccontextmanager
    async def create_session(self, graph: ah.Graph, state: ah.SessionState) -> AsyncIterator[Any]:
        yield 3


async def enter(session: Any, times: int = 1) -> None:
    """Enters a session or coordinator, and leaves it."""
    for _ in range(times):
        async with session:
            pass


async def enter_within(session: Any) -> None:
    """Enters a session or coordinator that is entered."""
    async with session, session:
        pass


async def run_with(w: World, hook: Any) -> None:
    """Makes a run with a hook."""
    async with ah.MonitoredSession(w.draft, [Log(w.ran), hook]) as session:
        await session.run([])


async def run_after(w: World, end: str, call: Any) -> None:
    """Uses a session after it was closed, left or stopped."""
    async with ah.MonitoredSession(w.draft, [Log(w.ran)]) as session:
        if end == "stop":
            session.request_stop()
        if end == "close":
            await session.close()
        if end != "leave":
            await call(session)
    await call(session)


def no_task() -> None:
    return None


async def use_coordinator(call: Any) -> None:
    """Uses a coordinator that is entered."""
    async with ah.Coordinator() as coordinator:
        await call(coordinator)


async def in_coordinator(call: Any) -> None:
    """Calls a plain method of a coordinator that is entered."""
    async with ah.Coordinator() as coordinator:
        call(coordinator)


async def hook_in_two_sessions(w: World) -> None:
    async with ah.MonitoredSession(ah.Graph(), [w.hooks[1]]):
        pass


def make_session(what: str, error: type[Exception], *words: str, **arguments: Any) -> Row:
    """Returns a row that makes a session with wrong arguments."""
    return Row(what, lambda w: ah.MonitoredSession(**arguments), error, words)


hook = Asks()

SESSIONS = [
    make_session("graph that is a name", TypeError, "graph", "'g'", graph="g"),
    make_session("hooks that are one hook", TypeError, "hooks", "list", hooks=hook),
    make_session("hooks that are None", TypeError, "hooks", "list", "None", hooks=None),
    make_session("hooks that are a string", TypeError, "hooks", "list", "'ab'", hooks="ab"),
    make_session("hook that is None", TypeError, "hooks[1]", "None", hooks=[hook, None]),
    make_session("hook that is a class", TypeError, "hooks[0]", "Asks", "instance", hooks=[Asks]),
    make_session("hook that is none", TypeError, "hooks[0]", "sync_hook", hooks=[NoMethods()]),
    make_session(
        "hook listed twice", ValueError, "Asks (hooks[1])", "hooks[0]", hooks=[hook, hook]
    ),
    make_session(
        "plain method", TypeError, "PlainEnd.end (hooks[0])", "sync_hook", hooks=[PlainEnd()]
    ),
    make_session(
        "async generator method",
        TypeError,
        "Streams.before_run (hooks[1])",
        "async generator",
        hooks=[hook, Streams()],
    ),
    make_session(
        "session creator that is none", TypeError, "create_session", "3", session_creator=3
    ),
    make_session(
        "session creator that is a class",
        TypeError,
        "session_creator",
        "ChiefSessionCreator",
        "instance",
        session_creator=ah.ChiefSessionCreator,
    ),
    make_session("recovery that is a number", TypeError, "recovery", "Recovery", "5", recovery=5),
    make_session(
        "recovery that is a class", TypeError, "recovery", "Recovery", recovery=ah.Recovery
    ),
    *(
        make_session(f"{name} {value!r}", error, name, "seconds", repr(value), **{name: value})
        for name in ("stop_grace", "close_timeout")
        for value, error in [
            (-0.1, ValueError),
            (math.nan, ValueError),
            ("1", TypeError),
            (None, TypeError),
        ]
    ),
    make_session("endless stop_grace", ValueError, "stop_grace", "inf", stop_grace=math.inf),
    Row("raw session on a name", lambda w: ah.Session("g"), TypeError, ("graph", "'g'")),
    Row("raw session with a dict", lambda w: ah.Session(w.graph, {}), TypeError, ("state", "{}")),
    Row(
        "creator that returns nothing",
        lambda w: enter(w.fresh(session_creator=GivesNothing())),
        TypeError,
        ("create_session", "async context manager", "None"),
    ),
    Row(
        "creator that gives no session",
        lambda w: enter(w.fresh(session_creator=GivesNoSession())),
        TypeError,
        ("create_session", "Session", "3"),
    ),
]

CALLS: dict[str, Any] = {
    "run": lambda session: session.run([]),
    "run_step_fn": lambda session: session.run_step_fn(lambda step: step.run_with_hooks([])),
}

LIFE = [
    *(
        Row(
            f"{name} before the session is entered",
            lambda w, call=call: call(w.fresh()),
            ah.LifecycleError,
            ("not entered", "async with"),
        )
        for name, call in CALLS.items()
    ),
    *(
        Row(
            f"{name} after {end}",
            lambda w, end=end, call=call: run_after(w, end, call),
            ah.SessionClosedError,
            ("closed",),
        )
        for end in ("close", "leave")
        for name, call in CALLS.items()
    ),
    *(
        Row(
            f"{name} after a stop",
            lambda w, call=call: run_after(w, "stop", call),
            ah.RunAfterStopError,
            ("stop", "run"),
        )
        for name, call in CALLS.items()
    ),
    Row("raw run before entering", lambda w: ah.Session().run([]), ah.LifecycleError, ("entered",)),
    Row(
        "session entered in itself", lambda w: enter_within(w.session), ah.LifecycleError, ("open",)
    ),
    Row("session entered again", lambda w: enter(w.fresh(), 2), ah.SessionClosedError, ("closed",)),
    Row(
        "raw session entered in itself", lambda w: enter_within(w.raw), ah.LifecycleError, ("open",)
    ),
    Row(
        "raw session before it is entered",
        lambda w: w.fresh().session,
        ah.LifecycleError,
        ("not entered",),
    ),
    Row(
        "coordinator before it is entered",
        lambda w: w.fresh().coordinator,
        ah.LifecycleError,
        ("not entered",),
    ),
    Row(
        "hook used in two live sessions",
        hook_in_two_sessions,
        ValueError,
        ("Asks (hooks[0])", "another live session"),
    ),
]

TOLD = ("before_run", "on_run_error")
ASKS = "Asks (hooks[1])"


def asked(what: str, make: Any, error: type[Exception], *words: str, other: Any = None) -> Row:
    """Returns a row in which a hook asks for something wrong, with its own name in the error."""
    return Row(
        f"hook that asks for {what}",
        lambda w: w.ask(make(w), None if other is None else other(w)),
        error,
        (ASKS, *words),
        TOLD,
    )


HOOKS = [
    asked("a dict", lambda w: {"fetches": w.x}, TypeError, "before_run", "SessionRunArgs"),
    asked("an op", lambda w: w.x, TypeError, "before_run", "SessionRunArgs", "'x'"),
    asked("False", lambda w: False, TypeError, "before_run", "SessionRunArgs", "False"),
    asked("a number", lambda w: ah.SessionRunArgs(3), TypeError, "cannot fetch 3"),
    asked("None in a list", lambda w: ah.SessionRunArgs([None]), TypeError, "cannot fetch None"),
    asked("an unknown name", lambda w: ah.SessionRunArgs("q"), ValueError, "'q'"),
    asked("a foreign op", lambda w: ah.SessionRunArgs(w.foreign), ValueError, "another graph"),
    asked("feeds in a list", lambda w: ah.SessionRunArgs(None, [1]), TypeError, "feed_dict", "[1]"),
    asked("a feed of a number", lambda w: ah.SessionRunArgs(None, {3: 1}), TypeError, "feed 3"),
    asked("an unknown feed", lambda w: ah.SessionRunArgs(None, {"q": 1}), ValueError, "'q'"),
    asked("a dict of options", lambda w: ah.SessionRunArgs(options={}), TypeError, "RunOptions"),
    asked(
        "a feed that the caller has",
        lambda w: ah.SessionRunArgs(None, {w.p: 7}),
        ah.FeedConflictError,
        "'p'",
        "the caller",
    ),
    asked(
        "a feed that another hook has",
        lambda w: ah.SessionRunArgs(None, {w.p: 7}),
        ah.FeedConflictError,
        "'p'",
        "AsksToo (hooks[2])",
        other=lambda w: ah.SessionRunArgs(None, {"p": 7}),
    ),
    Row("stop at no step", lambda w: ah.StopAtStepHook(), ValueError, ("num_steps", "last_step")),
    Row(
        "stop at two steps",
        lambda w: ah.StopAtStepHook(num_steps=1, last_step=2),
        ValueError,
        ("exactly one", "num_steps", "last_step"),
    ),
    Row("stop at a name", lambda w: ah.StopAtStepHook(last_step="5"), TypeError, ("int", "'5'")),
    Row("stop at True", lambda w: ah.StopAtStepHook(num_steps=True), TypeError, ("int", "True")),
    Row("feed function that is a dict", lambda w: ah.FeedFnHook({}), TypeError, ("feed_fn", "{}")),
    Row(
        "feed function that takes arguments",
        lambda w: ah.FeedFnHook(lambda context: {}),
        TypeError,
        ("feed_fn", "'context'"),
    ),
    Row(
        "feed function that returns no feeds",
        lambda w: run_with(w, ah.FeedFnHook(lambda: 3)),
        TypeError,
        ("FeedFnHook (hooks[1])", "feed_dict", "3"),
        TOLD,
    ),
    Row("plain hook that is a class", lambda w: ah.sync_hook(PlainEnd), TypeError, ("PlainEnd",)),
    Row(
        "plain hook without methods",
        lambda w: ah.sync_hook(NoMethods()),
        TypeError,
        ("sync_hook", "before_run", "NoMethods"),
    ),
    Row(
        "plain hook whose end is a number",
        lambda w: ah.sync_hook(EndIsNumber()),
        TypeError,
        ("end", "EndIsNumber", "function", "3"),
    ),
]

RECOVERY = [
    *(
        Row(
            f"recovery on {on!r}",
            lambda w, on=on: ah.Recovery(on=on),
            TypeError,
            ("Recovery.on", "exception class", repr(on)),
        )
        for on in [3, "AbortedError", (), int, (ValueError, 3), [ValueError], None]
    ),
    Row(
        "recovery on an instance",
        lambda w: ah.Recovery(on=ah.AbortedError()),
        TypeError,
        ("Recovery.on", "AbortedError()"),
    ),
    Row(
        "stop of a number", lambda w: ah.Recovery(stop=5), TypeError, ("Recovery.stop", "tenacity")
    ),
    Row(
        "wait of a number", lambda w: ah.Recovery(wait=1), TypeError, ("Recovery.wait", "tenacity")
    ),
    Row(
        "stop that is a class",
        lambda w: ah.Recovery(stop=tenacity.stop_after_attempt),
        TypeError,
        ("Recovery.stop", "stop_after_attempt", "made with"),
    ),
    Row(
        "wait that is a class",
        lambda w: ah.Recovery(wait=tenacity.wait_fixed),
        TypeError,
        ("Recovery.wait", "wait_fixed", "made with"),
    ),
]

COORDINATORS = [
    Row(
        "task of a coordinator that is not entered",
        lambda w: ah.Coordinator().start_soon(CALLS["run"]),
        ah.LifecycleError,
        ("coordinator", "async with"),
    ),
    Row(
        "context manager of a coordinator that is not entered",
        lambda w: ah.Coordinator().enter_async_context(w.fresh()),
        ah.LifecycleError,
        ("coordinator", "entered"),
    ),
    Row(
        "coordinator entered in itself",
        lambda w: enter_within(ah.Coordinator()),
        ah.LifecycleError,
        ("coordinator", "once"),
    ),
    Row(
        "coordinator entered again",
        lambda w: enter(ah.Coordinator(), 2),
        ah.LifecycleError,
        ("coordinator", "once"),
    ),
    Row(
        "task that is a number",
        lambda w: in_coordinator(lambda coordinator: coordinator.start_soon(3)),
        TypeError,
        ("start_soon", "async function", "3"),
    ),
    Row(
        "task that is a plain function",
        lambda w: in_coordinator(lambda coordinator: coordinator.start_soon(no_task)),
        TypeError,
        ("'no_task'", "await"),
    ),
    Row(
        "context manager that is a number",
        lambda w: use_coordinator(lambda coordinator: coordinator.enter_async_context(3)),
        TypeError,
        ("async context manager", "3"),
    ),
    *(
        Row(
            f"stop requested with {error!r}",
            lambda w, error=error: ah.Coordinator().request_stop(error),
            TypeError,
            ("exception", repr(error)),
        )
        for error in ["lost", ValueError, 0]
    ),
    Row(
        "clean stop on a number",
        lambda w: ah.Coordinator(clean_stop_exception_types=3),
        TypeError,
        ("clean_stop_exception_types", "3"),
    ),
    *(
        Row(
            f"grace {grace!r}",
            lambda w, grace=grace: use_coordinator(lambda each: each.join(grace)),
            error,
            ("grace", "seconds", repr(grace)),
        )
        for grace, error in [(-1, ValueError), (math.nan, ValueError), ("1", TypeError)]
    ),
    *(
        Row(
            f"wait for a stop of {timeout!r} s",
            lambda w, timeout=timeout: ah.Coordinator().wait_for_stop(timeout),
            error,
            ("timeout", "seconds", repr(timeout)),
        )
        for timeout, error in [(-1, ValueError), (math.nan, ValueError), ("1", TypeError)]
    ),
]

ROWS = [*SESSIONS, *LIFE, *HOOKS, *RECOVERY, *COORDINATORS]
