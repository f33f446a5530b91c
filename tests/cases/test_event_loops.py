"""C89: what is made at import works in one event loop after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

import asynchooks as ah
from tests.cases.spies import attempts


@ah.op
async def double(value: int) -> int:
    await anyio.lowlevel.checkpoint()
    return 2 * value


@ah.op
async def add(left: int, right: int) -> int:
    return left + right


class FailsAtOnce(ah.SessionRunHook):
    """Starts a task with the first session that fails before its first await."""

    def __init__(self, error: Callable[[], Exception]) -> None:
        self.sessions = 0
        self._error = error

    async def begin(self) -> None:
        self.sessions = 0

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        self.sessions += 1
        if self.sessions == 1:
            coord.start_soon(self._fail)

    async def _fail(self) -> None:
        raise self._error()


with ah.Graph().as_default() as GRAPH:
    ITEM = ah.from_iterable([1, 2, 3]).get_next()
    TOTAL = ah.Variable(0, name="total")
    STEP = TOTAL.assign_add(add(double(ITEM), double(ITEM)))

FINAL = ah.FinalOpsHook(TOTAL)
LOSES = FailsAtOnce(lambda: ah.UnavailableError("at once"))
FAILS = FailsAtOnce(lambda: ValueError("at once"))
SESSIONS = [ah.MonitoredSession(GRAPH, [FINAL, LOSES], recovery=attempts(3)) for _ in range(4)]


async def use(session: ah.MonitoredSession) -> tuple[list[Any], Any, int]:
    """Runs a session to the end of its data; returns results, final value and sessions made."""
    results = []
    with anyio.fail_after(2):
        async with session:
            while not session.should_stop():
                results.append(await session.run(STEP))
    return results, FINAL.final_ops_values, LOSES.sessions


async def use_fresh() -> tuple[list[Any], Any, int]:
    return await use(ah.MonitoredSession(GRAPH, [FINAL, LOSES], recovery=attempts(3)))


async def meet_failure() -> bool:
    """Tells whether a task that fails at once ends a session that waits for ever."""
    with anyio.fail_after(2):
        try:
            async with ah.MonitoredSession(GRAPH, [FAILS]) as session:
                await session.run(anyio.sleep_forever)
        except ValueError as error:
            return str(error) == "at once"
    return False


def run_eagerly(main: Callable[..., Awaitable[Any]], *args: Any) -> Any:
    """Runs on asyncio with tasks that start to run where they are made."""

    def make_loop() -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        loop.set_task_factory(asyncio.eager_task_factory)
        return loop

    return anyio.run(main, *args, backend_options={"loop_factory": make_loop})


def run_on_asyncio(main: Callable[..., Awaitable[Any]], *args: Any) -> Any:
    return anyio.run(main, *args, backend="asyncio")


def run_debugging(main: Callable[..., Awaitable[Any]], *args: Any) -> Any:
    return anyio.run(main, *args, backend="asyncio", backend_options={"debug": True})


def run_on_trio(main: Callable[..., Awaitable[Any]], *args: Any) -> Any:
    return anyio.run(main, *args, backend="trio")


LOOPS = [run_on_asyncio, run_debugging, run_on_trio]
if hasattr(asyncio, "eager_task_factory"):
    LOOPS.append(run_eagerly)

EXPECTED = ([4, 12, 24], 24, 2)


def test_c89_loops_one_after_the_other() -> None:
    """Graph, hooks and sessions made at import give the same on each event loop in turn."""
    loops = [run_on_asyncio, run_on_asyncio, run_on_trio, LOOPS[-1]]
    assert [loop(use, session) for loop, session in zip(loops, SESSIONS, strict=True)] == [
        EXPECTED
    ] * 4


@pytest.mark.parametrize("loop", LOOPS)
def test_c89_graph_and_hooks_made_at_import(loop: Callable[..., Any]) -> None:
    """A session made in the event loop, of a graph and hooks made at import, gives the same."""
    assert [loop(use_fresh), loop(use_fresh)] == [EXPECTED] * 2


@pytest.mark.parametrize("loop", LOOPS)
def test_c89_task_that_fails_before_its_first_await(loop: Callable[..., Any]) -> None:
    """A task that fails at once ends a run that waits for ever, on each event loop."""
    assert loop(meet_failure)
