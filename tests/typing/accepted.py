"""What both type checkers accept; checked by tests/test_typing.py, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import NamedTuple, assert_type

import tenacity

import asynchooks as ah


class Connection:
    async def fetch(self, query: str) -> list[int]:
        return [len(query)]


class Rows(NamedTuple):
    total: int
    text: str


@asynccontextmanager
async def connect(address: str) -> AsyncGenerator[Connection]:
    yield Connection()


@ah.op
async def fetch(connection: Connection, query: str) -> list[int]:
    return await connection.fetch(query)


@ah.op(thread=True, name="summed")
def add_up(numbers: list[int]) -> int:
    return sum(numbers)


async def ping() -> float:
    return 0.5


class Timer(ah.SessionRunHook):
    async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs | None:
        run_context.state["started"] = 0.0
        return ah.SessionRunArgs({"step": "global_step"}, options=ah.RunOptions(timeout=1.5))

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        run_context.request_stop()

    async def close(self, session_end: ah.SessionEnd) -> None:
        assert_type(session_end.reason, ah.EndReason)
        assert_type(session_end.error, BaseException | None)
        assert_type(session_end.phase, ah.Phase | None)


class Always(ah.SessionRunHook):
    async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs:
        return ah.SessionRunArgs()


class Plain:
    def begin(self) -> None: ...

    async def end(self, session: ah.Session) -> None: ...


def graph() -> tuple[ah.Graph, ah.Op[int]]:
    with ah.Graph().as_default() as built:
        connection = ah.resource(connect, "localhost")
        assert_type(connection, ah.Op[Connection])
        numbers = fetch(connection, ah.placeholder("query"))
        assert_type(numbers, ah.Op[list[int]])
        summed = add_up.options(name="sum")(numbers)
        assert_type(summed, ah.Op[int])
        total = ah.Variable(0, name="total")
        assert_type(total, ah.Variable[int])
        assert_type(total.assign_add(summed), ah.Op[int])
        assert_type(ah.constant("x"), ah.Op[str])
        assert_type(ah.group(summed), ah.Op[None])
        assert_type(ah.from_iterable([1.5]).get_next(), ah.Op[float])
        assert_type(ah.get_or_create_global_step(), ah.Variable[int])
    return built, summed


async def use() -> None:
    built, summed = graph()
    final = ah.FinalOpsHook({"total": summed})
    hooks = [Timer(), Always(), final, ah.StopAtStepHook(last_step=3), ah.sync_hook(Plain())]
    recovery = ah.Recovery(
        on=lambda error: isinstance(error, OSError),
        stop=tenacity.stop_after_attempt(3),
        wait=tenacity.wait_fixed(0.1),
    )
    async with ah.MonitoredSession(built, hooks, recovery=recovery, stop_grace=1.0) as session:
        assert_type(await session.run(summed), int)
        assert_type(await session.run(summed, {"query": "x"}, ah.RunOptions(retry=False)), int)
        assert_type(await session.run(ping), float)
        assert_type(await session.run_step_fn(step), int)
        assert_type(session.should_stop(), bool)
        assert_type(session.coordinator, ah.Coordinator)
        await session.run({"a": summed, "b": ["sum", ping]})
        await session.run(Rows(1, "x"))
    print(final.final_ops_values)
    async with ah.Session(built) as raw:
        assert_type(await raw.run(summed), int)
        assert_type(await raw.run(ping), float)
        assert_type(raw.graph, ah.Graph)


async def step(context: ah.StepContext) -> int:
    await context.run_with_hooks("sum")
    assert_type(await context.run_with_hooks(ping), float)
    return 1
