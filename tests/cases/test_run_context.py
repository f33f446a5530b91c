"""C40, C55: what belongs to one run, and runs that no hook sees."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import asynchooks as ah
from tests.cases.spies import CountingCreator, Spy, monitored, planned_graph, spies, steps


class TokenHook(ah.SessionRunHook):
    """Stores a token for each run and keeps what it finds afterwards."""

    def __init__(self) -> None:
        self.given: dict[int, ah.SessionRunContext] = {}
        self.found: list[tuple[int, ah.SessionRunContext]] = []
        self.failed: list[tuple[int, ah.SessionRunContext]] = []

    async def before_run(self, run_context: ah.SessionRunContext) -> None:
        token = len(self.given)
        self.given[token] = run_context
        run_context.state["token"] = token

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        self.found.append((run_context.state["token"], run_context))

    async def on_run_error(self, run_context: ah.SessionRunContext, error: BaseException) -> None:
        self.failed.append((run_context.state["token"], run_context))


async def test_c40_overlapping_runs_keep_apart() -> None:
    """Runs that overlap have each a run context of their own, the same before and after."""
    second_is_over = anyio.Event()
    with ah.Graph().as_default() as graph:

        @ah.op
        async def slow() -> str:
            await second_is_over.wait()
            return "slow"

        @ah.op
        async def quick() -> str:
            return "quick"

        first, second = slow(), quick()
    hook = TokenHook()
    results: list[str] = []

    async def run_first() -> None:
        results.append(await session.run(first))

    async def run_second() -> None:
        results.append(await session.run(second))
        second_is_over.set()

    session = ah.MonitoredSession(graph, [hook])
    async with session, anyio.create_task_group() as tasks:
        tasks.start_soon(run_first)
        tasks.start_soon(run_second)
    assert results == ["quick", "slow"]
    assert [token for token, _ in hook.found] in ([1, 0], [0, 1])
    assert all(hook.given[token] is context for token, context in hook.found)
    assert hook.given[0] is not hook.given[1]
    asked = {hook.given[token].original_args.fetches for token, _ in hook.found}
    assert asked == {first, second}


async def test_c40_each_attempt_has_its_own_context() -> None:
    """An attempt that is repeated does not see what the lost one stored."""
    graph, x, _ = planned_graph(ah.UnavailableError, 7)
    hook = TokenHook()
    creator = CountingCreator()
    async with monitored(graph, creator, [hook]) as session:
        await session.run(x)
    assert hook.failed == [(0, hook.given[0])]
    assert hook.found == [(1, hook.given[1])]
    assert hook.given[0] is not hook.given[1]


async def test_c40_hooks_share_the_context_of_a_run() -> None:
    """All hooks of a run see one context, the session it runs on, and what the caller asked."""
    graph, x, _ = planned_graph(7)
    hooks = [TokenHook(), TokenHook()]
    async with ah.MonitoredSession(graph, hooks) as session:
        await session.run([x], options=ah.RunOptions(trace_level=2))
        raw = session.session
    context = hooks[0].given[0]
    assert hooks[1].given[0] is context
    assert context.session is raw
    assert context.original_args == ah.SessionRunArgs([x], None, ah.RunOptions(trace_level=2))


class EveryOther(Spy):
    """A spy that counts runs and logs every second one."""

    runs = 0

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        self.runs += 1
        if self.runs % 2 == 0:
            self.creator.log.append(f"run {self.runs}")


async def test_c55_run_without_hooks() -> None:
    """A run on the step context's raw session is seen by no hook, also when it is repeated."""
    graph, x, plan = planned_graph(1, ah.UnavailableError, 2, 3)
    creator = CountingCreator()
    counter = EveryOther("B", creator)
    async with monitored(graph, creator, [*spies("A", creator), counter]) as session:
        results = [
            await session.run(x),
            await session.run_step_fn(lambda step: step.session.run(x)),
            await session.run(x),
        ]
    assert results == [1, 2, 3]
    assert (plan.calls, counter.runs) == (4, 2)
    assert creator.log == [
        *steps("A.begin B.begin A.acs(S1) B.acs(S1) A.before B.before A.after"),
        *steps("S1.closed A.acs(S2) B.acs(S2)"),
        *steps("A.before B.before A.after"),
        "run 2",
        *steps("A.end(S2) B.end(S2) S2.closed B.close(completed) A.close(completed)"),
    ]


async def test_c55_global_step_counts_only_runs_with_hooks() -> None:
    """The global step that nobody assigns stays as it is in a run without hooks."""
    graph, x, _ = planned_graph(7)
    with graph.as_default():
        step = ah.get_or_create_global_step()
    async with ah.MonitoredSession(graph) as session:
        await session.run(x)
        await session.run_step_fn(lambda context: context.session.run(x))
        await session.run_step_fn(lambda context: context.run_with_hooks(x))
        assert await session.run_step_fn(lambda context: context.session.run(step)) == 2


async def test_c55_step_function_is_repeated_on_the_new_session() -> None:
    """A step function that loses its session starts over, with the raw session that is live."""
    graph, x, _ = planned_graph(1, ah.UnavailableError, 2, 3)
    creator = CountingCreator()
    seen: list[Any] = []

    async def step(context: ah.StepContext) -> list[Any]:
        seen.append(creator.name_of(context.session))
        return [await context.session.run(x), await context.run_with_hooks(x)]

    async with monitored(graph, creator, spies("A", creator)) as session:
        assert await session.run_step_fn(step) == [2, 3]
    assert seen == ["S1", "S2"]
    assert [step for step in creator.log if step[2:] in {"before", "after"}] == steps(
        "A.before A.before A.after"
    )


async def test_c55_error_in_a_step_function_leaves_bare() -> None:
    """An error of a run without hooks is raised to the caller and told to no hook."""
    graph, x, _ = planned_graph(ValueError("op"), 7)
    creator = CountingCreator()
    hooks = spies("A", creator)
    async with monitored(graph, creator, hooks) as session:
        with pytest.raises(ValueError, match="op"):
            await session.run_step_fn(lambda step: step.session.run(x))
        assert await session.run(x) == 7
    assert hooks[0].run_errors == []
