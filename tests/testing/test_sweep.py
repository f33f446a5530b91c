"""A sweep strikes every point once, and knows when it is done."""

from __future__ import annotations

from itertools import islice

import pytest
from anyio.lowlevel import checkpoint

from asynchooks.testing import Cancel, Fail, Outcome, Sweep, Trial


async def program(trial: Trial) -> str:
    trial.enter("a")
    await trial.pause("b")
    await checkpoint()
    return "value"


async def test_every_suspension_is_struck_and_the_last_trial_is_undisturbed() -> None:
    """A program of two suspensions has two disturbed trials and one that returns."""
    sweep = Sweep(Cancel())
    for trial in sweep:
        await trial.run(program, trial)
    assert sweep.outcomes == [Outcome(1, "b", cancelled=True), Outcome(2, "b", cancelled=True)]
    assert sweep.undisturbed == Outcome(3, None, "value")
    assert sweep.points == 2


async def test_every_entry_is_struck() -> None:
    """A program of two entries has two trials that fail."""
    sweep = Sweep(Fail(ValueError))
    for trial in sweep:
        await trial.run(program, trial)
    assert [outcome.where for outcome in sweep.outcomes] == ["a", "b"]


async def test_a_second_iteration_starts_anew() -> None:
    """Iterating again forgets the outcomes of the first time."""
    sweep = Sweep(Cancel())
    for _ in range(2):
        for trial in sweep:
            await trial.run(program, trial)
    assert sweep.points == 2


async def test_an_endless_program_is_refused() -> None:
    """More points than the limit are an error that names the last."""
    sweep = Sweep(Cancel(), limit=1)
    trials = iter(sweep)
    for trial in islice(trials, 2):
        await trial.run(program, trial)
    with pytest.raises(RuntimeError, match="more than 1 points: scope cancel once at suspension 2"):
        next(trials)


def test_a_trial_must_be_run() -> None:
    """Skipping a trial is an error, since the sweep would never end."""
    trials = iter(Sweep(Cancel()))
    next(trials)
    with pytest.raises(RuntimeError, match="was not run: scope cancel once at suspension 1"):
        next(trials)


async def test_a_hanging_trial_ends_the_sweep() -> None:
    """The sweep's timeout holds for each trial."""
    for trial in Sweep(Cancel(at="entry"), timeout=0.001):
        with pytest.raises(TimeoutError):
            await trial.run(forever)
        break


async def forever() -> None:
    while True:
        await checkpoint()
