"""C88: closing by hand, using what is closed, and using hooks again."""

from __future__ import annotations

import pytest

import asynchooks as ah
from tests.cases.spies import CountingCreator, Spy, monitored, planned_graph, spies, steps

CLOSED = "A.begin A.acs(S1) A.before A.after A.end(S1) S1.closed A.close(completed)"


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_c88_close_inside_the_block(times: int) -> None:
    """Closing by hand, once or more, ends the session; leaving the block then does nothing."""
    graph, x, _ = planned_graph(7)
    creator = CountingCreator()
    async with monitored(graph, creator, spies("A", creator)) as session:
        await session.run(x)
        for _ in range(times):
            await session.close()
        assert creator.log == CLOSED.split()
    await session.close()
    assert creator.log == CLOSED.split()


async def test_c88_run_after_close() -> None:
    """A run after close raises the closed error before any hook or op sees it."""
    graph, x, plan = planned_graph(7)
    creator = CountingCreator()
    async with monitored(graph, creator, spies("A", creator)) as session:
        await session.run(x)
        await session.close()
        with pytest.raises(ah.SessionClosedError):
            await session.run(x)
        with pytest.raises(ah.SessionClosedError):
            await session.run_step_fn(lambda step: step.session.run(x))
    with pytest.raises(ah.SessionClosedError):
        await session.run(x)
    assert plan.calls == 1
    assert creator.log == CLOSED.split()


async def test_c88_error_after_close_leaves_the_block() -> None:
    """An error of the body after close is not swallowed; the end of the data is."""
    creator = CountingCreator()
    with pytest.raises(ValueError, match="late"):
        async with monitored(ah.Graph(), creator) as session:
            await session.close()
            raise ValueError("late")
    async with monitored(ah.Graph(), creator) as session:
        await session.close()
        raise ah.OutOfRangeError


async def test_c88_session_is_not_entered_twice() -> None:
    """A session lives once: entering it again is refused, while it lives and afterwards."""
    session = monitored(ah.Graph(), CountingCreator())
    async with session:
        with pytest.raises(ah.LifecycleError):
            await session.__aenter__()
    with pytest.raises(ah.LifecycleError):
        await session.__aenter__()


class AddsOp(Spy):
    """A spy that adds an op in the method of the given name."""

    def __init__(self, name: str, creator: CountingCreator, method: str, graph: ah.Graph) -> None:
        super().__init__(name, creator)
        self._method, self._graph = method, graph

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        await super().after_create_session(session, coord)
        self._add("after_create_session")

    async def before_run(self, run_context: ah.SessionRunContext) -> None:
        await super().before_run(run_context)
        self._add("before_run")

    def _add(self, method: str) -> None:
        if method == self._method:
            with self._graph.as_default():
                ah.constant(1, name="late")


@pytest.mark.parametrize("method", ["after_create_session", "before_run"])
async def test_c88_op_added_too_late(method: str) -> None:
    """An op added when the graph is final is refused: op, hook and the right place are named."""
    graph, x, plan = planned_graph(7)
    creator = CountingCreator()
    hooks = [*spies("A", creator), AddsOp("B", creator, method, graph)]
    with pytest.raises(ah.GraphFinalizedError) as caught:
        async with monitored(graph, creator, hooks) as session:
            await session.run(x)
    text = "\n".join([str(caught.value), *caught.value.__notes__])
    assert all(word in text for word in ["'late'", f"AddsOp.{method} (hooks[1])", "begin"])
    assert plan.calls == 0
    assert creator.log[-3:] == ["S1.closed", "B.close(failed)", "A.close(failed)"]
    assert not graph.finalized


async def test_c88_hooks_are_used_again() -> None:
    """A second session with the same hooks on the same graph counts from its own start."""
    graph, x, plan = planned_graph(7)
    creator = CountingCreator()
    with graph.as_default():
        step = ah.get_or_create_global_step()
    final = ah.FinalOpsHook(step)
    hooks = [ah.StopAtStepHook(num_steps=2), final, *spies("A", creator)]
    for session_number in (1, 2):
        async with monitored(graph, creator, hooks) as session:
            assert final.final_ops_values is None
            while not session.should_stop():
                await session.run(x)
        assert plan.calls == 2 * session_number
        assert final.final_ops_values == 2
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.after A.before A.after",
        "A.end(S1) S1.closed A.close(stopped)",
        "A.begin A.acs(S2) A.before A.after A.before A.after",
        "A.end(S2) S2.closed A.close(stopped)",
    )


async def test_c88_hooks_are_used_again_after_a_failure() -> None:
    """Hooks of a session that failed to open can be used by the next one."""
    graph, x, _ = planned_graph(7)
    creator = CountingCreator(errors=[ValueError("creation")])
    hooks = spies("A", creator)
    with pytest.raises(ValueError, match="creation"):
        async with monitored(graph, creator, hooks):
            pytest.fail("the block was entered")
    async with monitored(graph, creator, hooks) as session:
        assert await session.run(x) == 7
    assert creator.log[:2] == ["A.begin", "A.close(failed)"]


async def test_c88_begin_on_the_same_graph_again() -> None:
    """A hook that makes its op in begin finds it again when the graph is used again."""
    graph, _, _ = planned_graph(7)
    stop = ah.StopAtStepHook(num_steps=1)
    for _ in range(3):
        async with ah.MonitoredSession(graph, [stop]) as session:
            while not session.should_stop():
                await session.run("x")
    assert [op.name for op in graph.get_operations()].count("global_step") == 1
    assert len(graph.get_operations()) == 2
