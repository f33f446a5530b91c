"""C78, C79: what can be a hook's method, what is refused, and what the adapter makes of it."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from functools import partial
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


class AsyncCall:
    """An object whose call is async."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    async def __call__(self, *args: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.log.append("called")


async def log_call(log: list[str], *args: Any) -> None:
    await anyio.lowlevel.checkpoint()
    log.append("called")


def async_def(log: list[str]) -> Callable[..., Any]:
    async def method(*args: Any) -> None:
        await log_call(log)

    return method


def plain_def(log: list[str]) -> Callable[..., Any]:
    def method(*args: Any) -> None:
        log.append("called")

    return method


def returns_awaitable(log: list[str]) -> Callable[..., Any]:
    def method(*args: Any) -> Any:
        return log_call(log)

    return method


ASYNC: dict[str, Callable[[list[str]], Callable[..., Any]]] = {
    "async def": async_def,
    "partial": lambda log: partial(log_call, log),
    "partial of partial": lambda log: partial(partial(log_call), log),
    "async call": AsyncCall,
}
PLAIN: dict[str, Callable[[list[str]], Callable[..., Any]]] = {
    "plain def": plain_def,
    "returns an awaitable": returns_awaitable,
    "lambda": lambda log: lambda *args: log.append("called"),
}


def hook_with(method: str, function: Callable[..., Any]) -> ah.SessionRunHook:
    """Returns a hook whose method is a function set on the object."""
    hook = ah.SessionRunHook()
    setattr(hook, method, function)
    return hook


class Plain:
    """An object that is no hook."""


def plain_with(method: str, function: Callable[..., Any]) -> object:
    """Returns an object that is no hook but has one method of a hook."""
    plain = Plain()
    setattr(plain, method, function)
    return plain


async def run_with(hook: ah.SessionRunHook) -> None:
    """Runs an op that works and one that fails in a session with `hook`."""

    @ah.op
    async def fails() -> None:
        raise ValueError("op")

    with ah.Graph().as_default() as graph:
        good, bad = ah.constant(7), fails()
    async with ah.MonitoredSession(graph, [hook]) as session:
        assert await session.run(good) == 7
        with pytest.raises(ValueError, match="op"):
            await session.run(bad)


CALLS = dict.fromkeys(METHODS, 1) | {"before_run": 2}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", ASYNC)
async def test_c78_async_shapes(shape: str, method: str) -> None:
    """Every callable that is known to give an awaitable is a hook method and is awaited."""
    log: list[str] = []
    await run_with(hook_with(method, ASYNC[shape](log)))
    assert log == ["called"] * CALLS[method]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", PLAIN)
async def test_c78_plain_shapes_are_refused(shape: str, method: str) -> None:
    """A plain function is refused at construction, with hook, method and adapter named."""
    log: list[str] = []

    def override(self: Any, *args: Any) -> Any:
        return PLAIN[shape](log)(*args)

    hook_class = type("Progress", (ah.SessionRunHook,), {method: override})
    for hook in (hook_class(), hook_with(method, PLAIN[shape](log))):
        with pytest.raises(TypeError) as caught:
            ah.MonitoredSession(ah.Graph(), [ah.SessionRunHook(), hook])
        name = f"{type(hook).__name__}.{method}"
        assert all(word in str(caught.value) for word in [name, "hooks[1]", "sync_hook"])
    assert log == []


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", ASYNC | PLAIN)
async def test_c78_every_shape_runs_through_the_adapter(shape: str, method: str) -> None:
    """The adapter makes a hook method of a plain function, and awaits what is awaitable."""
    log: list[str] = []
    await run_with(ah.sync_hook(plain_with(method, (ASYNC | PLAIN)[shape](log))))
    assert log == ["called"] * CALLS[method]


@pytest.mark.parametrize("method", METHODS)
async def test_c78_plain_function_in_a_thread(method: str) -> None:
    """The adapter can call plain functions in a worker thread."""
    log: list[str] = []
    await run_with(ah.sync_hook(plain_with(method, plain_def(log)), thread=True))
    assert log == ["called"] * CALLS[method]


async def test_c78_adapter_passes_arguments_and_results() -> None:
    """What a plain before_run returns takes part in the run, and after_run gets its share."""

    class Reads:
        results: Any = None

        def begin(self) -> None:
            self.seven = ah.constant(7)

        def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs:
            return ah.SessionRunArgs({"seven": self.seven})

        def after_run(
            self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
        ) -> None:
            self.results = run_values.results

    with ah.Graph().as_default() as graph:
        one = ah.constant(1)
    plain = Reads()
    async with ah.MonitoredSession(graph, [ah.sync_hook(plain)]) as session:
        assert await session.run(one) == 1
    assert plain.results == {"seven": 7}


async def test_c78_order_of_mixed_shapes() -> None:
    """Hooks of all shapes are awaited in the order of the list, each to its end."""
    log: list[str] = []

    class Native(ah.SessionRunHook):
        async def begin(self) -> None:
            await anyio.lowlevel.checkpoint()
            log.append("native")

    def adapted(name: str, *, awaitable: bool) -> ah.SessionRunHook:
        async def later() -> None:
            await anyio.lowlevel.checkpoint()
            log.append(name)

        return ah.sync_hook(plain_with("begin", later if awaitable else lambda: log.append(name)))

    hooks = [adapted("awaitable", awaitable=True), Native(), adapted("plain", awaitable=False)]
    async with ah.MonitoredSession(ah.Graph(), hooks):
        assert log == ["awaitable", "native", "plain"]


async def yields(*args: Any) -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize("method", METHODS)
async def test_c79_async_generators_are_refused(method: str) -> None:
    """An async generator function cannot be a method: hook and method are named."""
    hook_class = type("Streams", (ah.SessionRunHook,), {method: yields})
    with pytest.raises(TypeError) as caught:
        ah.MonitoredSession(ah.Graph(), [hook_class()])
    assert f"Streams.{method}" in str(caught.value)
    assert "async generator" in str(caught.value)


@pytest.mark.parametrize("method", METHODS)
async def test_c79_async_generators_are_refused_by_the_adapter(method: str) -> None:
    """The adapter cannot make a method of an async generator function either."""
    with pytest.raises(TypeError, match=method):
        ah.MonitoredSession(ah.Graph(), [ah.sync_hook(plain_with(method, yields))])


def test_c79_the_hook_interface_itself_is_async() -> None:
    """Every method that a hook may override is a coroutine function."""
    assert all(inspect.iscoroutinefunction(getattr(ah.SessionRunHook, name)) for name in METHODS)
