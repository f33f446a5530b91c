"""Saver: what is saved, what is kept, what is restored."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

import asynchooks as ah
from tests.checkpoint.disks import Disk, GatedDisk, names, put


def counting() -> tuple[ah.Graph, ah.Op[Any]]:
    """Makes a graph of a global step and two variables, and an op that changes two of them."""
    with ah.Graph().as_default() as graph:
        step = ah.get_or_create_global_step()
        total = ah.Variable(0.5, name="total")
        ah.Variable(("never", "assigned"), name="label")
        train = ah.group(step.assign_add(1), total.assign_add(1.0))
    return graph, train


async def save_steps(saver: ah.Saver, store: Any, steps: list[int]) -> None:
    """Saves under the given numbers."""
    async with ah.Session(counting()[0]) as session:
        for step in steps:
            await saver.save(session, store, step)


async def test_state_is_saved_and_restored() -> None:
    """All variables come back, also those that no run has assigned, under the global step."""
    store, saver = ah.MemoryStore(), ah.Saver()
    graph, train = counting()
    async with ah.Session(graph) as session:
        await session.run(train)
        await session.run(train)
        assert await saver.save(session, store) == store.name_of(2)
        await session.run(train)
        assert await session.run("total") == 3.5
        assert await saver.restore(session, store) == 2
        assert await session.run(["global_step", "total"]) == [2, 2.5]
    other, _ = counting()
    other.get_operation_by_name("label").initial_value = "other"  # type: ignore[attr-defined]
    async with ah.Session(other) as session:
        assert await ah.Saver().restore(session, store, 2) == 2
        assert await session.run(["global_step", "total", "label"]) == [
            2,
            2.5,
            ("never", "assigned"),
        ]
    assert await ah.latest_checkpoint(store) == store.name_of(2)


async def test_c59_values_are_those_of_the_call(tmp_path: Path) -> None:
    """Case C59: file and name hold what was committed at the call, though writing takes long."""
    disk, saver = GatedDisk(), ah.Saver()
    store = ah.DirectoryStore(tmp_path, file_system=disk)
    graph, train = counting()
    async with ah.Session(graph) as session:
        await session.run(train)
        async with anyio.create_task_group() as group:
            group.start_soon(saver.save, session, store)
            await anyio.to_thread.run_sync(disk.begun.wait)
            await session.run(train)
            disk.gate.set()
        assert await session.run("total") == 2.5
        assert await saver.restore(session, store) == 1
        assert await session.run(["global_step", "total"]) == [1, 1.5]
    assert await names(tmp_path) == ["model.ckpt-1"]


async def test_arrays_are_saved(tmp_path: Path) -> None:
    """Numpy arrays are among the values."""
    with ah.Graph().as_default() as graph:
        ah.Variable(np.arange(3), name="weights")
    async with ah.Session(graph) as session:
        path = await ah.Saver().save(session, tmp_path, 1)
        assert path == str(tmp_path / "model.ckpt-1")
        graph.get_operation_by_name("weights").initial_value = None  # type: ignore[attr-defined]
        await ah.Saver().restore(session, tmp_path)
        assert (await session.run("weights")).tolist() == [0, 1, 2]


async def test_value_that_cannot_be_saved_is_named(tmp_path: Path) -> None:
    """The error names the variable, comes out of the save, and the last checkpoint stays."""
    with ah.Graph().as_default() as graph:
        bad = ah.Variable[object](None, name="bad")
        spoil = bad.assign(ah.constant({1, 2}.__iter__))
    saver = ah.Saver(max_to_keep=1)
    async with ah.Session(graph) as session:
        await saver.save(session, tmp_path, 1)
        await session.run(spoil)
        with pytest.raises(ah.CheckpointError, match=r"ckpt-2: variable 'bad': a value of type"):
            await saver.save(session, tmp_path, 2)
    assert await names(tmp_path) == ["model.ckpt-1"]


async def test_c61_retention(tmp_path: Path) -> None:
    """Case C61: the newest two and the foreign file stay, whatever comes between."""
    await put(tmp_path / "model.ckpt-99999", b"mine")
    for steps, kept in [([1, 2, 3, 4, 5], [4, 5]), ([6, 7], [6, 7])]:
        saver = ah.Saver(max_to_keep=2)
        await save_steps(saver, tmp_path, steps)
        expected = ["model.ckpt-99999", *(f"model.ckpt-{step}" for step in kept)]
        assert await names(tmp_path) == sorted(expected)
        assert saver.last_checkpoints == [str(tmp_path / f"model.ckpt-{step}") for step in kept]
    await anyio.Path(tmp_path / "model.ckpt-7").unlink()
    await save_steps(saver, tmp_path, [8])
    assert await names(tmp_path) == ["model.ckpt-6", "model.ckpt-8", "model.ckpt-99999"]


async def test_old_checkpoint_goes_after_the_new_one_is_safe(tmp_path: Path) -> None:
    """Nothing is deleted before the directory with the new name is synced."""
    disk = Disk()
    store = ah.DirectoryStore(tmp_path, file_system=disk)
    await save_steps(ah.Saver(max_to_keep=1), store, [1, 2])
    last = disk.log[disk.log.index("write model.ckpt-2.unfinished") :]
    assert last == [
        "write model.ckpt-2.unfinished",
        "sync_file model.ckpt-2.unfinished",
        "replace model.ckpt-2.unfinished",
        f"sync_directory {tmp_path.name}",
        f"list {tmp_path.name}",
        "unlink model.ckpt-1",
    ]


async def test_old_checkpoint_that_cannot_be_deleted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The save has succeeded all the same; the next one deletes it."""
    disk = Disk()
    store, saver = ah.DirectoryStore(tmp_path, file_system=disk), ah.Saver(max_to_keep=1)
    await save_steps(saver, store, [1])
    disk.failing = "unlink"
    await save_steps(saver, store, [2])
    assert "model.ckpt-1: [Errno 28] No space left on device; old checkpoints were" in caplog.text
    assert await names(tmp_path) == ["model.ckpt-1", "model.ckpt-2"]
    disk.failing = None
    await save_steps(saver, store, [3])
    assert await names(tmp_path) == ["model.ckpt-3"]


async def test_failed_save_deletes_nothing(tmp_path: Path) -> None:
    """After a failed write, also one that got as far as the name, the saver goes on."""
    disk = Disk()
    store, saver = ah.DirectoryStore(tmp_path, file_system=disk), ah.Saver(max_to_keep=2)
    await save_steps(saver, store, [1, 2])
    disk.failing = "sync_directory"
    with pytest.raises(ah.CheckpointError):
        await save_steps(saver, store, [3])
    disk.failing = None
    assert await names(tmp_path) == ["model.ckpt-1", "model.ckpt-2", "model.ckpt-3"]
    await save_steps(saver, store, [4])
    assert await names(tmp_path) == ["model.ckpt-3", "model.ckpt-4"]


@pytest.mark.parametrize("max_to_keep", [None, 0])
async def test_all_are_kept(max_to_keep: int | None) -> None:
    """Without a limit nothing is deleted, then or by a later saver that has one."""
    store, saver = ah.MemoryStore(), ah.Saver(max_to_keep)
    assert saver.last_checkpoints == []
    await save_steps(saver, store, [1, 2, 3, 4])
    assert saver.last_checkpoints == [store.name_of(4)]
    await save_steps(ah.Saver(max_to_keep=1), store, [5])
    assert await store.steps() == [1, 2, 3, 5]


async def test_some_are_kept_for_ever() -> None:
    """One checkpoint every n hours stays, counted across restarts."""
    store, times = ah.MemoryStore(), itertools.count(0, 1800)
    for steps in [[0, 1, 2], [3, 4, 5], [6, 7, 8]]:
        saver = ah.Saver(1, keep_checkpoint_every_n_hours=1, clock=lambda: float(next(times)))
        await save_steps(saver, store, steps)
    assert await store.steps() == [2, 4, 6, 8]


async def test_same_step_is_saved_again() -> None:
    """A step that is saved again takes the place of the old one, and counts once."""
    store, saver = ah.MemoryStore(), ah.Saver(max_to_keep=2)
    await save_steps(saver, store, [1, 2, 1, 1])
    assert sorted(await store.steps()) == [1, 2]
    assert saver.last_checkpoints == [store.name_of(2), store.name_of(1)]


async def test_saves_come_one_after_another(tmp_path: Path) -> None:
    """Saves that are asked for at once do not overlap."""
    disk, saver = Disk(), ah.Saver(max_to_keep=2)
    store = ah.DirectoryStore(tmp_path, file_system=disk)
    async with ah.Session(counting()[0]) as session, anyio.create_task_group() as group:
        for step in range(1, 6):
            group.start_soon(saver.save, session, store, step)
    steps = [line for line in disk.log if line.startswith(("write", "replace"))]
    assert [line.split()[0] for line in steps] == ["write", "replace"] * 5
    assert len(await names(tmp_path)) == 2


async def test_graph_and_checkpoint_differ(caplog: pytest.LogCaptureFixture) -> None:
    """What only one of them knows is named in a warning, and the rest is restored."""
    store = ah.MemoryStore()
    await save_steps(ah.Saver(), store, [3])
    with ah.Graph().as_default() as graph:
        ah.Variable(7, name="total")
        ah.Variable(8, name="new")
        ah.from_iterable([1], name="rows")
    async with ah.Session(graph) as session:
        await ah.Saver().restore(session, store)
        assert await session.run(["total", "new"]) == [0.5, 8]
    name = store.name_of(3)
    assert [record.message for record in caplog.records] == [
        f"checkpoint {name} lacks variables new",
        f"the graph lacks variables of checkpoint {name}: global_step, label",
        f"checkpoint {name} lacks sources rows",
    ]


async def test_no_checkpoint_to_restore(tmp_path: Path) -> None:
    """Where there is no checkpoint, restoring is an error, and none is the latest."""
    async with ah.Session(counting()[0]) as session:
        with pytest.raises(ah.CheckpointError, match=r"model.ckpt: there is no checkpoint that is"):
            await ah.Saver().restore(session, tmp_path)
        with pytest.raises(ah.CheckpointError, match=r"model.ckpt-4: .*No such file"):
            await ah.Saver().restore(session, tmp_path, 4)
    assert await ah.latest_checkpoint(tmp_path) is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"max_to_keep": 1.5}, TypeError, "max_to_keep is to be an int or None, not 1.5"),
        ({"max_to_keep": True}, TypeError, "max_to_keep is to be an int or None, not True"),
        ({"max_to_keep": -1}, ValueError, "max_to_keep is to be from 0, not -1"),
        ({"keep_checkpoint_every_n_hours": "1"}, TypeError, "keep_checkpoint_every_n_hours is to"),
        ({"keep_checkpoint_every_n_hours": -1}, ValueError, "keep_checkpoint_every_n_hours is to"),
        ({"clock": 3}, TypeError, "clock is to be a function that returns seconds, not 3"),
    ],
)
def test_bad_saver_is_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    """A bad argument is refused when the saver is made."""
    with pytest.raises(error, match=message):
        ah.Saver(**arguments)


async def test_bad_save_is_refused() -> None:
    """A save needs a raw session, a place, and a step that is an int."""
    saver: Any = ah.Saver()
    store = ah.MemoryStore()
    with pytest.raises(TypeError, match=r"takes a raw session, such as run_context.session, not 3"):
        await saver.save(3, store)
    with pytest.raises(TypeError, match="takes a raw session"):
        await saver.restore(None, store)
    async with ah.Session(ah.Graph()) as session:
        with pytest.raises(TypeError, match="a directory or a CheckpointStore, not None"):
            await saver.save(session, None)
        with pytest.raises(TypeError, match="global_step is to be an int or None, not 'a'"):
            await saver.save(session, store, "a")
        with pytest.raises(ValueError, match="the graph has no global step; call"):
            await saver.save(session, store)
    assert await store.steps() == []
