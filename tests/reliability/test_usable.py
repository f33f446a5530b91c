"""After one run was disturbed, the session is usable or closed, never between."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, get_args

import pytest

import asynchooks as ah
from asynchooks.testing import (
    Cancel,
    CancelKind,
    Fail,
    Fault,
    Outcome,
    PointKind,
    Sweep,
    Trial,
)
from tests.reliability.conftest import Count
from tests.reliability.oracle import closed
from tests.reliability.sweeping import listening, numbered
from tests.reliability.world import ROWS, World


async def run_to_the_end(world: World) -> Any:
    """Runs until the input ends; returns the committed rows."""
    with suppress(ah.OutOfRangeError):
        while not world.session.should_stop():
            await world.session.run(world.fetches)
    return await world.session.run(world.rows)


async def disturb_one_run(trial: Trial) -> tuple[World, Outcome[Any], Any]:
    """Disturbs the second of three runs, the one with the loss, and then makes the others.

    The background task is not failed: its error is the session's, not only the run's.
    """
    world = World(trial, lambda call: call != "beat.task" or isinstance(trial.fault, Cancel))
    with listening(world):
        async with world.session as session:
            await session.run(world.fetches)
            outcome = await trial.run(session.run, world.fetches)
            rows = await run_to_the_end(world)
    return world, outcome, rows


async def sweep_one_run(fault: Fault, count: Count) -> None:
    sweep = Sweep(fault)
    for trial in sweep:
        world, outcome, rows = await disturb_one_run(trial)
        assert [*world.broken, *world.owed, *world.alive] == [], trial
        assert rows == tuple(ROWS), trial
        assert outcome.cancelled == (outcome.struck and isinstance(fault, Cancel)), trial
        assert outcome.stray_cancels == 0, trial
        assert await closed(world) == [], trial
    count(sweep)


@pytest.mark.parametrize("at", get_args(PointKind))
@pytest.mark.parametrize("kind", get_args(CancelKind))
async def test_a_session_goes_on_after_a_cancelled_run(
    kind: CancelKind, at: PointKind, count: Count
) -> None:
    """Cancelling one run, also while it recovers, loses and doubles no row of the others."""
    await sweep_one_run(Cancel(kind, at), count)


@pytest.mark.parametrize("error", [ValueError, ah.UnavailableError])
async def test_a_session_goes_on_after_a_failed_run(error: type[Exception], count: Count) -> None:
    """An error out of one run, also while it recovers, loses and doubles no row of the others."""
    await sweep_one_run(Fail(numbered(error)), count)
