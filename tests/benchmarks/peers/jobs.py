"""The jobs that peers and we do: a step with hooks, a graph, many callers at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from tests.benchmarks.measuring import Work
from tests.benchmarks.peers import ours
from tests.benchmarks.peers.ours import Call
from tests.benchmarks.peers.sums import by_hand
from tests.benchmarks.peers.tally import Tally
from tests.benchmarks.shapes import SHAPES, Shape

Opened = AbstractAsyncContextManager[Call]
"""Sets up what does a job once per call."""

OpenStep = Callable[[Tally, int, Call], Opened]
"""Sets up steps that run a function, with some number of hooks, which count in the tally."""

Open = Callable[[Tally], AbstractAsyncContextManager[Work]]
"""Sets up what does a job as often as it is told, and returns the last result.

Its hooks count in the tally.
"""

STEP_HOOKS = (0, 1, 10)


@dataclass(frozen=True, slots=True)
class Job:
    """Something that a peer and we do.

    Attributes:
        work: its name.
        theirs: sets up the peer to do it.
        ours: sets us up to do it.
        result: what doing it once gives.
        tally: what hooks count while it is done once.
        per: how many of what is counted are done at once.
        note: how large it is, or how the peer does it.
    """

    work: str
    theirs: Open
    ours: Open
    result: object
    tally: Tally
    per: int = 1
    note: str = ""


@dataclass(frozen=True, slots=True)
class Unable:
    """A job that a peer cannot do.

    Attributes:
        work: its name.
        why: what stands against it.
    """

    work: str
    why: str


def step_name(hooks: int) -> str:
    """Returns the name of the job that is one step."""
    return f"one step, {hooks} hook{'' if hooks == 1 else 's'}"


def fetching_name(hooks: int) -> str:
    """Returns the name of the job that is one step with hooks that fetch."""
    return f"{step_name(hooks)} asking for 1 fetch each"


def graph_name(shape: str) -> str:
    """Returns the name of the job that is a graph."""
    return f"graph, {shape}, per op"


def callers_name(hooks: int) -> str:
    """Returns the name of the job that is many callers."""
    return f"callers at once, {hooks} hook{'' if hooks == 1 else 's'}, per call"


def awaited_jobs(
    theirs: OpenStep, callers: int, *, hooks: Sequence[int] = STEP_HOOKS, note: str = ""
) -> Iterator[Job]:
    """Yields the jobs of a peer whose steps are awaited: one at a time, and of many callers.

    Args:
        theirs: sets up the peer.
        callers: how many callers.
        hooks: how many hooks steps have; with the callers there is one, or none if so here.
        note: how the peer does it.
    """
    for count in hooks:
        yield step_job(count, partial(_opened_steps, theirs, count), note=note)
    yield callers_job(callers, min(max(hooks), 1), theirs)


def step_job(hooks: int, theirs: Open, *, fetching: bool = False, note: str = "") -> Job:
    """Returns the job of one trivial op, with hooks called before and after it.

    Args:
        hooks: how many.
        theirs: sets up the peer.
        fetching: whether each hook asks for an op of its own.
        note: how the peer does it.
    """
    return Job(
        fetching_name(hooks) if fetching else step_name(hooks),
        theirs,
        lambda tally: repeated(ours.step(tally, hooks, ours.trivial, fetching=fetching)),
        ours.VALUE,
        Tally(2 * hooks, ours.VALUE * hooks if fetching else 0),
        note=note,
    )


def graph_job(name: str, ops: int, theirs: Callable[[Shape], Opened], note: str = "") -> Job:
    """Returns the job of a graph of ops that do not suspend.

    Args:
        name: one of `SHAPES`.
        ops: how many, about.
        theirs: sets up the peer.
        note: how the peer does it.
    """
    shape = SHAPES[name](ops)
    return Job(
        graph_name(name),
        lambda _: repeated(theirs(shape)),
        lambda _: repeated(ours.graph(shape)),
        by_hand(shape),
        Tally(),
        per=shape.size,
        note=f"{shape.size:,} ops{note and '; '}{note}",
    )


def callers_job(callers: int, hooks: int, theirs: OpenStep) -> Job:
    """Returns the job of many tasks that share one object, each for one step.

    Args:
        callers: how many tasks.
        hooks: how many hooks are called before and after the op of each step.
        theirs: sets up the peer.
    """
    return Job(
        callers_name(hooks),
        lambda tally: _at_once(callers, theirs(tally, hooks, ours.suspending)),
        lambda tally: _at_once(callers, ours.step(tally, hooks, ours.suspending)),
        callers * ours.VALUE,
        Tally(2 * hooks * callers),
        per=callers,
        note=f"{callers:,} callers",
    )


def _opened_steps(theirs: OpenStep, hooks: int, tally: Tally) -> AbstractAsyncContextManager[Work]:
    return repeated(theirs(tally, hooks, ours.trivial))


@asynccontextmanager
async def repeated(opened: Opened) -> AsyncGenerator[Work]:
    """Sets up a call, to be done one after the other."""
    async with opened as call:
        yield partial(_in_turn, call)


@asynccontextmanager
async def _at_once(callers: int, opened: Opened) -> AsyncGenerator[Work]:
    async with opened as call:
        yield partial(_in_turn, partial(_together, call, callers))


async def _in_turn(call: Call, count: int) -> object:
    result: object = None
    for _ in range(count):
        result = await call()
    return result


async def _together(call: Call, callers: int) -> int:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call()) for _ in range(callers)]
    return sum(task.result() for task in tasks)
