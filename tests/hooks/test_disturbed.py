"""Hooks that hold something, in sessions that are cancelled or fail at each of their points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, get_args

import pytest
import tenacity

import asynchooks as ah
from asynchooks.testing import Cancel, CancelKind, Fail, Sweep, Trial
from tests.hooks.bars import Bars
from tests.hooks.writers import Makes


@dataclass
class Held:
    """What the hooks of one trial have made, and the weight that was committed."""

    rates: Makes = field(default_factory=Makes)
    summaries: Makes = field(default_factory=Makes)
    bars: Bars = field(default_factory=Bars)
    weights: list[float] = field(default_factory=list)

    def hooks(self, weight: ah.Op[Any]) -> list[ah.SessionRunHook]:
        """Returns the hooks of a session."""
        return [
            ah.NanTensorHook(weight),
            ah.StepCounterHook(1, summary_writer=self.rates),
            ah.SummarySaverHook(1, summary_writer=self.summaries, summary_op=weight),
            ah.LoggingTensorHook([weight], 1, at_end=True),
            ah.ProgressHook(2, values=[weight], bar=self.bars, every_secs=0),
            ah.GlobalStepWaiterHook(0),
            ah.TimeLimitHook(3600),
        ]

    def left_open(self) -> list[Any]:
        """Returns what was not closed once, and last."""
        made = [*self.rates.made, *self.summaries.made, *self.bars.made]
        return [each.calls for each in made if not _is_closed_once(each.calls)]


def _is_closed_once(calls: list[Any]) -> bool:
    return [call in ("close", ("close",)) for call in calls] == [False] * (len(calls) - 1) + [True]


async def program(trial: Trial, held: Held) -> None:
    """Makes two runs with the hooks."""
    with ah.Graph().as_default() as graph:
        weight = ah.Variable(0.0, "weight")
        train = weight.assign_add(1.0)

    async def work() -> None:
        await trial.pause("work")

    recovery = ah.Recovery(wait=tenacity.wait_none())
    async with ah.MonitoredSession(graph, held.hooks(weight), recovery=recovery) as session:
        for _ in range(2):
            await session.run([work, train])
            held.weights.append(await session.session.run(weight))


async def left_open(sweep: Sweep) -> list[Any]:
    """Sweeps the program; returns what hooks have left open, and commits that are wrong."""
    wrong: list[Any] = []
    for trial in sweep:
        held = Held()
        await trial.run(program, trial, held)
        if held.left_open() or held.weights != [1.0, 2.0][: len(held.weights)]:
            wrong.append((str(trial), held))
    return wrong


@pytest.mark.parametrize("kind", get_args(CancelKind))
async def test_what_hooks_hold_is_closed_wherever_they_are_cancelled(kind: CancelKind) -> None:
    """Each writer and bar that a hook has made is closed once, as the last thing."""
    sweep = Sweep(Cancel(kind))
    assert await left_open(sweep) == []
    assert sweep.points > 10


@pytest.mark.parametrize("error", [ValueError, ah.AbortedError])
async def test_what_hooks_hold_is_closed_after_errors(error: type[Exception]) -> None:
    """So it is where runs fail, be it for good or to be repeated."""
    sweep = Sweep(Fail(error))
    assert await left_open(sweep) == []
    assert sweep.points == 2
