"""C13, C14, C17: who may ask to stop, when, and what happens then."""

from __future__ import annotations

import pytest

import asynchooks as ah
from tests.cases.spies import CountingCreator, Spy, monitored, planned_graph, spies, steps


class Stopper(Spy):
    """A spy that asks to stop in the n-th call of one of its run methods."""

    def __init__(self, name: str, creator: CountingCreator, method: str, run: int) -> None:
        super().__init__(name, creator)
        self._method, self._run, self._calls = method, run, 0

    async def before_run(self, run_context: ah.SessionRunContext) -> None:
        await super().before_run(run_context)
        self._calls += 1
        self._stop_in("before", run_context)

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        await super().after_run(run_context, run_values)
        self._stop_in("after", run_context)

    def _stop_in(self, method: str, run_context: ah.SessionRunContext) -> None:
        if (method, self._calls) == (self._method, self._run):
            run_context.request_stop()


@pytest.mark.parametrize("method", ["before", "after"])
@pytest.mark.parametrize("backwards", [False, True])
async def test_c13_stop_by_one_of_two_hooks(method: str, backwards: bool) -> None:
    """A hook's stop lets the run end with every after_run, whatever the order of the hooks."""
    graph, x, plan = planned_graph(7)
    creator = CountingCreator()
    hooks = [Stopper("A", creator, method, run=3), Spy("B", creator)]
    first, second = "BA" if backwards else "AB"
    ordered = hooks[::-1] if backwards else hooks
    async with monitored(graph, creator, ordered) as session:
        while not session.should_stop():
            await session.run(x)
    run = steps(f"{first}.before {second}.before {first}.after {second}.after")
    assert plan.calls == 3
    assert creator.log == [
        *steps(f"{first}.begin {second}.begin {first}.acs(S1) {second}.acs(S1)"),
        *run * 3,
        *steps(f"{first}.end(S1) {second}.end(S1) S1.closed"),
        *steps(f"{second}.close(stopped) {first}.close(stopped)"),
    ]


async def test_c13_stop_survives_an_error_and_a_recovery() -> None:
    """A stop that a hook asked for in a lost attempt still holds after recovery."""
    graph, x, plan = planned_graph(ah.UnavailableError, 7)
    creator = CountingCreator()
    hooks = [Stopper("A", creator, "before", run=1), Spy("B", creator)]
    async with monitored(graph, creator, hooks) as session:
        while not session.should_stop():
            assert await session.run(x) == 7
    assert (plan.calls, creator.calls) == (2, 2)
    assert [hook.session_ends[0].reason for hook in hooks] == [ah.EndReason.STOPPED] * 2


async def test_c13_stop_survives_the_error_of_another_hook() -> None:
    """A stop still holds when the run in which it was asked for fails."""
    graph, x, plan = planned_graph(7)
    creator = CountingCreator()
    other = Spy("B", creator, {"before": [ValueError("B")]})
    async with monitored(graph, creator, [Stopper("A", creator, "before", 1), other]) as session:
        with pytest.raises(ValueError, match="B"):
            await session.run(x)
        assert session.should_stop()
    assert plan.calls == 0
    assert creator.log[-5:] == steps(
        "A.end(S1) B.end(S1) S1.closed B.close(stopped) A.close(stopped)"
    )


STOPS = {
    "session": lambda session: session.request_stop(),
    "coordinator": lambda session: session.coordinator.request_stop(),
}


@pytest.mark.parametrize("by", STOPS)
async def test_c14_run_after_stop_is_caught(by: str) -> None:
    """A run after a stop raises before any hook sees it; caught in the block, `end` is called."""
    graph, x, plan = planned_graph(7)
    creator = CountingCreator()
    async with monitored(graph, creator, spies("A", creator)) as session:
        await session.run(x)
        STOPS[by](session)
        with pytest.raises(ah.RunAfterStopError) as caught:
            await session.run(x)
    assert isinstance(caught.value, RuntimeError)
    assert plan.calls == 1
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.after A.end(S1) S1.closed A.close(stopped)"
    )


@pytest.mark.parametrize("by", STOPS)
async def test_c14_run_after_stop_is_not_caught(by: str) -> None:
    """A run after a stop that is not caught leaves the block as an error, without `end`."""
    graph, x, _ = planned_graph(7)
    creator = CountingCreator()
    hooks = spies("A", creator)
    with pytest.raises(ah.RunAfterStopError) as caught:
        async with monitored(graph, creator, hooks) as session:
            await session.run(x)
            STOPS[by](session)
            await session.run(x)
    assert creator.log == steps("A.begin A.acs(S1) A.before A.after S1.closed A.close(failed)")
    assert hooks[0].session_ends[0].error is caught.value


async def test_c14_stop_by_a_step_function() -> None:
    """A step function's stop leaves the step function, is no error, and holds for later runs."""
    graph, x, plan = planned_graph(7)
    creator = CountingCreator()

    async def step(context: ah.StepContext) -> None:
        await context.run_with_hooks(x)
        context.request_stop()
        pytest.fail("request_stop() returned")

    async with monitored(graph, creator, spies("A", creator)) as session:
        while not session.should_stop():
            await session.run_step_fn(step)
        with pytest.raises(ah.RunAfterStopError):
            await session.run_step_fn(step)
    assert plan.calls == 1
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.after A.end(S1) S1.closed A.close(stopped)"
    )


class StopsInBegin(Spy):
    """A spy that stops the session it was given before the first session is made."""

    session: ah.MonitoredSession

    async def begin(self) -> None:
        await super().begin()
        self.session.request_stop()


async def test_c17_stop_in_begin() -> None:
    """A stop in begin means no run at all, but an `end` of each hook on a live session."""
    graph, x, plan = planned_graph(7)
    evaluations: list[int] = []
    with graph.as_default():

        @ah.op
        async def f() -> int:
            evaluations.append(1)
            return 5

        final = ah.FinalOpsHook(f())
    creator = CountingCreator()
    stopper = StopsInBegin("A", creator)
    session = monitored(graph, creator, [stopper, final, Spy("B", creator)])
    stopper.session = session
    async with session:
        while not session.should_stop():
            await session.run(x)
    assert (plan.calls, evaluations, final.final_ops_values) == (0, [1], 5)
    assert creator.log == steps(
        "A.begin B.begin A.acs(S1) B.acs(S1) A.end(S1) B.end(S1) S1.closed",
        "B.close(stopped) A.close(stopped)",
    )


async def test_c17_stop_before_entering() -> None:
    """A stop before the session is entered is kept: no run, but a clean end."""
    graph, x, plan = planned_graph(7)
    creator = CountingCreator()
    session = monitored(graph, creator, spies("A", creator))
    session.request_stop()
    async with session:
        while not session.should_stop():
            await session.run(x)
    assert plan.calls == 0
    assert creator.log == steps("A.begin A.acs(S1) A.end(S1) S1.closed A.close(stopped)")
