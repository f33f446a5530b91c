"""Graphs run by our session, by straight-line code, and by one task for each op."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import anyio

import asynchooks as ah
from tests.benchmarks import proof
from tests.benchmarks.measuring import Contender
from tests.benchmarks.shapes import Fetches, Function, Functions, Shape

Once = Callable[[], Awaitable[object]]


def repeated(name: str, shape: Shape, once: Once) -> Contender:
    """Returns a contender that evaluates a shape as often as it is told."""

    async def work(count: int) -> None:
        for _ in range(count):
            await once()

    return Contender(name, work, partial(proof.gives, name, shape.expected(), once))


@asynccontextmanager
async def session_on(
    name: str, shape: Shape, graph: ah.Graph, fetches: Fetches
) -> AsyncGenerator[Contender]:
    """Opens a raw session on a graph that was built of a shape."""
    async with ah.Session(graph) as session:
        yield repeated(name, shape, partial(session.run, fetches))


def straight_line(shape: Shape, functions: Functions) -> Once:
    """Writes the coroutine function that awaits one op after another, as one would by hand."""
    lines = ["async def once():"]
    for op, inputs in enumerate(shape.inputs):
        arguments = ", ".join(f"v{each}" for each in inputs)
        function = f"f{len(inputs)}" if len(inputs) < len(functions.few) else "many"
        lines.append(f"    v{op} = await {function}({arguments})")
    lines.append(f"    return ({''.join(f'v{end}, ' for end in shape.ends)})")
    names: dict[str, object] = {f"f{count}": each for count, each in enumerate(functions.few)}
    names["many"] = functions.many
    exec("\n".join(lines), names)
    once: Once = names["once"]  # type: ignore[assignment]
    return once


def task_group(shape: Shape, functions: Functions) -> Once:
    """Returns what evaluates each op in a task of its own, in an `asyncio.TaskGroup`."""
    steps = [(functions.taking(len(inputs)), inputs) for inputs in shape.inputs]

    async def once() -> tuple[int, ...]:
        tasks: list[asyncio.Task[int]] = []
        async with asyncio.TaskGroup() as group:
            for function, inputs in steps:
                awaited = [tasks[each] for each in inputs]
                tasks.append(group.create_task(_when_ready(function, awaited)))
        return tuple(tasks[end].result() for end in shape.ends)

    return once


async def _when_ready(function: Function, inputs: list[asyncio.Task[int]]) -> int:
    return await function(*[await each for each in inputs])


def anyio_group(shape: Shape, functions: Functions) -> Once:
    """Returns what evaluates each op in a task of its own, in an anyio task group."""
    steps = [(functions.taking(len(inputs)), inputs) for inputs in shape.inputs]

    async def once() -> tuple[int, ...]:
        values = [0] * len(steps)
        done = [anyio.Event() for _ in steps]

        async def evaluate(op: int, function: Function, inputs: tuple[int, ...]) -> None:
            for each in inputs:
                await done[each].wait()
            values[op] = await function(*[values[each] for each in inputs])
            done[op].set()

        async with anyio.create_task_group() as group:
            for op, (function, inputs) in enumerate(steps):
                group.start_soon(evaluate, op, function, inputs)
        return tuple(values[end] for end in shape.ends)

    return once
