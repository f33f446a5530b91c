"""C01: what a run calls, and in which order, when its session is lost."""

from __future__ import annotations

import pytest

import asynchooks as ah
from tests.cases.spies import CountingCreator, attempts, monitored, planned_graph, spies, steps

Lost = ah.UnavailableError


@pytest.mark.parametrize("loss", [ah.UnavailableError, ah.AbortedError])
async def test_c01_run_is_repeated_on_a_new_session(loss: type[Exception]) -> None:
    """A run that loses its session is repeated from before_run on, after each hook's set-up."""
    graph, x, _ = planned_graph(loss("lost"), 7)
    creator = CountingCreator()
    async with monitored(graph, creator, spies("AB", creator)) as session:
        out = await session.run(x)
    assert out == 7
    assert creator.log == steps(
        "A.begin B.begin A.acs(S1) B.acs(S1) A.before B.before",
        f"A.error({loss.__name__}) B.error({loss.__name__}) S1.closed",
        "A.acs(S2) B.acs(S2) A.before B.before A.after B.after A.end(S2) B.end(S2)",
        "S2.closed B.close(completed) A.close(completed)",
    )


@pytest.mark.parametrize("losses", [2, 3, 9])
async def test_c01_several_losses_in_a_row(losses: int) -> None:
    """Each loss in a row costs one generation, and the run succeeds with the last."""
    graph, x, plan = planned_graph(*[Lost] * losses, 7)
    creator = CountingCreator()
    async with monitored(graph, creator, spies("A", creator)) as session:
        assert await session.run(x) == 7
    failed = [
        step
        for n in range(1, losses + 1)
        for step in steps(f"A.acs(S{n}) A.before A.error(UnavailableError) S{n}.closed")
    ]
    last = f"S{losses + 1}"
    assert creator.log == [
        "A.begin",
        *failed,
        *steps(f"A.acs({last}) A.before A.after A.end({last}) {last}.closed A.close(completed)"),
    ]
    assert plan.calls == losses + 1


async def test_c01_loss_while_setting_up() -> None:
    """A set-up that loses the session starts over with all hooks before anybody runs."""
    graph, x, _ = planned_graph(7)
    creator = CountingCreator()
    hooks = spies("ABC", creator, B={"acs": [Lost("set-up")]})
    async with monitored(graph, creator, hooks) as session:
        assert await session.run(x) == 7
    assert creator.log[:9] == steps(
        "A.begin B.begin C.begin A.acs(S1) B.acs(S1) S1.closed",
        "A.acs(S2) B.acs(S2) C.acs(S2)",
    )


async def test_c01_loss_while_setting_up_again() -> None:
    """A set-up that loses the session during recovery counts as one more loss."""
    graph, x, plan = planned_graph(Lost, 7)
    creator = CountingCreator(errors=[None, Lost("creation")])
    hooks = spies("AB", creator)
    async with monitored(graph, creator, hooks) as session:
        assert await session.run(x) == 7
    assert creator.log[4:] == steps(
        "A.before B.before A.error(UnavailableError) B.error(UnavailableError)",
        "S1.closed A.acs(S3) B.acs(S3) A.before B.before A.after B.after",
        "A.end(S3) B.end(S3) S3.closed B.close(completed) A.close(completed)",
    )
    assert plan.calls == 2


async def test_c01_loss_in_before_run() -> None:
    """A hook whose before_run loses the session is no party of that attempt, unlike others."""
    graph, x, plan = planned_graph(7)
    creator = CountingCreator()
    hooks = spies("ABC", creator, B={"before": [Lost("B")]})
    async with monitored(graph, creator, hooks) as session:
        assert await session.run(x) == 7
    assert creator.log[6:17] == steps(
        "A.before B.before A.error(UnavailableError) S1.closed",
        "A.acs(S2) B.acs(S2) C.acs(S2) A.before B.before C.before A.after",
    )
    assert plan.calls == 1


async def test_c01_session_declared_lost_while_idle() -> None:
    """A session that was reported lost between runs is replaced before the next run begins."""
    graph, x, plan = planned_graph(7)
    creator = CountingCreator()
    async with monitored(graph, creator, spies("A", creator)) as session:
        session.coordinator.request_stop(Lost("no sign of life"))
        assert not session.should_stop()
        assert await session.run(x) == 7
    assert creator.log == steps(
        "A.begin A.acs(S1) S1.closed A.acs(S2) A.before A.after",
        "A.end(S2) S2.closed A.close(completed)",
    )
    assert plan.calls == 1


async def test_c01_session_declared_lost_before_the_end() -> None:
    """`end` gets a live session: a lost one is replaced first."""
    graph, x, _ = planned_graph(7)
    creator = CountingCreator()
    async with monitored(graph, creator, spies("A", creator)) as session:
        await session.run(x)
        session.coordinator.request_stop(Lost("no sign of life"))
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.after S1.closed A.acs(S2)",
        "A.end(S2) S2.closed A.close(completed)",
    )


async def test_c01_run_that_is_not_to_be_retried() -> None:
    """With retry=False the session is recovered, and the error of the run is raised."""
    error = Lost("once")
    graph, x, plan = planned_graph(error, 7)
    creator = CountingCreator()
    async with monitored(graph, creator, spies("A", creator)) as session:
        with pytest.raises(Lost) as caught:
            await session.run(x, options=ah.RunOptions(retry=False))
        assert plan.calls == 1
        assert await session.run(x) == 7
    assert caught.value is error
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.error(UnavailableError) S1.closed",
        "A.acs(S2) A.before A.after A.end(S2) S2.closed A.close(completed)",
    )


async def test_c01_run_that_a_hook_does_not_want_retried() -> None:
    """One party's retry=False is enough: the error of the run is raised, the session recovered."""
    graph, x, plan = planned_graph(Lost, 7)
    creator = CountingCreator()

    class Once(ah.SessionRunHook):
        async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs:
            return ah.SessionRunArgs(options=ah.RunOptions(retry=False))

    async with monitored(graph, creator, [Once(), *spies("A", creator)]) as session:
        with pytest.raises(Lost):
            await session.run(x)
        assert plan.calls == 1
        assert await session.run(x) == 7
    assert creator.calls == 2


async def test_c01_without_recovery() -> None:
    """With recovery=None the loss of the session leaves the block bare; nothing is made anew."""
    error = Lost("for good")
    graph, x, _ = planned_graph(error)
    creator = CountingCreator()
    with pytest.raises(Lost) as caught:
        async with monitored(graph, creator, spies("AB", creator), recovery=None) as session:
            await session.run(x)
    assert caught.value is error
    assert creator.log == steps(
        "A.begin B.begin A.acs(S1) B.acs(S1) A.before B.before",
        "A.error(UnavailableError) B.error(UnavailableError) S1.closed",
        "B.close(failed) A.close(failed)",
    )


async def test_c01_streak_ends_with_a_committed_run() -> None:
    """Losses of different runs are not added up."""
    graph, x, _ = planned_graph(Lost, Lost, 1, Lost, Lost, 2, 3)
    creator = CountingCreator()
    async with monitored(graph, creator, recovery=attempts(3)) as session:
        assert [await session.run(x) for _ in range(3)] == [1, 2, 3]
    assert creator.calls == 5
