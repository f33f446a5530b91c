"""What leaves a run whose ops fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

import asynchooks as ah
from tests.which_error.outcomes import Table, stray_cancellation

table = Table()


def fails(error: Any) -> Any:
    """Returns an async function that fails at once."""

    async def a() -> Any:
        raise error

    return a


def waits(clean_up: BaseException | None = None) -> Any:
    """Returns an async function that waits to be cancelled, and may fail then."""

    async def b() -> Any:
        try:
            await anyio.sleep_forever()
        except BaseException:
            if clean_up is None:
                raise
        raise clean_up

    return b


def swallows() -> Any:
    """Returns an async function that answers a cancellation with a value."""

    async def c() -> int:
        try:
            await anyio.sleep_forever()
        except BaseException:
            return 7
        return 8

    return c


def late(error: BaseException) -> Any:
    """Returns an async function that fails once everything else waits."""

    async def a() -> Any:
        await anyio.wait_all_tasks_blocked()
        raise error

    return a


def cancels(scope: anyio.CancelScope) -> Any:
    """Returns an async function that cancels the scope of the program."""

    async def cancel() -> None:
        await anyio.wait_all_tasks_blocked()
        scope.cancel()

    return cancel


async def run(*functions: Any, options: ah.RunOptions | None = None) -> Any:
    """Makes a raw run of some functions."""
    async with ah.Session(ah.Graph()) as session:
        results = await session.run(list(functions), options=options)
    return results if len(functions) > 1 else results[0]


async def run_op(function: Callable[[], Any], **options: Any) -> Any:
    """Makes a raw run of a function as an op of a graph."""
    with ah.Graph().as_default() as graph:
        made = ah.op(**options)(function)()
    async with ah.Session(graph) as session:
        return await session.run(made)


def raises(error: BaseException) -> Any:
    """Returns a plain function that fails."""

    def a() -> Any:
        raise error

    return a


@table.row("one op", "ValueError(a) | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    await run(fails(ValueError("a")))


@table.row("an op in a thread", "ValueError(a) | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    await run_op(raises(ValueError("a")), thread=True)


@table.row("an op that others wait for", "ValueError(a) | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    with ah.Graph().as_default() as graph:
        first = ah.op(fails(ValueError("a")))()
        last = ah.op(lambda *values: values)(first, first)
    async with ah.Session(graph) as session:
        await session.run(last)


@table.row(
    "two ops",
    "ExceptionGroup[TypeError(b) | raised by op 'b'; ValueError(a) | raised by op 'a']",
)
async def _(scope: anyio.CancelScope) -> Any:
    await run(late(ValueError("a")), waits(TypeError("b")))


@table.row(
    "three ops",
    "ExceptionGroup[KeyError('b') | raised by op 'b'; TypeError(b) | raised by op 'b';"
    " ValueError(a) | raised by op 'a']",
)
async def _(scope: anyio.CancelScope) -> Any:
    await run(waits(TypeError("b")), late(ValueError("a")), waits(KeyError("b")))


@table.row("an op while another waits", "ValueError(a) | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    await run(waits(), late(ValueError("a")), waits())


@table.row("an op while another swallows its cancellation", "ValueError(a) | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    await run(late(ValueError("a")), swallows())


@table.row("a group of one error", "ValueError(a) | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    await run(fails(ExceptionGroup("one", [ExceptionGroup("inner", [ValueError("a")])])))


@table.row(
    "a group of two errors", "ExceptionGroup[TypeError(b); ValueError(a)] | raised by op 'a'"
)
async def _(scope: anyio.CancelScope) -> Any:
    await run(fails(ExceptionGroup("two", [ValueError("a"), TypeError("b")])))


@table.row("the end of the input", "OutOfRangeError(end) | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    await run(fails(ah.OutOfRangeError("end")))


@table.row("the end of an async iterator", "StopAsyncIteration(end) | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    await run(fails(StopAsyncIteration("end")))


@table.row("the end of a stream", "EndOfStream() | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    await run(fails(anyio.EndOfStream()))


@table.row("the end of the input twice", "OutOfRangeError(end) | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    await run(late(ah.OutOfRangeError("end")), waits(StopAsyncIteration()))


@table.row("the end of the input, and an error", "ValueError(b) | raised by op 'b'")
async def _(scope: anyio.CancelScope) -> Any:
    await run(late(ah.OutOfRangeError("end")), waits(ValueError("b")))


@table.row("an error, and the end of the input", "ValueError(a) | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    await run(late(ValueError("a")), waits(ah.OutOfRangeError("end")))


@table.row(
    "StopIteration out of a plain op",
    "OutOfRangeError('a' raised StopIteration) | raised by op 'a'",
)
async def _(scope: anyio.CancelScope) -> Any:
    await run_op(raises(StopIteration()))


@table.row(
    "StopIteration out of an op in a thread",
    "OutOfRangeError('a' raised StopIteration) | raised by op 'a'",
)
async def _(scope: anyio.CancelScope) -> Any:
    await run_op(raises(StopIteration()), thread=True)


@table.row(
    "StopIteration out of a fetched callable",
    "OutOfRangeError('a' raised StopIteration) | raised by op 'a'",
)
async def _(scope: anyio.CancelScope) -> Any:
    await run(raises(StopIteration()))


@table.row(
    "StopIteration out of an async op, which Python turns into an error",
    "RuntimeError(coroutine raised StopIteration) | raised by op 'a'",
)
async def _(scope: anyio.CancelScope) -> Any:
    await run(fails(StopIteration()))


@table.row("an interrupt", "KeyboardInterrupt(a)")
async def _(scope: anyio.CancelScope) -> Any:
    await run(fails(KeyboardInterrupt("a")))


@table.row("an exit", "SystemExit(1)")
async def _(scope: anyio.CancelScope) -> Any:
    await run_op(raises(SystemExit(1)))


@table.row("an interrupt while another waits", "KeyboardInterrupt(a)")
async def _(scope: anyio.CancelScope) -> Any:
    await run(waits(), late(KeyboardInterrupt("a")))


@table.row("an interrupt, and an error", "KeyboardInterrupt(a) | also raised: ValueError: b")
async def _(scope: anyio.CancelScope) -> Any:
    await run(late(KeyboardInterrupt("a")), waits(ValueError("b")))


STRAY = (
    "OpCancelledError(op 'a' raised a cancellation that nobody asked for; it probably awaited a"
    " task or future that something else had cancelled) | raised by op 'a'"
)


@table.row("an op that raises a cancellation", STRAY)
async def _(scope: anyio.CancelScope) -> Any:
    await run(fails(await stray_cancellation()))


@table.row("an op that raises a cancellation while another waits", STRAY)
async def _(scope: anyio.CancelScope) -> Any:
    await run(late(await stray_cancellation()), waits())


@table.row(
    "an op that raises a cancellation, and an error",
    f"ExceptionGroup[{STRAY}; ValueError(b) | raised by op 'b']",
)
async def _(scope: anyio.CancelScope) -> Any:
    await run(late(await stray_cancellation()), waits(ValueError("b")))


@table.row("an error, and a cancellation of its own", "ValueError(a) | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    await run(late(ValueError("a")), waits(await stray_cancellation()))


@table.row("a cancelled run", "cancelled")
async def _(scope: anyio.CancelScope) -> Any:
    await run(cancels(scope), waits())


@table.row(
    "an error of an op that is cancelled", "cancelled, after ValueError(b) | raised by op 'b'"
)
async def _(scope: anyio.CancelScope) -> Any:
    async def b() -> None:
        scope.cancel()
        await waits(ValueError("b"))()

    await run(b)


@table.row(
    "an error of one of several ops that are cancelled",
    "cancelled, after ValueError(b) | raised by op 'b'",
)
async def _(scope: anyio.CancelScope) -> Any:
    await run(cancels(scope), waits(ValueError("b")), waits())


@table.row("an interrupt in an op that is cancelled", "KeyboardInterrupt(b)")
async def _(scope: anyio.CancelScope) -> Any:
    async def b() -> None:
        scope.cancel()
        await waits(KeyboardInterrupt("b"))()

    await run(b)


@table.row("an interrupt in one of several ops that are cancelled", "KeyboardInterrupt(b)")
async def _(scope: anyio.CancelScope) -> Any:
    await run(cancels(scope), waits(KeyboardInterrupt("b")), waits())


@table.row(
    "an error just before the cancellation", "cancelled, after ValueError(a) | raised by op 'a'"
)
async def _(scope: anyio.CancelScope) -> Any:
    async def a() -> None:
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
        raise ValueError("a")

    await run(a, waits())


@table.row("a value of an op that is cancelled", "cancelled")
async def _(scope: anyio.CancelScope) -> Any:
    await run(cancels(scope), swallows())
    await anyio.lowlevel.checkpoint()


LIMIT = ah.RunOptions(timeout=0.01)


@table.row("a timeout", "DeadlineExceededError(the run took longer than its timeout of 0.01 s)")
async def _(scope: anyio.CancelScope) -> Any:
    await run(waits(), options=LIMIT)


@table.row(
    "a timeout of several ops",
    "DeadlineExceededError(the run took longer than its timeout of 0.01 s)",
)
async def _(scope: anyio.CancelScope) -> Any:
    await run(waits(), waits(), options=LIMIT)


@table.row("an error after a timeout", "ValueError(b) | raised by op 'b'")
async def _(scope: anyio.CancelScope) -> Any:
    await run(waits(ValueError("b")), options=LIMIT)


@table.row(
    "a value after a timeout",
    "DeadlineExceededError(the run took longer than its timeout of 0.01 s)",
)
async def _(scope: anyio.CancelScope) -> Any:
    return await run(swallows(), options=LIMIT)


@table.row("a cancellation before a timeout", "cancelled")
async def _(scope: anyio.CancelScope) -> Any:
    await run(cancels(scope), waits(), options=ah.RunOptions(timeout=60))


@table.row("a timeout round the run", "TimeoutError()")
async def _(scope: anyio.CancelScope) -> Any:
    with anyio.fail_after(0.01):
        await run(waits(), options=ah.RunOptions(timeout=60))
