"""C77: a session is entered in one task and left in another."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import pytest

import asynchooks as ah
from tests.cases.spies import CountingCreator, Spy, monitored, planned_graph, spies, steps

Leave = Callable[[ah.MonitoredSession], Awaitable[object]]


class WithTask(Spy):
    """A spy that keeps a task running on each session."""

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        await super().after_create_session(session, coord)
        coord.start_soon(anyio.sleep_forever)


LEAVES: dict[str, Leave] = {
    "close": lambda session: session.close(),
    "aexit": lambda session: session.__aexit__(None, None, None),
}
CALM = "A.begin A.acs(S1) A.before A.after A.end(S1) S1.closed A.close(completed)"
LOST = (
    "A.begin A.acs(S1) A.before A.error(UnavailableError) S1.closed "
    "A.acs(S2) A.before A.after A.end(S2) S2.closed A.close(completed)"
)


async def in_task(fn: Callable[[], Awaitable[object]]) -> None:
    """Awaits `fn()` in a task of its own, in a task group of its own."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fn)


@pytest.mark.parametrize("leave", LEAVES)
@pytest.mark.parametrize(("outcomes", "log"), [([7], CALM), ([ah.UnavailableError, 7], LOST)])
async def test_c77_entered_run_and_left_in_three_tasks(
    leave: str, outcomes: list[object], log: str
) -> None:
    """A session with a background task is entered, run and left in three tasks."""
    graph, x, _ = planned_graph(*outcomes)
    creator = CountingCreator()
    session = monitored(graph, creator, [WithTask("A", creator)])
    with anyio.fail_after(1):
        await in_task(session.__aenter__)
        await in_task(lambda: session.run(x))
        await in_task(lambda: LEAVES[leave](session))
    assert creator.log == log.split()


async def test_c77_scope_of_the_entering_task_is_cancelled() -> None:
    """Cancelling the scope in which a session was entered, after that, does not touch it."""
    graph, x, _ = planned_graph(7)
    creator = CountingCreator()
    session = monitored(graph, creator, [WithTask("A", creator)])
    with anyio.CancelScope() as scope:
        await session.__aenter__()
        scope.cancel()
        await anyio.sleep_forever()
    assert await session.run(x) == 7
    await session.close()
    assert creator.log == CALM.split()


async def close_during_run(
    creator: CountingCreator, work: Callable[[], Awaitable[int]], close_timeout: float = 120
) -> object:
    """Closes a session from another task than the one that runs `work`; returns how that ended."""
    in_flight, outcomes = anyio.Event(), []

    @ah.op
    async def x() -> int:
        in_flight.set()
        return await work()

    async def run() -> None:
        try:
            outcomes.append(await session.run(out))
        except ah.SessionClosedError as error:
            outcomes.append(type(error))

    with ah.Graph().as_default() as graph:
        out = x()
    session = monitored(graph, creator, spies("A", creator), close_timeout=close_timeout)
    with anyio.fail_after(1):
        await in_task(session.__aenter__)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await in_flight.wait()
            await session.close()
    return outcomes[0]


async def test_c77_left_by_another_task_while_a_run_hangs() -> None:
    """Closing from another task ends a run in flight with the closed error, after a while."""
    creator = CountingCreator()
    assert await close_during_run(creator, anyio.sleep_forever, 0.02) is ah.SessionClosedError
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.error(SessionClosedError)",
        "A.end(S1) S1.closed A.close(completed)",
    )


async def test_c77_left_by_another_task_while_a_run_is_in_flight() -> None:
    """Closing from another task lets a run in flight finish."""

    async def soon() -> int:
        await anyio.sleep(0.002)
        return 7

    creator = CountingCreator()
    assert await close_during_run(creator, soon) == 7
    assert creator.log == CALM.split()


async def test_c77_left_by_another_task_while_a_run_is_lost() -> None:
    """A run that loses its session while it is closed is not repeated; `end` gets a new session."""

    async def lost() -> int:
        await anyio.sleep(0.002)
        raise ah.UnavailableError("lost")

    creator = CountingCreator()
    assert await close_during_run(creator, lost) is ah.SessionClosedError
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.error(UnavailableError) S1.closed",
        "A.acs(S2) A.end(S2) S2.closed A.close(completed)",
    )


async def test_c77_error_given_to_aexit_in_another_task() -> None:
    """The error given on leaving decides how the session ends, whichever task leaves."""
    graph, _, _ = planned_graph(7)
    creator = CountingCreator()
    session = monitored(graph, creator, spies("A", creator))
    error, suppressed = ValueError("body"), []

    async def leave() -> None:
        suppressed.append(await session.__aexit__(ValueError, error, None))

    await in_task(session.__aenter__)
    await in_task(leave)
    assert not suppressed[0]
    assert creator.log == steps("A.begin A.acs(S1) S1.closed A.close(failed)")


@pytest.fixture
async def fixture_session(
    anyio_backend: str, no_task_left: None
) -> AsyncIterator[ah.MonitoredSession]:
    graph, _, _ = planned_graph(7)
    creator = CountingCreator()
    hooks = [WithTask("A", creator)]
    async with monitored(graph, creator, hooks) as session:
        yield session
    assert creator.log == CALM.split()


@pytest.fixture(scope="module")
async def shared_session(anyio_backend: str) -> AsyncIterator[ah.MonitoredSession]:
    graph, _, _ = planned_graph(ah.UnavailableError, 7)
    creator = CountingCreator()
    async with monitored(graph, creator, [WithTask("A", creator)]) as session:
        yield session
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.error(UnavailableError) S1.closed A.acs(S2)",
        "A.before A.after A.before A.after A.end(S2) S2.closed A.close(completed)",
    )


async def test_c77_session_of_a_fixture(fixture_session: ah.MonitoredSession) -> None:
    """A session held by an async generator fixture is used by its test, also in a task."""
    await in_task(lambda: fixture_session.run("x"))


async def test_c77_session_of_a_module_fixture(shared_session: ah.MonitoredSession) -> None:
    """A session held by a fixture of module scope recovers in the first test that uses it."""
    assert await shared_session.run("x") == 7


async def test_c77_session_of_a_module_fixture_again(shared_session: ah.MonitoredSession) -> None:
    """A session held by a fixture of module scope is still there for the next test."""
    assert await shared_session.run("x") == 7
