"""C77: sessions in fixtures of pytest-asyncio, which enter and leave them in tasks of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import anyio
import pytest
import pytest_asyncio

import asynchooks as ah
from tests.cases.spies import CountingCreator, Spy, monitored, planned_graph

pytestmark = pytest.mark.asyncio(loop_scope="module")

ONE_RUN = "A.begin A.acs(S1) A.before A.after A.end(S1) S1.closed A.close(completed)"
LOSS_AND_TWO_RUNS = (
    "A.begin A.acs(S1) A.before A.error(UnavailableError) S1.closed A.acs(S2) "
    "A.before A.after A.before A.after A.end(S2) S2.closed A.close(completed)"
)


class WithTask(Spy):
    """A spy that keeps a task running on each session."""

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        await super().after_create_session(session, coord)
        coord.start_soon(anyio.sleep_forever)


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def open_loop() -> AsyncIterator[None]:
    """Opens the loop of the module before anybody counts what a test leaves behind."""
    yield


@pytest_asyncio.fixture(loop_scope="module")
async def own_session() -> AsyncIterator[ah.MonitoredSession]:
    graph, _, _ = planned_graph(7)
    creator = CountingCreator()
    before = asyncio.all_tasks()
    async with monitored(graph, creator, [WithTask("A", creator)]) as session:
        yield session
    assert creator.log == ONE_RUN.split()
    assert {task for task in asyncio.all_tasks() if not task.done()} <= before | {
        asyncio.current_task()
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_session() -> AsyncIterator[ah.MonitoredSession]:
    graph, _, _ = planned_graph(ah.UnavailableError, 7)
    creator = CountingCreator()
    async with monitored(graph, creator, [WithTask("A", creator)]) as session:
        yield session
    assert creator.log == LOSS_AND_TWO_RUNS.split()


async def test_c77_session_of_a_fixture(own_session: ah.MonitoredSession) -> None:
    """A session held by an async generator fixture is used by its test."""
    assert await own_session.run("x") == 7


async def test_c77_session_of_a_fixture_in_a_task(own_session: ah.MonitoredSession) -> None:
    """A session held by a fixture is used by a native task of its test."""
    assert await asyncio.create_task(own_session.run("x")) == 7


async def test_c77_session_of_a_fixture_of_module_scope(
    shared_session: ah.MonitoredSession,
) -> None:
    """A session held by a fixture of module scope recovers in the first test that uses it."""
    assert await shared_session.run("x") == 7


async def test_c77_session_of_a_fixture_of_module_scope_again(
    shared_session: ah.MonitoredSession,
) -> None:
    """A session held by a fixture of module scope is still there for the next test."""
    assert await shared_session.run("x") == 7


async def test_c77_entered_and_left_in_native_tasks() -> None:
    """A session is entered in one native task, run in another and closed in a third."""
    graph, x, _ = planned_graph(7)
    creator = CountingCreator()
    session = monitored(graph, creator, [WithTask("A", creator)])
    assert await asyncio.create_task(session.__aenter__()) is session
    assert await asyncio.create_task(session.run(x)) == 7
    await asyncio.create_task(session.close())
    assert creator.log == ONE_RUN.split()
