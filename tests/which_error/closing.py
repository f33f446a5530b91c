"""What leaves a monitored session's block, and a coordinator's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

import asynchooks as ah
from tests.which_error.ops import fails, waits
from tests.which_error.outcomes import Table
from tests.which_error.sessions import LOST, A, B, entered

table = Table()


def graph_with(*exits: BaseException) -> ah.Graph:
    """Returns a graph with resources that fail to close, the last one first."""

    @asynccontextmanager
    async def opened(error: BaseException) -> AsyncIterator[None]:
        try:
            yield
        finally:
            raise error

    with ah.Graph().as_default() as graph:
        for error in exits:
            ah.resource(opened, error)
    return graph


@table.row("the body", "ValueError(body)")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A()):
        raise ValueError("body")


@table.row(
    "the body, and close of two hooks",
    "ValueError(body) | also raised: TypeError: B | also raised: KeyError: 'A'",
)
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(close=KeyError("A")), B(close=TypeError("B"))):
        raise ValueError("body")


@table.row("the body, and a resource", "ValueError(body) | also raised: TypeError: r")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(graph=graph_with(TypeError("r"))):
        raise ValueError("body")


@table.row("the body, where end would fail", "ValueError(body)")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(end=TypeError("A"))):
        raise ValueError("body")


@table.row(
    "the body, and an interrupt in close", "KeyboardInterrupt(A) | also raised: ValueError: body"
)
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(close=KeyboardInterrupt("A"))):
        raise ValueError("body")


@table.row(
    "an interrupt in the body, and close", "KeyboardInterrupt(body) | also raised: TypeError: A"
)
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(close=TypeError("A"))):
        raise KeyboardInterrupt("body")


@table.row("the end of the input in the body", "value None")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A()):
        raise ah.OutOfRangeError("body")


@table.row("a group of ends in the body", "value None")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A()):
        raise ExceptionGroup("ends", [StopAsyncIteration(), anyio.EndOfStream()])


@table.row(
    "a group of an end and an error in the body",
    "ExceptionGroup[OutOfRangeError(end); ValueError(body)]",
)
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A()):
        raise ExceptionGroup("both", [ah.OutOfRangeError("end"), ValueError("body")])


@table.row("the end of the input, and end of a hook", "TypeError(A) | raised by A.end (hooks[0])")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(end=TypeError("A"))):
        raise ah.OutOfRangeError("body")


@table.row("the end of the input in end", "OutOfRangeError(A) | raised by A.end (hooks[0])")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(end=ah.OutOfRangeError("A"))):
        pass


@table.row("a loss in end", "AbortedError(A) | raised by A.end (hooks[0])")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(end=LOST("A"))):
        pass


@table.row(
    "end of two hooks",
    "ExceptionGroup[TypeError(A) | raised by A.end (hooks[0]);"
    " ValueError(B) | raised by B.end (hooks[1])]",
)
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(end=TypeError("A")), B(end=ValueError("B"))):
        pass


@table.row("close of one hook", "TypeError(A) | raised by A.close (hooks[0])")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(close=TypeError("A")), B()):
        pass


@table.row("a resource", "TypeError(r)")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(graph=graph_with(TypeError("r"))):
        pass


@table.row("two resources", "ExceptionGroup[KeyError('s'); TypeError(r)]")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(graph=graph_with(TypeError("r"), KeyError("s"))):
        pass


@table.row("two resources of a raw session", "ExceptionGroup[KeyError('s'); TypeError(r)]")
async def _(scope: anyio.CancelScope) -> Any:
    async with ah.Session(graph_with(TypeError("r"), KeyError("s"))):
        pass


@table.row("a raw body, and a resource", "ValueError(body) | also raised: TypeError: r")
async def _(scope: anyio.CancelScope) -> Any:
    async with ah.Session(graph_with(TypeError("r"))):
        raise ValueError("body")


@table.row(
    "end, a resource and close",
    "ExceptionGroup[KeyError('A') | raised by A.close (hooks[0]);"
    " TypeError(A) | raised by A.end (hooks[0]); ValueError(r)]",
)
async def _(scope: anyio.CancelScope) -> Any:
    hook = A(end=TypeError("A"), close=KeyError("A"))
    async with entered(hook, graph=graph_with(ValueError("r"))):
        pass


@table.row("end, and an interrupt in close", "KeyboardInterrupt(A) | also raised: TypeError: A")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(end=TypeError("A"), close=KeyboardInterrupt("A"))):
        pass


@table.row("the cancellation, and close", "cancelled | also raised: TypeError: A")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(close=TypeError("A"))):
        scope.cancel()
        await anyio.sleep_forever()


@table.row("the cancellation, where end would fail", "cancelled")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(end=TypeError("A"))):
        scope.cancel()
        await anyio.sleep_forever()


@table.row("close by hand", "TypeError(A) | raised by A.end (hooks[0])")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(end=TypeError("A"))) as session:
        await session.close()


@table.row("begin", "ValueError(A) | raised by A.begin (hooks[0])")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(begin=ValueError("A"))):
        pass


@table.row("the end of the input in begin", "OutOfRangeError(A) | raised by A.begin (hooks[0])")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(begin=ah.OutOfRangeError("A"))):
        pass


@table.row(
    "begin, and close of another hook",
    "ValueError(B) | raised by B.begin (hooks[1]) | also raised: TypeError: A",
)
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(close=TypeError("A")), B(begin=ValueError("B"))):
        pass


@table.row(
    "after_create_session, a resource and close",
    "ValueError(A) | raised by A.after_create_session (hooks[0])"
    " | also raised: KeyError: 'r' | also raised: TypeError: A",
)
async def _(scope: anyio.CancelScope) -> Any:
    hook = A(after_create_session=ValueError("A"), close=TypeError("A"))
    async with entered(hook, graph=graph_with(KeyError("r"))):
        pass


@table.row("a loss in after_create_session, and a resource", "value None")
async def _(scope: anyio.CancelScope) -> Any:
    exits = iter([KeyError("r")])

    @asynccontextmanager
    async def opened() -> AsyncIterator[None]:
        try:
            yield
        finally:
            for error in exits:
                raise error

    with ah.Graph().as_default() as graph:
        ah.resource(opened)
    async with entered(A(after_create_session=LOST("A")), graph=graph):
        pass


GAVE_UP = "RecoveryError(gave up after 3 attempt(s):\n" + "\n".join(
    f"  {n}. AbortedError: A (raised by A.after_create_session (hooks[0]))" for n in (1, 2, 3)
)


@table.row("losses without end on entering, and close", f"{GAVE_UP}) | also raised: TypeError: A")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(after_create_session=[LOST("A")] * 3, close=TypeError("A"))):
        pass


@table.row("an error reported and not met by a run", "ValueError(reported)")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(end=TypeError("A"))) as session:
        session.coordinator.request_stop(ValueError("reported"))


@table.row("the body, and an error reported", "ValueError(body) | also raised: TypeError: reported")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        session.coordinator.request_stop(TypeError("reported"))
        raise ValueError("body")


@table.row("the end of the input, and an error reported", "TypeError(reported)")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        session.coordinator.request_stop(TypeError("reported"))
        raise ah.OutOfRangeError("body")


@table.row("the body, and the end of the input reported", "ValueError(body)")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        session.coordinator.request_stop(ah.OutOfRangeError("reported"))
        raise ValueError("body")


@table.row("a loss reported, and the end of the block", "value None")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        session.coordinator.request_stop(LOST("reported"))


@table.row("a task of a coordinator", "ValueError(a) | raised by background task 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(fails(ValueError("a")))
        await coordinator.wait_for_stop()


@table.row("two tasks of a coordinator", "ValueError(a) | raised by background task 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(waits(TypeError("b")))
        await anyio.wait_all_tasks_blocked()
        coordinator.start_soon(fails(ValueError("a")))
        await coordinator.wait_for_stop()


@table.row("the body of a coordinator, and a task", "KeyError('body')")
async def _(scope: anyio.CancelScope) -> Any:
    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(fails(ValueError("a")))
        await coordinator.wait_for_stop()
        raise KeyError("body")


@table.row("the cancellation of a coordinator, and a task", "cancelled")
async def _(scope: anyio.CancelScope) -> Any:
    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(waits(TypeError("b")))
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
        await anyio.sleep_forever()


@table.row("a task that runs on, and an error", "ValueError(a)")
async def _(scope: anyio.CancelScope) -> Any:
    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(waits())
        coordinator.request_stop(ValueError("a"))
        await coordinator.join(grace=0)


@table.row("a task that runs on", "TasksStillRunningError(still running 0 s after the stop: b)")
async def _(scope: anyio.CancelScope) -> Any:
    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(waits())
        coordinator.request_stop()
        await coordinator.join(grace=0)


@table.row("the end of the input in a task", "value True")
async def _(scope: anyio.CancelScope) -> Any:
    async with ah.Coordinator() as coordinator:
        coordinator.start_soon(fails(ah.OutOfRangeError("a")))
        return await coordinator.wait_for_stop()
