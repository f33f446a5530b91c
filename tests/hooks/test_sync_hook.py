"""sync_hook: a hook of an object with plain methods."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

import asynchooks as ah


class Plain:
    """Logs what it is called with, in plain methods."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.threads: set[int] = set()

    def begin(self) -> None:
        self.note("begin")

    def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        self.note("after_create_session", type(session), type(coord))

    def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs:
        self.note("before_run", type(run_context))
        return ah.SessionRunArgs(lambda: "asked")

    def after_run(self, run_context: ah.SessionRunContext, values: ah.SessionRunValues) -> None:
        self.note("after_run", values.results)

    def on_run_error(self, run_context: ah.SessionRunContext, error: BaseException) -> None:
        self.note("on_run_error", repr(error))

    def end(self, session: ah.Session) -> None:
        self.note("end", type(session))

    def close(self, session_end: ah.SessionEnd) -> None:
        self.note("close", session_end.reason)

    def note(self, *what: Any) -> None:
        self.threads.add(threading.get_ident())
        self.log.append(what)


async def fail() -> None:
    raise ValueError("x")


@pytest.mark.parametrize("thread", [False, True])
async def test_every_method_is_called(thread: bool) -> None:
    """All seven methods get what those of a hook get; in the loop, or in a worker thread."""
    plain = Plain()
    hook = ah.sync_hook(plain, thread=thread)
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        assert await session.run([]) == []
        with pytest.raises(ValueError, match="x"):
            await session.run(fail)
    assert plain.log == [
        ("begin",),
        ("after_create_session", ah.Session, ah.Coordinator),
        ("before_run", ah.SessionRunContext),
        ("after_run", "asked"),
        ("before_run", ah.SessionRunContext),
        ("on_run_error", "ValueError('x')"),
        ("end", ah.Session),
        ("close", ah.EndReason.COMPLETED),
    ]
    assert (threading.get_ident() in plain.threads) is not thread


@pytest.mark.parametrize("thread", [False, True])
async def test_awaitable_result_is_awaited(thread: bool) -> None:
    """A plain function that returns an awaitable has it awaited in the loop."""
    seen: list[int] = []

    async def later() -> None:
        await anyio.lowlevel.checkpoint()
        seen.append(threading.get_ident())

    def returns_awaitable(*args: Any) -> Any:
        return later()

    plain = SimpleNamespace(begin=returns_awaitable, end=returns_awaitable)
    async with ah.MonitoredSession(ah.Graph(), [ah.sync_hook(plain, thread=thread)]):
        pass
    assert seen == [threading.get_ident()] * 2


async def test_methods_may_be_async_already() -> None:
    """An async method of the object is awaited as it is."""

    class Mixed:
        def __init__(self) -> None:
            self.log: list[str] = []

        async def begin(self) -> None:
            await anyio.lowlevel.checkpoint()
            self.log.append("begin")

        def end(self, session: ah.Session) -> None:
            self.log.append("end")

    mixed = Mixed()
    async with ah.MonitoredSession(ah.Graph(), [ah.sync_hook(mixed)]):
        pass
    assert mixed.log == ["begin", "end"]


@pytest.mark.parametrize("thread", [False, True])
async def test_stop_iteration_ends_the_input(thread: bool) -> None:
    """StopIteration out of a plain method ends the loop of runs normally."""

    def before_run(run_context: ah.SessionRunContext) -> None:
        raise StopIteration

    hook = ah.sync_hook(SimpleNamespace(before_run=before_run), thread=thread)
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        await session.run([])
        raise AssertionError


async def test_hook_is_called_as_its_object() -> None:
    """Messages call the hook by the class of the object that was adapted."""

    class MyPlain:
        def before_run(self, run_context: ah.SessionRunContext) -> Any:
            raise ValueError("x")

    async with ah.MonitoredSession(ah.Graph(), [ah.sync_hook(MyPlain())]) as session:
        with pytest.raises(ValueError, match="x") as caught:
            await session.run([])
    assert caught.value.__notes__ == ["raised by MyPlain.before_run (hooks[0])"]


def test_hook_overrides_what_the_object_has() -> None:
    """Methods that the object lacks are not overridden."""
    hook = ah.sync_hook(SimpleNamespace(end=print, other=print))
    assert isinstance(hook, ah.SessionRunHook)
    assert "end" in vars(type(hook))
    assert "begin" not in vars(type(hook))
