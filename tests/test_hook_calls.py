"""The hooks of a session: what is called, in which order, with which name in errors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
import pytest

import asynchooks as ah

METHODS = [
    "begin",
    "after_create_session",
    "before_run",
    "after_run",
    "on_run_error",
    "end",
    "close",
]


async def fail(*args: Any) -> Any:
    await anyio.lowlevel.checkpoint()
    raise ValueError("x")


class A(ah.SessionRunHook):
    """A hook that overrides what it is told to."""

    def __init__(self, **methods: Any) -> None:
        for name, method in methods.items():
            setattr(self, name, method)


@pytest.mark.parametrize("method", METHODS)
async def test_error_names_hook_and_method(method: str) -> None:
    """An error out of a hook says in a note which method of which hook has raised it."""
    hooks = [ah.SessionRunHook(), A(**{method: fail})]
    with pytest.raises(ValueError, match="x") as caught:
        async with ah.MonitoredSession(ah.Graph(), hooks) as session:
            if method == "on_run_error":
                await session.run(partial_fail)
            await session.run([])
    noted = "\n".join(caught.value.__notes__)
    assert noted.count(f"A.{method} (hooks[1])") == (method != "on_run_error")


async def partial_fail() -> None:
    raise ValueError("x")


async def test_note_is_not_doubled() -> None:
    """An error that a hook raises twice has one note of it."""
    error = ValueError("x")

    async def raises(*args: Any) -> None:
        raise error

    async with ah.MonitoredSession(ah.Graph(), [A(before_run=raises)]) as session:
        for _ in range(2):
            with pytest.raises(ValueError, match="x"):
                await session.run([])
    assert error.__notes__ == ["raised by A.before_run (hooks[0])"]


@pytest.mark.parametrize("hooks", [list, tuple, iter, lambda hooks: (hook for hook in hooks)])
async def test_hooks_can_be_any_iterable(hooks: Any) -> None:
    """The hooks are copied when the session is made."""
    log: list[str] = []

    async def begins() -> None:
        log.append("begin")

    listed = [A(begin=begins), A(begin=begins)]
    session = ah.MonitoredSession(ah.Graph(), hooks(listed))
    listed.clear()
    async with session:
        pass
    assert log == ["begin", "begin"]


async def test_hook_that_overrides_nothing_is_no_part_of_a_run() -> None:
    """Methods of the base class are not called, so that they cost nothing."""
    called: list[str] = []

    class Counted(ah.SessionRunHook):
        def __getattribute__(self, name: str) -> Any:
            if name in METHODS:
                called.append(name)
            return super().__getattribute__(name)

    session = ah.MonitoredSession(ah.Graph(), [Counted()])
    called.clear()
    async with session:
        await session.run([])
    assert called == []


async def test_method_may_be_inherited() -> None:
    """A method that a base class between overrides is called."""
    log: list[str] = []

    class Base(ah.SessionRunHook):
        async def end(self, session: ah.Session) -> None:
            log.append("end")

    class Derived(Base):
        pass

    async with ah.MonitoredSession(ah.Graph(), [Derived()]):
        pass
    assert log == ["end"]


async def test_hook_serves_one_live_session() -> None:
    """A hook is refused in a second live session, which can be entered once the first is left."""
    hook = A()
    first, second = (ah.MonitoredSession(ah.Graph(), [A(), hook]) for _ in range(2))
    async with first:
        with pytest.raises(ValueError, match=r"A \(hooks\[1\]\) is in use by another live"):
            await second.__aenter__()
        assert not second.should_stop()
    async with second:
        assert await second.run([]) == []


async def test_hook_of_a_forgotten_session_is_free() -> None:
    """A session that was made and never entered does not hold its hooks."""
    hook = A()
    ah.MonitoredSession(ah.Graph(), [hook])
    async with ah.MonitoredSession(ah.Graph(), [hook]):
        pass


async def test_hook_of_a_session_that_failed_to_open_is_free() -> None:
    """The hooks of a session whose entering failed can be used by another."""
    hook = A()
    with pytest.raises(ValueError, match="x"):
        async with ah.MonitoredSession(ah.Graph(), [hook, A(begin=fail)]):
            pass
    async with ah.MonitoredSession(ah.Graph(), [hook]):
        pass


async def test_session_in_a_hook_of_another_is_no_reentrance() -> None:
    """A hook may use a monitored session other than the one that calls it, also nested."""
    got: list[Any] = []

    async def inner_before(context: ah.SessionRunContext) -> None:
        with pytest.raises(ah.ReentrantRunError):
            await outer.run([])

    async with ah.MonitoredSession(ah.Graph(), [A(before_run=inner_before)]) as inner:

        async def outer_before(context: ah.SessionRunContext) -> None:
            got.append(await inner.run([lambda: "inner"]))

        async with ah.MonitoredSession(ah.Graph(), [A(before_run=outer_before)]) as outer:
            assert await outer.run([lambda: "outer"]) == ["outer"]
    assert got == [["inner"]]


async def test_op_may_use_the_monitored_session() -> None:
    """An op runs in no hook: it may make a run of its own."""

    async def op() -> Any:
        return await session.run([lambda: "inner"])

    async with ah.MonitoredSession(ah.Graph(), [A(before_run=nothing)]) as session:
        assert await session.run(op) == ["inner"]


async def nothing(*args: Any) -> None:
    return None


async def test_task_that_a_hook_has_started_is_no_hook() -> None:
    """What a hook starts in the background may use the session once the hook has returned."""
    got: list[Any] = []
    ready = anyio.Event()

    async def uses() -> None:
        await ready.wait()
        got.append(await session.run([lambda: "background"]))

    async def sets_up(raw: ah.Session, coord: ah.Coordinator) -> None:
        coord.start_soon(uses)

    async with ah.MonitoredSession(ah.Graph(), [A(after_create_session=sets_up)]) as session:
        ready.set()
        await anyio.wait_all_tasks_blocked()
    assert got == [["background"]]


async def test_tasks_in_a_hook_are_reentrant_too() -> None:
    """A task that a hook awaits is part of the hook."""
    errors: list[Exception] = []

    async def uses() -> None:
        try:
            await session.run([])
        except ah.ReentrantRunError as error:
            errors.append(error)

    async def before(context: ah.SessionRunContext) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(uses)

    async with ah.MonitoredSession(ah.Graph(), [A(before_run=before)]) as session:
        await session.run([])
    assert len(errors) == 1


async def test_hooks_may_ask_and_stop_their_session() -> None:
    """should_stop, request_stop, graph and coordinator are open to hooks of the session."""
    seen: list[Any] = []

    async def after(context: ah.SessionRunContext, values: ah.SessionRunValues) -> None:
        seen.append((session.should_stop(), session.graph, session.session is context.session))
        session.request_stop()
        seen.append(session.coordinator.should_stop())

    graph = ah.Graph()
    async with ah.MonitoredSession(graph, [A(after_run=after)]) as session:
        await session.run([])
        assert session.should_stop()
    assert seen == [(False, graph, True), True]


async def test_hook_is_known_by_identity() -> None:
    """Two hooks that are equal are two hooks, and one that is unhashable is a hook."""

    class Equal(ah.SessionRunHook):
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            return True

    async with ah.MonitoredSession(ah.Graph(), [Equal(), Equal()]) as session:
        assert await session.run([]) == []


def test_default_methods_return_nothing() -> None:
    """A hook that overrides nothing can be called like any other."""
    hook: Any = ah.SessionRunHook()
    stand_in: Any = SimpleNamespace()
    arguments = {"begin": 0, "end": 1, "close": 1, "before_run": 1}

    async def call_all() -> list[Any]:
        return [
            await getattr(hook, method)(*[stand_in] * arguments.get(method, 2))
            for method in METHODS
        ]

    assert anyio.run(call_all) == [None] * 7
