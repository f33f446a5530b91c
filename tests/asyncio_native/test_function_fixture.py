"""C77: a session in a fixture of pytest-asyncio whose loop lives as long as one test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

import asynchooks as ah
from tests.cases.spies import CountingCreator, monitored, planned_graph, spies

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def session() -> AsyncIterator[ah.MonitoredSession]:
    graph, _, _ = planned_graph(ah.UnavailableError, 7)
    creator = CountingCreator()
    async with monitored(graph, creator, spies("A", creator)) as session:
        yield session
    assert creator.log[-3:] == ["A.end(S2)", "S2.closed", "A.close(completed)"]


@pytest.mark.parametrize("turn", [1, 2])
async def test_c77_session_of_each_loop(session: ah.MonitoredSession, turn: int) -> None:
    """Each test gets a session of its own event loop, which recovers there."""
    assert await session.run("x") == 7


async def test_c77_session_closed_by_the_test(session: ah.MonitoredSession) -> None:
    """A test that closes its fixture's session leaves nothing to do for the fixture."""
    assert await session.run("x") == 7
    await session.close()
    with pytest.raises(ah.SessionClosedError):
        await session.run("x")
