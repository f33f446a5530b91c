"""A session that saves, cancelled and failed at each of its points."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

import asynchooks as ah
from asynchooks.testing import Cancel, Fail, Sweep, Trial
from tests.checkpoint.disks import names


async def program(trial: Trial, directory: Path, done: list[int]) -> None:
    """Makes two runs that are saved, and notes which have returned."""
    with ah.Graph().as_default() as graph:
        step = ah.get_or_create_global_step()
        rows = ah.from_iterable(range(9)).get_next()

    @ah.op
    async def work(row: int) -> int:
        await trial.pause("work")
        return row

    with graph.as_default():
        fetches = work(rows)
        train = ah.group(step.assign_add(1), fetches)
    hook, creator = (
        ah.CheckpointSaverHook(directory, save_steps=1),
        ah.ChiefSessionCreator(directory),
    )
    async with ah.MonitoredSession(graph, [hook], session_creator=creator) as session:
        for _ in range(2):
            await session.run(train)
            done.append(1)


@pytest.mark.parametrize("kind", ["scope", "deadline", "native", "fail"])
async def test_what_is_saved_is_whole_wherever_it_ends(tmp_path: Path, kind: str) -> None:
    """Each run that has returned is in the newest checkpoint, and no file is left half written."""
    sweep = Sweep(Fail(ValueError) if kind == "fail" else Cancel(kind))
    for number, trial in enumerate(sweep):
        directory, done = tmp_path / str(number), list[int]()
        await trial.run(program, trial, directory, done)
        if await anyio.Path(directory).exists():
            steps = await ah.DirectoryStore(directory).steps()
            assert len(await names(directory)) == len(steps), trial
            latest = await ah.latest_checkpoint(directory)
            assert latest == str(directory / f"model.ckpt-{max(steps)}"), trial
            assert max(steps) >= len(done), trial
    assert sweep.points >= 2
