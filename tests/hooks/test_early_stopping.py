"""Early stopping: stop_if_higher_hook, stop_if_lower_hook and the two for lack of improvement."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import anyio
import numpy as np
import pytest
import tenacity

import asynchooks as ah
from tests.hooks.conftest import Lines

NAN = math.nan


class Model:
    """A graph whose runs give the losses one by one."""

    def __init__(self, losses: Iterable[Any]) -> None:
        with ah.Graph().as_default() as self.graph:
            self.loss = ah.op(lambda loss: loss, name="loss")(ah.from_iterable(losses).get_next())


class Process:
    """Makes sessions that go on where the last one ended, as those of a restarted process."""

    def __init__(self) -> None:
        self.saved: dict[str, Any] = {}

    def create_session(
        self, graph: ah.Graph, state: ah.SessionState
    ) -> AbstractAsyncContextManager[ah.Session]:
        for name, value in self.saved.items():
            state.values[graph.get_operation_by_name(name)] = value
        self.state = state
        return ah.Session(graph, state)

    def save(self) -> None:
        """Keeps the values of all variables that were assigned."""
        self.saved = {variable.name: value for variable, value in self.state.values.items()}


async def runs_until_stop(model: Model, *hooks: ah.SessionRunHook, **options: Any) -> int:
    """Makes runs until the hooks request a stop or the losses end; returns how many committed."""
    runs = 0
    async with ah.MonitoredSession(model.graph, hooks, **options) as session:
        while not session.should_stop():
            await session.run(model.loss)
            runs += 1
    return runs


HIGHER, LOWER = ah.stop_if_higher_hook, ah.stop_if_lower_hook
NO_INCREASE, NO_DECREASE = ah.stop_if_no_increase_hook, ah.stop_if_no_decrease_hook
HOOKS = [HIGHER, LOWER, NO_INCREASE, NO_DECREASE]

MakeHook = Callable[..., ah.SessionRunHook]


@pytest.mark.parametrize(
    ("make", "limit", "losses", "runs"),
    [
        (HIGHER, 0.5, [0.1, 0.5, 0.6, 0.1], 3),
        (HIGHER, 0.5, [NAN, 0.5, 0.4], 3),
        (LOWER, 0.5, [0.9, 0.5, 0.4, 0.9], 3),
        (LOWER, 0.5, [NAN, 0.5, 0.6], 3),
        (NO_INCREASE, 3, [1, 2, 2, 1, 2, 9], 5),
        (NO_INCREASE, 3, [1, 2, 2, 1, 3, 1, 1, 1, 9], 8),
        (NO_INCREASE, 1, [1, 2, 3, 4], 4),
        (NO_DECREASE, 3, [2, 1, 1, 2, 1, 0], 5),
        (NO_DECREASE, 3, [2, 1, 1, 2, 0, 1, 1, 1, 0], 8),
        (NO_DECREASE, 1, [4, 3, 3], 3),
    ],
)
async def test_stop_comes_with_the_run_that_gives_the_reason(
    make: MakeHook, limit: float, losses: list[float], runs: int
) -> None:
    """A value past the threshold, or so many steps after the best one, ends the loop."""
    for metric in "loss", (model := Model(losses)).loss:
        assert await runs_until_stop(model, make(metric, limit)) == runs


@pytest.mark.parametrize(
    ("make", "losses", "runs"),
    [
        (NO_INCREASE, [NAN, NAN, 1, NAN, 2, NAN, NAN, NAN, 3], 8),
        (NO_DECREASE, [NAN, NAN, 2, NAN, 1, NAN, NAN, NAN, 0], 8),
        (NO_DECREASE, [NAN] * 9, 4),
    ],
)
async def test_nan_is_no_improvement(make: MakeHook, losses: list[float], runs: int) -> None:
    """Any number is better than NaN, and NaN alone is no improvement either."""
    assert await runs_until_stop(Model(losses), make("loss", 3)) == runs


@pytest.mark.parametrize(
    ("make", "limit"), [(HIGHER, 0.5), (LOWER, 1.5), (NO_INCREASE, 3), (NO_DECREASE, 3)]
)
async def test_minimum_of_steps_is_made(make: MakeHook, limit: float) -> None:
    """Where there is a reason at step 3 already, the stop comes right at `min_steps` (case C18)."""
    assert await runs_until_stop(Model([1] * 1000), make("loss", limit, min_steps=10)) == 10


async def test_minimum_counts_the_steps_that_the_graph_makes() -> None:
    """`min_steps` is a global step, not a number of runs."""
    model = Model([1] * 9)
    with model.graph.as_default():
        ah.group(ah.get_or_create_global_step().assign_add(5), name="train")
    async with ah.MonitoredSession(model.graph, [HIGHER("loss", 0, min_steps=11)]) as session:
        while not session.should_stop():
            await session.run("train")
        assert await session.session.run("global_step") == 15


async def test_run_that_makes_no_step_does_not_reach_the_minimum() -> None:
    """Where the graph keeps the global step as it is, `min_steps` stays ahead."""
    model = Model([1] * 9)
    with model.graph.as_default():
        stays = ah.get_or_create_global_step().assign_add(0)
    async with ah.MonitoredSession(model.graph, [HIGHER("loss", 0, min_steps=1)]) as session:
        await session.run(stays)
        assert not session.should_stop()


async def test_steps_are_those_of_the_graph() -> None:
    """Patience is in global steps: runs that make two of them use it up twice as fast."""
    model = Model([1] * 9)
    with model.graph.as_default():
        train = ah.get_or_create_global_step().assign_add(2)
    async with ah.MonitoredSession(model.graph, [NO_DECREASE("loss", 4)]) as session:
        while not session.should_stop():
            await session.run(train)
        assert await session.session.run(train) == 8


@pytest.mark.parametrize("value", [1, 1.5, True, np.float32(1), np.array(1)])
async def test_kinds_of_numbers(value: Any) -> None:
    """Whatever `float` takes is a number."""
    assert await runs_until_stop(Model([0, value, 0]), HIGHER("loss", 0.5)) == 2


async def test_stop_is_logged(lines: Lines) -> None:
    """A line tells the reason; its parts are attributes of the record."""
    await runs_until_stop(Model([0.25, 0.75]), HIGHER("loss", 0.5))
    await runs_until_stop(Model([0.25, 0.75, 0.5]), NO_DECREASE("loss", 2))
    assert lines.texts == [
        "at step 2 loss is 0.75, higher than 0.5; a stop is requested",
        "at step 3 loss has not decreased from 0.25 for 2 steps; a stop is requested",
    ]
    record = vars(lines.records[1])
    assert [record[key] for key in ("metric", "value", "global_step")] == ["loss", 0.5, 3]


async def test_best_value_survives_a_restart() -> None:
    """Two values that are no better, a restart, and one more: the stop comes right there (C68)."""
    process, losses = Process(), [5, 6, 6]
    for expected in 3, 1:
        hook = NO_DECREASE("loss", 3)
        assert await runs_until_stop(Model(losses), hook, session_creator=process) == expected
        process.save()
        losses = [6, 6, 6]
    assert process.saved == {"global_step": 4, "stop_if_no_decrease_hook/loss": (5.0, 0)}


async def test_hook_is_used_again() -> None:
    """A second session with the same hook starts anew, and the graph stays as it is."""
    model, hook = Model([1] * 9), NO_DECREASE("loss", 3)
    for _ in range(2):
        assert await runs_until_stop(model, hook) == 4
        names = [op.name for op in model.graph.get_operations()]
        assert names[-2:] == ["global_step", "stop_if_no_decrease_hook/loss"]


async def test_repeated_run_counts_once() -> None:
    """A run that is lost leaves nothing behind, and the best value survives the recovery."""
    model, planned = Model([3, 1, 2, 2, 2]), [None, ah.AbortedError("lost"), None, None, None]

    async def work() -> None:
        error = planned.pop(0)
        if error is not None:
            raise error

    recovery = ah.Recovery(wait=tenacity.wait_none())
    runs = 0
    hooks = [NO_DECREASE("loss", 2)]
    async with ah.MonitoredSession(model.graph, hooks, recovery=recovery) as session:
        while not session.should_stop():
            await session.run(work)
            runs += 1
    assert (runs, planned) == (4, [])


async def test_failed_run_gives_no_best_value() -> None:
    """A value of a run that does not commit is not taken in."""
    model = Model([1, 2, 2])

    async def fail(value: float) -> None:
        raise ValueError("bad")

    with model.graph.as_default():
        failing = ah.op(fail)(model.loss)
    process = Process()
    hook = NO_DECREASE("loss", 2)
    async with ah.MonitoredSession(model.graph, [hook], session_creator=process) as session:
        with pytest.raises(ValueError, match="bad"):
            await session.run(failing)
        assert process.state.values == {}
        await session.run("loss")
        process.save()
    assert process.saved["stop_if_no_decrease_hook/loss"] == (1.0, 0)


class Overlapping:
    """Runs that all start before the first of them commits."""

    def __init__(self, losses: list[float]) -> None:
        with ah.Graph().as_default() as self.graph:
            self.loss = ah.placeholder("loss")
        self.losses = losses
        self.gates = [anyio.Event() for _ in losses]

    async def commit(self, session: ah.MonitoredSession, order: Iterable[int]) -> None:
        """Makes the runs, which commit in some order."""
        async with anyio.create_task_group() as group:
            for loss, gate in zip(self.losses, self.gates, strict=True):
                group.start_soon(session.run, gate.wait, {self.loss: loss})
            await anyio.wait_all_tasks_blocked()
            for index in order:
                self.gates[index].set()
                await anyio.wait_all_tasks_blocked()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
async def test_runs_that_overlap_keep_the_best_value(order: tuple[int, ...]) -> None:
    """In whichever order they commit, the best of their values stays."""
    runs, process = Overlapping([3, 1, 2]), Process()
    hook = NO_DECREASE("loss", 100)
    async with ah.MonitoredSession(runs.graph, [hook], session_creator=process) as session:
        await runs.commit(session, order)
        process.save()
    assert process.saved["stop_if_no_decrease_hook/loss"] == (1.0, 0)


async def test_better_value_that_has_committed_meanwhile_counts(lines: Lines) -> None:
    """A run that saw no improvement does not stop what another one has improved since."""
    runs = Overlapping([1, 5, 5])
    async with ah.MonitoredSession(runs.graph, [NO_DECREASE("loss", 2)]) as session:
        for loss in 4, 4:
            await session.run([], {runs.loss: loss})
        await runs.commit(session, (0, 1, 2))
        assert not session.should_stop()
        await session.run([], {runs.loss: 1})
        assert session.should_stop()
    assert len(lines.texts) == 1


async def test_runs_that_overlap_tell_of_one_stop(lines: Lines) -> None:
    """Runs under way at the stop log nothing more."""
    runs = Overlapping([1, 1, 1])
    async with ah.MonitoredSession(runs.graph, [HIGHER("loss", 0)]) as session:
        await runs.commit(session, (0, 1, 2))
        assert session.should_stop()
    assert lines.texts == ["at step 1 loss is 1, higher than 0; a stop is requested"]


@pytest.mark.parametrize(
    ("make", "limit", "values", "steps"),
    [
        (HIGHER, 4, [2, 3, 5], 6),
        (LOWER, 3, [2], 2),
        (NO_INCREASE, 3, [2, 2, 1], 6),
        (NO_DECREASE, 4, [2, 1, 1, 0, 1, 1], 12),
    ],
)
async def test_metric_of_evaluations(
    make: MakeHook, limit: float, values: list[float], steps: int
) -> None:
    """The hook sees what the evaluation before it in the list has given after the same run."""
    evaluation = ah.EvaluationHook(partial(next, iter(values)), 2)
    assert await runs_until_stop(Model([0] * 99), evaluation, make(evaluation, limit)) == steps


async def test_metric_is_chosen_by_name() -> None:
    """Of a dict of values one is watched, under a name that tells both."""
    values = iter([{"loss": 3, "accuracy": 0.5}, {"loss": 4, "accuracy": 0.75}])
    evaluation = ah.EvaluationHook(lambda: next(values), 1, name="test", at_end=False)
    process = Process()
    hooks = [
        evaluation,
        HIGHER(evaluation, 0.6, metric_name="accuracy"),
        NO_DECREASE(evaluation, 9, metric_name="loss"),
    ]
    assert await runs_until_stop(Model([0] * 9), *hooks, session_creator=process) == 2
    process.save()
    assert process.saved == {"global_step": 2, "stop_if_no_decrease_hook/test/loss": (3.0, 1)}


async def test_evaluations_of_a_second_session_are_seen() -> None:
    """With both hooks used again, the first evaluation counts again."""
    evaluation = ah.EvaluationHook(lambda: 1, 2)
    hooks = [evaluation, HIGHER(evaluation, 0)]
    for _ in range(2):
        assert await runs_until_stop(Model([0] * 9), *hooks) == 2


class HoldsUpFirst(ah.SessionRunHook):
    """Keeps the first run in its `after_run`."""

    def __init__(self) -> None:
        self.gates = [anyio.Event()]
        self.first = self.gates[0]

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        if self.gates:
            await self.gates.pop().wait()


async def test_evaluations_that_came_together_are_all_seen() -> None:
    """A run that another one has overtaken leaves no evaluation to be missed."""
    values, held = iter([0, 9]), HoldsUpFirst()
    evaluation = ah.EvaluationHook(lambda: next(values), 1, at_end=False)
    hooks = [evaluation, held, HIGHER(evaluation, 5)]
    async with (
        ah.MonitoredSession(ah.Graph(), hooks) as session,
        anyio.create_task_group() as group,
    ):
        group.start_soon(session.run, [])
        await anyio.wait_all_tasks_blocked()
        await session.run([])
        assert session.should_stop()
        held.first.set()


@pytest.mark.parametrize("before", [[], [ah.EvaluationHook([], 1)]])
async def test_evaluation_comes_before_its_watcher(before: list[ah.SessionRunHook]) -> None:
    """An evaluation that is not in the list, or stands behind, is an error of `begin`."""
    evaluation = ah.EvaluationHook([], 1, name="test")
    with pytest.raises(ValueError, match="EvaluationHook 'test' that stop_if_higher_hook watches"):
        async with ah.MonitoredSession(ah.Graph(), [*before, HIGHER(evaluation, 0), evaluation]):
            pass


@pytest.mark.parametrize(
    ("values", "metric_name", "error", "message"),
    [
        ({"a": 1}, "b", ValueError, r"watches 'b', which is not among .*: \{'a': 1\}"),
        (3, "b", ValueError, "watches 'b', which is not among the values of the evaluation: 3"),
        ({"a": 1}, None, TypeError, r"is to be a number, .*; choose one by metric_name"),
        ({"a": [1]}, "a", TypeError, r"metric 'evaluation/a' of stop_if_\w+ is to be a number"),
        ("high", None, TypeError, "is to be a number, not 'high'"),
    ],
)
async def test_value_that_is_no_number(
    values: Any, metric_name: str | None, error: type[Exception], message: str
) -> None:
    """What an evaluation gives and cannot be compared leaves the run, with the names."""
    evaluation = ah.EvaluationHook(lambda: values, 1)
    hooks = [evaluation, HIGHER(evaluation, 0, metric_name=metric_name)]
    with pytest.raises(error, match=message):
        async with ah.MonitoredSession(ah.Graph(), hooks) as session:
            await session.run([])


@pytest.mark.parametrize("make", HOOKS)
async def test_unknown_op_is_an_error_of_begin(make: MakeHook) -> None:
    """The graph has to have the metric."""
    with pytest.raises(ValueError, match="no op named 'lost'"):
        async with ah.MonitoredSession(ah.Graph(), [make("lost", 1)]):
            pass


async def test_name_of_another_op_is_refused() -> None:
    """The variable's name may not be that of an op that is none."""
    with pytest.raises(TypeError, match="op 'loss' is no variable; choose another name"):
        async with ah.MonitoredSession(Model([]).graph, [NO_DECREASE("loss", 1, name="loss")]):
            pass


def test_two_hooks_of_one_name_are_refused() -> None:
    """Hooks that would share their state are refused, and the message tells the way out (C68)."""
    hooks = [NO_DECREASE("loss", 3), HIGHER("loss", 3), HIGHER("loss", 4), NO_DECREASE("loss", 5)]
    message = (
        r"hooks\[3\]\) keeps its state under the name 'stop_if_no_decrease_hook/loss', as "
        r"hooks\[0\] does; give one of them another by name=\.\.\."
    )
    with pytest.raises(ValueError, match=message):
        ah.MonitoredSession(ah.Graph(), hooks)


async def test_hooks_of_different_names_keep_apart() -> None:
    """Another name, or another metric or direction, is another state."""
    hooks = [
        NO_DECREASE("loss", 9),
        NO_DECREASE("loss", 9, name="mine"),
        NO_INCREASE("loss", 9),
    ]
    process = Process()
    await runs_until_stop(Model([5, 4]), *hooks, session_creator=process)
    process.save()
    assert process.saved == {
        "global_step": 2,
        "stop_if_no_decrease_hook/loss": (4.0, 1),
        "mine": (4.0, 1),
        "stop_if_no_increase_hook/loss": (5.0, 0),
    }


@pytest.mark.parametrize("make", HOOKS)
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"metric": 3}, TypeError, r"metric of stop_if_\w+_hook is to be an op, .*, not 3"),
        ({"metric_name": 3}, TypeError, "metric_name is to be a string, not 3"),
        ({"metric_name": "a"}, ValueError, "metric_name is for an EvaluationHook; leave it out"),
        ({"min_steps": 1.5}, TypeError, "min_steps is to be a number of steps, an int, not 1.5"),
        ({"min_steps": True}, TypeError, "min_steps is to be a number of steps, an int, not True"),
        ({"min_steps": -1}, ValueError, "min_steps is to be a number of steps from 0, not -1"),
    ],
)
def test_bad_arguments_are_refused(
    make: MakeHook, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The message names what is wrong and what was expected."""
    given = {"metric": "loss"} | arguments
    with pytest.raises(error, match=message):
        make(given.pop("metric"), 1, **given)


@pytest.mark.parametrize(
    ("make", "limit", "error", "message"),
    [
        (HIGHER, "1", TypeError, "threshold is to be a number, not '1'"),
        (LOWER, True, TypeError, "threshold is to be a number, not True"),
        (LOWER, NAN, ValueError, "threshold is to be a number that values can pass, not NaN"),
        (NO_INCREASE, 0, ValueError, "max_steps_without_increase is to be .* from 1, not 0"),
        (NO_DECREASE, 2.0, TypeError, "max_steps_without_decrease is to be .* an int, not 2.0"),
    ],
)
def test_bad_limit_is_refused(
    make: MakeHook, limit: Any, error: type[Exception], message: str
) -> None:
    """The message calls the limit by its own name."""
    with pytest.raises(error, match=message):
        make("loss", limit)


def test_bad_name_is_refused() -> None:
    """The variable needs a name."""
    with pytest.raises(ValueError, match="the name of an op is empty"):
        NO_DECREASE("loss", 1, name="")
