"""What leaves a run of a monitored session, and what is recovered from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import tenacity

import asynchooks as ah
from tests.which_error.ops import cancels, fails, late, waits
from tests.which_error.outcomes import Table

table = Table()


class A(ah.SessionRunHook):
    """Raises the errors that are planned for its methods, one after the other."""

    def __init__(self, **errors: BaseException | Iterable[BaseException]) -> None:
        for method, planned in errors.items():
            listed = [planned] if isinstance(planned, BaseException) else planned
            setattr(self, method, failing(listed))


class B(A):
    """Another hook that fails."""


def failing(errors: Iterable[BaseException]) -> Callable[..., Any]:
    """Returns an async function whose n-th call raises the n-th error, and later ones nothing."""
    planned = iter(errors)

    async def method(*args: Any) -> None:
        error = next(planned, None)
        if error is not None:
            raise error

    return method


def recovery(number: int = 3) -> ah.Recovery:
    """Returns a recovery that gives up with the n-th attempt."""
    return ah.Recovery(stop=tenacity.stop_after_attempt(number), wait=tenacity.wait_none())


@asynccontextmanager
async def entered(
    *hooks: ah.SessionRunHook, graph: ah.Graph | None = None, **options: Any
) -> AsyncIterator[ah.MonitoredSession]:
    """Gives a session that recovers without waiting."""
    options = {"recovery": recovery(), **options}
    async with ah.MonitoredSession(graph or ah.Graph(), hooks, **options) as session:
        yield session


def once(error: BaseException) -> Callable[[], Any]:
    """Returns an async function that fails the first time and then gives 7."""
    planned = [error]

    async def a() -> int:
        if planned:
            raise planned.pop()
        return 7

    return a


LOST = ah.AbortedError
AWAY = ah.UnavailableError


@table.row("a loss", "value 7")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        return await session.run(once(LOST("a")))


@table.row("a group of losses", "value 7")
async def _(scope: anyio.CancelScope) -> Any:
    both = ExceptionGroup("both", [LOST("a"), ExceptionGroup("inner", [AWAY("b")])])
    async with entered() as session:
        return await session.run(once(both))


@table.row("two losses at once", "value [7, 7]")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        return await session.run([once(LOST("a")), once(AWAY("b"))])


@table.row(
    "a group of a loss and an error",
    "ExceptionGroup[AbortedError(a); ValueError(b)] | raised by op 'a'",
)
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        await session.run(once(ExceptionGroup("both", [LOST("a"), ValueError("b")])))


@table.row(
    "a loss, and an error",
    "ExceptionGroup[AbortedError(a) | raised by op 'a'; ValueError(b) | raised by op 'b']",
)
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        await session.run([late(LOST("a")), waits(ValueError("b"))])


@table.row("a loss, and an interrupt", "KeyboardInterrupt(b) | also raised: AbortedError: a")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        await session.run([late(LOST("a")), waits(KeyboardInterrupt("b"))])


@table.row("a loss, and the end of the input", "value []")
async def _(scope: anyio.CancelScope) -> Any:
    turns = iter([(late(LOST("a")), waits(ah.OutOfRangeError("b")))])
    async with entered() as session:
        return await session.run_step_fn(lambda step: step.session.run(next(turns, [])))


@table.row("a group of a loss and the end", "ExceptionGroup[AbortedError(a); OutOfRangeError(b)]")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(recovery=None) as session:
        await session.run_step_fn(
            failing([ExceptionGroup("both", [LOST("a"), ah.OutOfRangeError("b")])])
        )


@table.row("a loss that is not to be retried", "AbortedError(a) | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        await session.run(once(LOST("a")), options=ah.RunOptions(retry=False))


@table.row("a loss without recovery", "AbortedError(a) | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(recovery=None) as session:
        await session.run(once(LOST("a")))


@table.row(
    "losses without end",
    "RecoveryError(gave up after 3 attempt(s):\n"
    + "\n".join(f"  {n}. AbortedError: a (raised by op 'a')" for n in (1, 2, 3))
    + ")",
)
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        await session.run(fails(LOST("a")))


@table.row("a loss, and then an error", "ValueError(b) | raised by op 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    errors = [ValueError("b"), LOST("a")]

    async def a() -> None:
        raise errors.pop()

    async with entered() as session:
        await session.run(a)


@table.row("a loss, and the cancellation", "cancelled, after AbortedError(b) | raised by op 'b'")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        session.coordinator.start_soon(cancels(scope))
        await session.run(waits(LOST("b")))


@table.row(
    "a timeout of a run", "DeadlineExceededError(the run took longer than its timeout of 0 s)"
)
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        await session.run(waits(), options=ah.RunOptions(timeout=0))


@table.row("before_run", "ValueError(A) | raised by A.before_run (hooks[0])")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(before_run=ValueError("A"))) as session:
        await session.run([])


@table.row(
    "before_run, and on_run_error of another hook",
    "ValueError(B) | raised by B.before_run (hooks[1]) | also raised: TypeError: A",
)
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(on_run_error=TypeError("A")), B(before_run=ValueError("B"))) as session:
        await session.run([])


@table.row(
    "an op, and on_run_error of two hooks",
    "ValueError(a) | raised by op 'a' | also raised: TypeError: A | also raised: KeyError: 'B'",
)
async def _(scope: anyio.CancelScope) -> Any:
    hooks = A(on_run_error=TypeError("A")), B(on_run_error=KeyError("B"))
    async with entered(*hooks) as session:
        await session.run(fails(ValueError("a")))


@table.row("a loss, and on_run_error", "value 7")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(on_run_error=TypeError("A"))) as session:
        return await session.run(once(LOST("a")))


@table.row(
    "an op, and a loss in on_run_error",
    "ValueError(a) | raised by op 'a' | also raised: AbortedError: A",
)
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(on_run_error=LOST("A"))) as session:
        await session.run(once(ValueError("a")))


@table.row(
    "an op, and an interrupt in on_run_error", "KeyboardInterrupt(A) | also raised: ValueError: a"
)
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(on_run_error=KeyboardInterrupt("A"))) as session:
        await session.run(fails(ValueError("a")))


@table.row(
    "after_run, and on_run_error of the next hook",
    "ValueError(A) | raised by A.after_run (hooks[0]) | also raised: TypeError: B",
)
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(after_run=ValueError("A")), B(on_run_error=TypeError("B"))) as session:
        await session.run([])


@table.row("a loss in after_run", "AbortedError(A) | raised by A.after_run (hooks[0])")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(after_run=LOST("A"))) as session:
        await session.run([])


@table.row("the end of the input in before_run", "value None")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(A(before_run=ah.OutOfRangeError("A"))) as session:
        await session.run([])


@table.row("an error reported while a run waits", "ValueError(reported)")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        session.coordinator.start_soon(report, session, ValueError("reported"))
        await session.run(waits())


@table.row("an error reported, and one of the op that it ends", "ValueError(reported)")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        session.coordinator.start_soon(report, session, ValueError("reported"))
        await session.run(waits(TypeError("b")))


@table.row("a loss reported while a run waits", "value 7")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        session.coordinator.start_soon(report, session, LOST("reported"))
        turns = iter([waits()])

        async def a() -> int:
            for turn in turns:
                await turn()
            return 7

        return await session.run(a)


@table.row("two errors reported", "ValueError(first)")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        session.coordinator.request_stop(ValueError("first"))
        session.coordinator.request_stop(TypeError("second"))
        await session.run([])


@table.row("a loss reported, and then an error", "AbortedError(first)")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered(recovery=None) as session:
        session.coordinator.request_stop(LOST("first"))
        session.coordinator.request_stop(ValueError("second"))
        await session.run([])


@table.row("a background task", "ValueError(task) | raised by background task 'a'")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        session.coordinator.start_soon(fails(ValueError("task")))
        await session.run(waits())


@table.row("an interrupt in a background task", "KeyboardInterrupt(task)")
async def _(scope: anyio.CancelScope) -> Any:
    async with entered() as session:
        session.coordinator.start_soon(fails(KeyboardInterrupt("task")))
        await session.run(waits())


async def report(session: ah.MonitoredSession, error: BaseException) -> None:
    """Reports an error once everything else waits."""
    await anyio.wait_all_tasks_blocked()
    session.coordinator.request_stop(error)
