"""NanTensorHook: a loss that is NaN or infinite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import anyio
import numpy as np
import pytest

import asynchooks as ah
from tests.hooks.conftest import Lines

NAN, INF = math.nan, math.inf


class Model:
    """A weight that each run adds the next loss to, and hooks that note what they see of it."""

    def __init__(self, losses: Sequence[Any]) -> None:
        with ah.Graph().as_default() as self.graph:
            self.step = ah.get_or_create_global_step()
            self.weight = ah.Variable(0.0, "weight")
            self.loss = ah.from_iterable(losses).get_next("loss")
            self.train = self.weight.assign_add(self.loss)
        self.seen: list[Any] = []

    def session(self, *hooks: ah.SessionRunHook) -> ah.MonitoredSession:
        return ah.MonitoredSession(self.graph, hooks)

    async def state(self, session: ah.MonitoredSession) -> Any:
        return await session.session.run([self.weight, self.step])


class Saver(ah.SessionRunHook):
    """Saves after each run and at the end, as a saver of checkpoints may."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.saved: list[float] = []

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        await self.save(run_context.session)

    async def end(self, session: ah.Session) -> None:
        await self.save(session)

    async def save(self, session: ah.Session) -> None:
        self.saved.append(await session.run(self.model.weight))


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
@pytest.mark.parametrize("loss", ["op", "name"])
async def test_run_fails_and_changes_no_variable(bad: float, loss: str) -> None:
    """The error names loss and value; weight and step stay, and the session goes on after it."""
    model = Model([1.0, bad, 2.0])
    hook = ah.NanTensorHook(model.loss if loss == "op" else "loss")
    async with model.session(hook) as session:
        await session.run(model.train)
        with pytest.raises(ah.NanLossDuringTrainingError) as caught:
            await session.run(model.train)
        assert await model.state(session) == [1.0, 1]
        assert await session.run(model.train) == 3.0
        assert await model.state(session) == [3.0, 2]
    assert str(caught.value) == f"the loss 'loss' is not finite: {bad!r}"


async def test_stop_is_requested_and_no_variable_changed(lines: Lines) -> None:
    """Without failing, the caller gets its values and the loop ends cleanly, with a warning."""
    model = Model([1.0, NAN, 2.0])
    given: list[float] = []
    final = ah.FinalOpsHook([model.weight, model.step])
    async with model.session(
        ah.NanTensorHook(model.loss, fail_on_nan_loss=False), final
    ) as session:
        while not session.should_stop():
            given.append(await session.run(model.loss))
            await anyio.lowlevel.checkpoint()
    assert (given[0], math.isnan(given[1]), len(given)) == (1.0, True, 2)
    assert final.final_ops_values == [0.0, 1]
    assert lines.texts == ["the loss 'loss' is not finite: nan; a stop is requested"]


@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize("first", [True, False])
async def test_nan_is_never_saved(fails: bool, first: bool) -> None:
    """A saver sees good values alone, before the hook or after it in the list, at the end too."""
    model = Model([1.0, NAN, 2.0, INF])
    hooks: list[ah.SessionRunHook] = [ah.NanTensorHook(model.loss, fails)]
    saver = Saver(model)
    hooks.insert(0 if first else 1, saver)
    async with model.session(*hooks) as session:
        while not session.should_stop():
            try:
                await session.run(model.train)
            except ah.NanLossDuringTrainingError:
                continue
    assert set(saver.saved) == ({1.0, 3.0} if fails else {1.0})


async def test_runs_that_overlap_are_judged_each_for_itself() -> None:
    """Beside a run whose loss is NaN, the others commit what they assign."""
    with ah.Graph().as_default() as graph:
        weight, value = ah.Variable(0.0, "weight"), ah.placeholder("value")
        train = weight.assign_add(value)
    errors: list[str] = []

    async def run(session: ah.MonitoredSession, loss: float) -> None:
        try:
            await session.run([anyio.lowlevel.checkpoint, train], {value: loss})
        except ah.NanLossDuringTrainingError as error:
            errors.append(str(error))

    async with ah.MonitoredSession(graph, [ah.NanTensorHook(value)]) as session:
        async with anyio.create_task_group() as group:
            for loss in 1.0, INF, 2.0:
                group.start_soon(run, session, loss)
        assert await session.session.run(weight) == 3.0
    assert errors == ["the loss 'value' is not finite: inf"]


@pytest.mark.parametrize(
    ("loss", "finite"),
    [
        (0, True),
        (10**400, True),
        (1.5, True),
        (Decimal("1.5"), True),
        (Decimal("nan"), False),
        (Fraction(1, 3), True),
        (1 + 2j, True),
        (complex(1, NAN), False),
        ([], True),
        ([1.0, (2.0, NAN)], False),
        ((1, [2.0]), True),
        (np.float32(1), True),
        (np.float32("inf"), False),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), True),
        (np.array([[1.0, 2.0], [NAN, 4.0]]), False),
        (np.array([1, 2]), True),
        (np.array([1j, INF]), False),
    ],
)
async def test_kinds_of_loss(loss: Any, finite: bool) -> None:
    """Numbers, arrays and lists are finite if all in them is."""
    with ah.Graph().as_default() as graph:
        op = ah.placeholder("loss")
    async with ah.MonitoredSession(graph, [ah.NanTensorHook(op, False)]) as session:
        await session.run([], {op: loss})
        assert session.should_stop() is not finite


@pytest.mark.parametrize("loss", [None, "nan"])
async def test_loss_that_is_no_number_is_an_error(loss: Any) -> None:
    """What cannot be judged fails the run, which names what it was."""
    with ah.Graph().as_default() as graph:
        op = ah.placeholder("loss")
    async with ah.MonitoredSession(graph, [ah.NanTensorHook(op)]) as session:
        with pytest.raises(TypeError, match=f"a loss is to be a number.* {loss!r}"):
            await session.run([], {op: loss})


async def test_graph_is_not_changed() -> None:
    """However often the hook begins, the graph has no further op."""
    model = Model([1.0])
    before = model.graph.get_operations()
    hook = ah.NanTensorHook("loss")
    for _ in range(2):
        async with model.session(hook):
            pass
    assert model.graph.get_operations() == before


async def test_unknown_name_is_an_error_of_begin() -> None:
    """A loss that the graph does not have is refused before the first run."""
    with pytest.raises(ValueError, match="no op named 'lost'"):
        async with ah.MonitoredSession(ah.Graph(), [ah.NanTensorHook("lost")]):
            pass


def test_bad_argument_is_refused() -> None:
    """The message says what was expected."""
    with pytest.raises(TypeError, match="loss_tensor is to be an op or the name of one, not 3"):
        ah.NanTensorHook(3)  # type: ignore[arg-type]
