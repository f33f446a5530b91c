"""C23, C72: every hook is told once how the session ended, where, and with which error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

import asynchooks as ah
from asynchooks import EndReason, Phase
from tests.cases.spies import CountingCreator, attempts, monitored, planned_graph, spies, steps

Way = Callable[[ah.MonitoredSession, ah.Op[Any]], Awaitable[None]]


async def run_once(session: ah.MonitoredSession, x: ah.Op[Any]) -> None:
    await session.run(x)


async def stop(session: ah.MonitoredSession, x: ah.Op[Any]) -> None:
    await session.run(x)
    session.request_stop()


async def run_for_ever(session: ah.MonitoredSession, x: ah.Op[Any]) -> None:
    while True:
        await session.run(x)


async def close_by_hand(session: ah.MonitoredSession, x: ah.Op[Any]) -> None:
    await session.run(x)
    await session.close()


async def fail(session: ah.MonitoredSession, x: ah.Op[Any]) -> None:
    raise ValueError("body")


CLEAN = [
    pytest.param(run_once, [7], EndReason.COMPLETED, id="body ends"),
    pytest.param(stop, [7], EndReason.STOPPED, id="request_stop"),
    pytest.param(run_for_ever, [7, ah.OutOfRangeError], EndReason.OUT_OF_INPUT, id="end of data"),
    pytest.param(close_by_hand, [7], EndReason.COMPLETED, id="close"),
]


@pytest.mark.parametrize(("way", "outcomes", "reason"), CLEAN)
async def test_c23_clean_end(way: Way, outcomes: list[Any], reason: EndReason) -> None:
    """A clean end calls `end` and then `close`, once for each hook, with the right reason."""
    graph, x, _ = planned_graph(*outcomes)
    creator = CountingCreator()
    hooks = spies("AB", creator)
    async with monitored(graph, creator, hooks) as session:
        await way(session, x)
    told = reason.name.lower()
    assert creator.log[-5:] == steps(
        f"A.end(S1) B.end(S1) S1.closed B.close({told}) A.close({told})"
    )
    assert sum(step.startswith(("A.end", "A.close")) for step in creator.log) == 2
    [first], [second] = (hook.session_ends for hook in hooks)
    assert first == second
    assert isinstance(first.error, ah.OutOfRangeError | None)


async def test_c23_end_of_data_reported_by_a_task() -> None:
    """The end of the data that a background task meets stops the loop and ends it cleanly."""
    graph, x, _ = planned_graph(7)
    creator = CountingCreator()
    hooks = spies("A", creator)
    async with monitored(graph, creator, hooks) as session:
        session.coordinator.request_stop(anyio.EndOfStream())
        while not session.should_stop():
            await session.run(x)
    assert creator.log == steps("A.begin A.acs(S1) A.end(S1) S1.closed A.close(out_of_input)")


FAILED = [
    pytest.param(run_once, ValueError("op"), Phase.RUN, id="op"),
    pytest.param(fail, 7, Phase.BODY, id="body"),
]


@pytest.mark.parametrize(("way", "outcome", "phase"), FAILED)
async def test_c23_failure(way: Way, outcome: Any, phase: Phase) -> None:
    """An error that leaves the block is told to each hook's `close`, and no `end` is called."""
    graph, x, _ = planned_graph(outcome)
    creator = CountingCreator()
    hooks = spies("AB", creator)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the very object is compared below)
        async with monitored(graph, creator, hooks) as session:
            await way(session, x)
    assert creator.log[-3:] == ["S1.closed", "B.close(failed)", "A.close(failed)"]
    assert not any("end" in step for step in creator.log)
    expected = ah.SessionEnd(EndReason.FAILED, caught.value, phase)
    assert [hook.session_ends for hook in hooks] == [[expected]] * 2


async def test_c23_cancellation() -> None:
    """A block that is cancelled from outside says so to each hook's `close`, without `end`."""
    graph, _, _ = planned_graph(7)
    creator = CountingCreator()
    hooks = spies("AB", creator)
    with anyio.CancelScope() as scope:
        async with monitored(graph, creator, hooks):
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert creator.log[-3:] == ["S1.closed", "B.close(cancelled)", "A.close(cancelled)"]
    assert not any("end" in step for step in creator.log)
    assert [hook.session_ends[0].phase for hook in hooks] == [Phase.BODY] * 2


async def test_c23_gave_up() -> None:
    """A block left because recovery gave up tells each hook's `close` the error that says so."""
    graph, x, _ = planned_graph(ah.UnavailableError)
    creator = CountingCreator()
    hooks = spies("AB", creator)
    with pytest.raises(ah.RecoveryError) as caught:
        async with monitored(graph, creator, hooks, recovery=attempts(2)) as session:
            await session.run(x)
    assert creator.log[-3:] == ["S2.closed", "B.close(gave_up)", "A.close(gave_up)"]
    assert not any("end" in step for step in creator.log)
    expected = ah.SessionEnd(EndReason.GAVE_UP, caught.value, Phase.RUN)
    assert [hook.session_ends for hook in hooks] == [[expected]] * 2


async def test_c23_error_caught_in_the_block_is_no_failure() -> None:
    """An error of a run that the body caught does not make the end unclean."""
    graph, x, _ = planned_graph(ValueError("op"), 7)
    creator = CountingCreator()
    hooks = spies("A", creator)
    async with monitored(graph, creator, hooks) as session:
        with pytest.raises(ValueError, match="op"):
            await session.run(x)
        assert await session.run(x) == 7
    assert creator.log[-3:] == ["A.end(S1)", "S1.closed", "A.close(completed)"]
    assert hooks[0].session_ends == [ah.SessionEnd(EndReason.COMPLETED, None, None)]


WHERE = {
    "begin": Phase.BEGIN,
    "acs": Phase.AFTER_CREATE_SESSION,
    "before": Phase.BEFORE_RUN,
    "after": Phase.AFTER_RUN,
    "end": Phase.END,
}


@pytest.mark.parametrize("method", WHERE)
async def test_c72_phase_and_identity(method: str) -> None:
    """An error of a hook reaches `close` as the object that was raised, with its phase."""
    graph, x, _ = planned_graph(7)
    error = ValueError(method)
    creator = CountingCreator()
    hooks = spies("ABC", creator, B={method: [error]})
    with pytest.raises(ValueError, match=method) as caught:
        async with monitored(graph, creator, hooks) as session:
            await session.run(x)
    assert caught.value is error
    begun = hooks[:1] if method == "begin" else hooks
    expected = ah.SessionEnd(EndReason.FAILED, error, WHERE[method])
    assert [hook.session_ends for hook in begun] == [[expected]] * len(begun)
    assert all(hook.session_ends[0].error is error for hook in begun)
    told = {"before": "A", "after": "C"}.get(method, "")
    assert [hook.name for hook in hooks if hook.run_errors == [error]] == list(told)


async def test_c72_creation() -> None:
    """An error of making the session reaches `close` as the object that was raised."""
    graph, _, _ = planned_graph(7)
    error = ValueError("creation")
    creator = CountingCreator([error])
    hooks = spies("AB", creator)
    with pytest.raises(ValueError, match="creation") as caught:
        async with monitored(graph, creator, hooks):
            pytest.fail("the block was entered")
    assert caught.value is error
    assert creator.log == steps("A.begin B.begin B.close(failed) A.close(failed)")
    expected = ah.SessionEnd(EndReason.FAILED, error, Phase.CREATE)
    assert [hook.session_ends for hook in hooks] == [[expected]] * 2


async def test_c72_op() -> None:
    """An error of an op reaches every on_run_error and every `close` as the object raised."""
    error = ValueError("op")
    graph, x, _ = planned_graph(error)
    creator = CountingCreator()
    hooks = spies("AB", creator)
    with pytest.raises(ValueError, match="op") as caught:
        async with monitored(graph, creator, hooks) as session:
            await session.run(x)
    assert caught.value is error
    assert all(hook.run_errors[0] is error for hook in hooks)
    expected = ah.SessionEnd(EndReason.FAILED, error, Phase.RUN)
    assert [hook.session_ends for hook in hooks] == [[expected]] * 2


async def test_c72_close() -> None:
    """A `close` that fails does not change what the others are told."""
    graph, _, _ = planned_graph(7)
    error = ValueError("close")
    creator = CountingCreator()
    hooks = spies("AB", creator, B={"close": [error]})
    with pytest.raises(ValueError, match="close") as caught:
        async with monitored(graph, creator, hooks):
            pass
    assert caught.value is error
    assert [len(hook.session_ends) for hook in hooks] == [1, 1]
