"""C35: the timeout of asyncio stays a timeout, wherever it strikes."""

from __future__ import annotations

import asyncio

import pytest

import asynchooks as ah
from tests.cases.spies import (
    CountingCreator,
    LongWait,
    attempts,
    monitored,
    planned_graph,
    spies,
    steps,
)

pytestmark = pytest.mark.asyncio


class Deadline:
    """An `asyncio.timeout` that comes just after `expire` is called."""

    def __init__(self) -> None:
        self.timeout = asyncio.timeout(10)

    def expire(self) -> None:
        self.timeout.reschedule(asyncio.get_running_loop().time() + 0.001)


def pending() -> set[asyncio.Task[object]]:
    """Returns the tasks of the loop other than the current one."""
    return asyncio.all_tasks() - {asyncio.current_task()}


@pytest.mark.parametrize("creations", [0, 1])
async def test_c35_timeout_round_the_session(creations: int) -> None:
    """A timeout that comes during a back-off leaves as TimeoutError, with nothing pending."""
    graph, x, _ = planned_graph(ah.UnavailableError)
    creator, deadline = CountingCreator([ah.UnavailableError("down")] * creations), Deadline()
    hooks, recovery = spies("A", creator), attempts(5, LongWait(deadline.expire))
    session = monitored(graph, creator, hooks, recovery=recovery)
    with pytest.raises(TimeoutError) as caught:
        async with deadline.timeout, session:
            await session.run(x)
    assert type(caught.value) is TimeoutError
    assert (creator.calls, creator.log[-1]) == (1, "A.close(cancelled)")
    assert pending() == set()
    assert asyncio.current_task().cancelling() == 0


async def test_c35_timeout_round_one_run() -> None:
    """A timeout that comes during the back-off of one run leaves the session to the next."""
    graph, x, _ = planned_graph(ah.UnavailableError, 7)
    creator, deadline = CountingCreator(), Deadline()
    recovery = attempts(5, LongWait(deadline.expire, seconds=0.05))
    async with monitored(graph, creator, spies("A", creator), recovery=recovery) as session:
        with pytest.raises(TimeoutError):
            async with deadline.timeout:
                await session.run(x)
        async with asyncio.timeout(1):
            assert await session.run(x) == 7
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.error(UnavailableError) S1.closed",
        "A.acs(S2) A.before A.after A.end(S2) S2.closed A.close(completed)",
    )
    assert pending() == set()


async def test_c35_wait_for_round_an_op() -> None:
    """`asyncio.wait_for` round a run that hangs is a timeout, and the session is usable."""
    with ah.Graph().as_default() as graph:

        @ah.op
        async def hangs() -> None:
            await asyncio.sleep(10)

        x, seven = hangs(), ah.constant(7)
    creator = CountingCreator()
    async with monitored(graph, creator, spies("A", creator)) as session:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.run(x), 0.005)
        assert await session.run(seven) == 7
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.error(CancelledError) A.before A.after",
        "A.end(S1) S1.closed A.close(completed)",
    )
    assert pending() == set()
