"""ChiefSessionCreator restores the newest whole checkpoint, once, before the hooks are set up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tenacity

import asynchooks as ah
from tests.checkpoint.disks import contents, put

QUICK = ah.Recovery(stop=tenacity.stop_after_attempt(5), wait=tenacity.wait_none())


class Seen(ah.SessionRunHook):
    """Notes the value of a variable whenever a generation is set up."""

    def __init__(self) -> None:
        self.values: list[int] = []

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        self.values.append(await session.run("total"))


def summing() -> tuple[ah.Graph, ah.Op[int]]:
    """Makes a graph that sums up."""
    with ah.Graph().as_default() as graph:
        ah.get_or_create_global_step()
        add = ah.Variable(0, name="total").assign_add(1)
    return graph, add


async def saved(store: Any, steps: int) -> None:
    """Saves the steps from 1."""
    graph, add = summing()
    saver = ah.Saver()
    async with ah.Session(graph) as session:
        for step in range(1, steps + 1):
            await session.run(add)
            await saver.save(session, store, step)


async def restored(store: Any) -> int:
    """Returns the sum with which a session goes on."""
    seen = Seen()
    creator = ah.ChiefSessionCreator(store)
    async with ah.MonitoredSession(summing()[0], [seen], session_creator=creator):
        pass
    return seen.values[0]


async def test_newest_checkpoint_is_restored(tmp_path: Path) -> None:
    """A session goes on from the highest step, in a directory or a store."""
    store = ah.MemoryStore()
    await saved(store, 11)
    await saved(tmp_path, 11)
    assert [await restored(store), await restored(tmp_path), await restored(str(tmp_path))] == [
        11
    ] * 3


async def test_nothing_to_restore(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without a checkpoint a session starts afresh, without a warning."""
    assert await restored(ah.MemoryStore()) == 0
    assert await restored(tmp_path / "new") == 0
    assert await restored(None) == 0
    assert caplog.records == []


async def test_restored_once() -> None:
    """A generation that follows goes on with what is in memory."""
    store, seen, losses = ah.MemoryStore(), Seen(), [ah.AbortedError("lost")]
    await saved(store, 3)
    graph, add = summing()

    async def work() -> None:
        if losses:
            raise losses.pop()

    creator = ah.ChiefSessionCreator(store)
    async with ah.MonitoredSession(
        graph, [seen], session_creator=creator, recovery=QUICK
    ) as session:
        await session.run(add)
        await session.run(work)
        assert await session.run(add) == 5
    assert seen.values == [3, 4]


async def test_broken_checkpoints_are_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each broken one is named in one warning, and the next older one is taken."""
    await saved(tmp_path, 3)
    path = tmp_path / "model.ckpt-3"
    await put(path, (await contents(path))[:-1])
    await put(tmp_path / "model.ckpt-2", b"")
    assert await restored(tmp_path) == 1
    changed, short = "the data have changed since they were written", "the data are too short"
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", f"checkpoint {name}: cannot be read: {reason}; it is passed over")
        for name, reason in [(path, changed), (tmp_path / "model.ckpt-2", short)]
    ]
    assert await ah.latest_checkpoint(tmp_path) == str(tmp_path / "model.ckpt-1")


async def test_no_whole_checkpoint(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Where all are broken the session starts afresh, and says so."""
    await put(tmp_path / "model.ckpt-2", b"")
    assert await restored(tmp_path) == 0
    assert caplog.records[-1].message == f"no checkpoint in {tmp_path / 'model.ckpt'} is whole"


async def test_store_that_cannot_be_listed(tmp_path: Path) -> None:
    """An error of the store itself leaves entering: nobody starts afresh by accident."""
    await put(tmp_path / "file", b"")
    with pytest.raises(ah.CheckpointError, match=r"file/model.ckpt: .*Not a directory"):
        await restored(tmp_path / "file")


def test_bad_directory_is_refused() -> None:
    """What is no directory is refused when the creator is made."""
    creator: Any = ah.ChiefSessionCreator
    with pytest.raises(TypeError, match="a directory or a CheckpointStore, not 3"):
        creator(3)
