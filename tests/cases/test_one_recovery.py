"""C37: many callers that lose one session make one new session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import asynchooks as ah
from tests.cases.spies import CountingCreator, LongWait, attempts, monitored, spies, steps

Lost = ah.UnavailableError


class Link:
    """What ops run on: the n-th connection, and how many ops have arrived on it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.arrived = 0
        self.full = anyio.Event()

    async def wait_for(self, callers: int) -> None:
        self.arrived += 1
        if self.arrived == callers:
            self.full.set()
        await self.full.wait()


def linked() -> ah.Op[Link]:
    """Makes a resource of the default graph that numbers its connections."""
    numbers = iter(range(1, 100))

    @asynccontextmanager
    async def connect() -> AsyncIterator[Link]:
        yield Link(next(numbers))

    return ah.resource(connect)


@ah.op
async def fails_with_the_others(link: Link, callers: int, value: int) -> int:
    if link.number == 1:
        await link.wait_for(callers)
        raise Lost(f"caller {value}")
    return value


async def gather(session: ah.MonitoredSession, fetches: list[ah.Op[Any]]) -> list[Any]:
    """Runs each of `fetches` in a task of its own and returns the results in their order."""
    results: dict[int, Any] = {}

    async def run(index: int) -> None:
        results[index] = await session.run(fetches[index])

    async with anyio.create_task_group() as tasks:
        for index in range(len(fetches)):
            tasks.start_soon(run, index)
    return [results[index] for index in range(len(fetches))]


@pytest.mark.parametrize("callers", [2, 8, 50, 64])
async def test_c37_many_runs_one_loss(callers: int) -> None:
    """All runs that fail on one session are repeated on the same new one, set up once."""
    with ah.Graph().as_default() as graph:
        link = linked()
        ops = [fails_with_the_others(link, callers, n) for n in range(callers)]
    creator = CountingCreator()
    with anyio.fail_after(5):
        async with monitored(graph, creator, spies("AB", creator)) as session:
            assert await gather(session, ops) == list(range(callers))
    assert creator.calls == 2
    assert [step for step in creator.log if ".acs" in step] == steps(
        "A.acs(S1) B.acs(S1) A.acs(S2) B.acs(S2)"
    )
    second = creator.log.index("B.acs(S2)")
    assert creator.log[second:].count("A.before") == creator.log.count("A.after") == callers


async def test_c37_many_runs_several_losses() -> None:
    """Each loss makes one new session, however many runs it hits."""
    callers, losses = 8, 3

    @ah.op
    async def fails_on_the_first(link: Link, value: int) -> int:
        if link.number <= losses:
            await link.wait_for(callers)
            raise Lost(f"caller {value}")
        return value

    with ah.Graph().as_default() as graph:
        link = linked()
        ops = [fails_on_the_first(link, n) for n in range(callers)]
    creator = CountingCreator()
    with anyio.fail_after(5):
        async with monitored(graph, creator, spies("A", creator)) as session:
            assert await gather(session, ops) == list(range(callers))
    assert creator.calls == losses + 1
    assert sum(".acs" in step for step in creator.log) == losses + 1


async def test_c37_losses_are_counted_by_session() -> None:
    """A loss that hits many runs is one attempt of the policy, not one for each of them."""
    with ah.Graph().as_default() as graph:
        link = linked()
        ops = [fails_with_the_others(link, 8, n) for n in range(8)]
    creator = CountingCreator()
    async with monitored(graph, creator, recovery=attempts(2)) as session:
        assert await gather(session, ops) == list(range(8))


def late_failure(give_up: Callable[[], bool]) -> tuple[ah.Graph, list[ah.Op[int]]]:
    """Returns a graph of two ops: the first fails at once on link 1, the second late."""

    @ah.op
    async def fails_at_once(link: Link) -> int:
        if link.number == 1:
            await link.wait_for(2)
            raise Lost("at once")
        return link.number

    @ah.op
    async def fails_late(link: Link) -> int:
        if link.number == 1:
            await link.wait_for(2)
            with anyio.CancelScope(shield=True):
                while not give_up():
                    await anyio.lowlevel.checkpoint()
            raise Lost("late")
        return link.number

    with ah.Graph().as_default() as graph:
        link = linked()
        return graph, [fails_at_once(link), fails_late(link)]


@pytest.mark.parametrize("turns", [0, 1, 2, 5, 20])
async def test_c37_late_failure_of_an_old_session(turns: int) -> None:
    """An error that an old session raises late never costs the new one."""
    creator = CountingCreator()
    countdown = iter(range(turns))
    graph, ops = late_failure(lambda: next(countdown, None) is None)
    with anyio.fail_after(1):
        async with monitored(graph, creator, spies("A", creator)) as session:
            assert await gather(session, ops) == [2, 2]
            assert await session.run(ops) == [2, 2]
    assert creator.calls == 2


async def test_c37_late_failure_does_not_keep_the_first_caller() -> None:
    """A run that hangs on the old session keeps the others for the closing timeout at most."""
    creator, first_is_back = CountingCreator(), anyio.Event()
    graph, ops = late_failure(first_is_back.is_set)
    results: list[int] = []

    async def run_first() -> None:
        results.append(await session.run(ops[0]))
        first_is_back.set()

    session = monitored(graph, creator, spies("A", creator), close_timeout=0.01)
    with anyio.fail_after(1):
        async with session, anyio.create_task_group() as tasks:
            tasks.start_soon(run_first)
            assert await session.run(ops[1]) == 2
    assert results == [2]
    assert creator.calls == 2


async def test_c37_lost_session_is_closed_when_no_run_uses_it() -> None:
    """Runs in flight on a lost session are over, and told, before what they use is closed."""
    creator = CountingCreator()

    @asynccontextmanager
    async def connect() -> AsyncIterator[Link]:
        yield Link(creator.calls)
        creator.log.append("link.closed")

    @ah.op
    async def fails(link: Link) -> int:
        if link.number == 1:
            await link.wait_for(2)
            raise Lost("lost")
        return link.number

    @ah.op
    async def says_goodbye(link: Link) -> int:
        if link.number == 1:
            try:
                await link.wait_for(2)
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(0.002)
                creator.log.append("goodbye")
        return link.number

    with ah.Graph().as_default() as graph:
        link = ah.resource(connect)
        ops = [fails(link), says_goodbye(link)]
    with anyio.fail_after(1):
        async with monitored(graph, creator, spies("A", creator)) as session:
            assert await gather(session, ops) == [2, 2]
    assert creator.log[2:10] == steps(
        "A.before A.before A.error(UnavailableError) goodbye A.error(UnavailableError)",
        "link.closed S1.closed A.acs(S2)",
    )


async def test_c37_cancelling_the_caller_that_waits_to_recover() -> None:
    """Cancelling the caller that sits in the back-off leaves the others to recover."""
    creator, wait = CountingCreator(), LongWait()
    with ah.Graph().as_default() as graph:
        link = linked()
        ops = [fails_with_the_others(link, 3, n) for n in range(3)]
    scopes = [anyio.CancelScope() for _ in ops]
    results: dict[int, int] = {}

    async def run(index: int) -> None:
        with scopes[index]:
            results[index] = await session.run(ops[index])

    session = monitored(graph, creator, spies("A", creator), recovery=attempts(5, wait))
    with anyio.fail_after(1):
        async with session, anyio.create_task_group() as tasks:
            for index in range(3):
                tasks.start_soon(run, index)
            await wait.begun.wait()
            await anyio.wait_all_tasks_blocked()
            scopes[0].cancel()
            await anyio.wait_all_tasks_blocked()
            session.request_stop()
    assert results == {1: 1, 2: 2}
    assert creator.calls == 2


class GatedCreator(CountingCreator):
    """A creator whose second session waits for a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting, self.gate = anyio.Event(), anyio.Event()

    @asynccontextmanager
    async def create_session(
        self, graph: ah.Graph, state: ah.SessionState
    ) -> AsyncIterator[ah.Session]:
        if self.calls == 1:
            self.waiting.set()
            await self.gate.wait()
        async with super().create_session(graph, state) as session:
            yield session


@pytest.mark.parametrize("cancelled", [[0], [1], [2], [0, 1], [1, 2], [0, 2]], ids=str)
async def test_c37_cancelling_callers_strands_nobody(cancelled: list[int]) -> None:
    """Whichever callers are cancelled while a new session is made, the others get theirs."""
    creator = GatedCreator()
    with ah.Graph().as_default() as graph:
        link = linked()
        ops = [fails_with_the_others(link, 3, n) for n in range(3)]
    scopes = [anyio.CancelScope() for _ in ops]
    results: dict[int, int] = {}

    async def run(index: int) -> None:
        with scopes[index]:
            results[index] = await session.run(ops[index])

    session = monitored(graph, creator, spies("A", creator))
    with anyio.fail_after(1):
        async with session, anyio.create_task_group() as tasks:
            for index in range(3):
                tasks.start_soon(run, index)
            await creator.waiting.wait()
            for index in cancelled:
                scopes[index].cancel()
            await anyio.wait_all_tasks_blocked()
            creator.gate.set()
    assert results == {n: n for n in range(3) if n not in cancelled}
    assert [scope.cancelled_caught for scope in scopes] == [n in cancelled for n in range(3)]
    assert creator.calls == 2


async def test_c37_cancelling_every_caller_leaves_the_session_usable() -> None:
    """When all callers of a recovery are cancelled, the next run still gets a new session."""
    creator = GatedCreator()
    with ah.Graph().as_default() as graph:
        link = linked()
        ops = [fails_with_the_others(link, 2, n) for n in range(2)]
    with anyio.fail_after(1):
        async with monitored(graph, creator, spies("A", creator)) as session:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(gather, session, ops)
                await creator.waiting.wait()
                tasks.cancel_scope.cancel()
            creator.gate.set()
            assert await session.run(ops) == [0, 1]
    assert creator.log[-3:] == [
        f"A.end(S{creator.calls})",
        f"S{creator.calls}.closed",
        "A.close(completed)",
    ]
