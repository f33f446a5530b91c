"""One of several callers is disturbed; the others do not suffer."""

from __future__ import annotations

from typing import Any, get_args

import anyio
import pytest

from asynchooks.testing import Cancel, CancelKind, Outcome, PointKind, Sweep, Trial
from tests.reliability.conftest import Count
from tests.reliability.oracle import closed
from tests.reliability.sweeping import listening
from tests.reliability.test_usable import run_to_the_end
from tests.reliability.world import ROWS, World


async def disturb_one_of_three(trial: Trial, seed: int) -> tuple[World, Outcome[Any], Any]:
    """Runs three callers at once, one of them disturbed; the loss meets whoever is there."""
    world = World(trial, seed=seed)

    async def another_caller() -> None:
        try:
            await world.session.run(world.fetches)
        except Exception as error:
            world.broken.append(f"another caller met {error!r}")

    with listening(world):
        async with world.session as session:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(another_caller)
                tasks.start_soon(another_caller)
                outcome = await trial.run(session.run, world.fetches)
            rows = await run_to_the_end(world)
    return world, outcome, rows


def parts(rows: Any) -> tuple[list[int], list[str]]:
    """Takes rows apart: runs that overlap take numbers and letters in orders of their own."""
    return sorted(number for number, _ in rows), sorted(letter for _, letter in rows)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("at", get_args(PointKind))
@pytest.mark.parametrize("kind", get_args(CancelKind))
async def test_cancelling_the_caller_that_recovers_strands_nobody(
    kind: CancelKind, at: PointKind, seed: int, count: Count
) -> None:
    """The others' runs succeed, each row is committed once, one generation is lost at most."""
    sweep = Sweep(Cancel(kind, at))
    for trial in sweep:
        world, outcome, rows = await disturb_one_of_three(trial, seed)
        assert [*world.broken, *world.owed, *world.alive] == [], trial
        assert parts(rows) == parts(ROWS), trial
        assert outcome.error is None, trial
        assert world.generations <= 2, trial
        assert await closed(world) == [], trial
    count(sweep)
