"""A power cut at any moment loses no checkpoint that was acknowledged."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from asynchooks.checkpoint import _fs
from asynchooks.checkpoint._fs import FileSystem
from tests.checkpoint.crash import careless
from tests.checkpoint.crash.disk import Disk, directory_store
from tests.checkpoint.crash.power_cut import Cut, CutDisk, MakeStore, commit, verdict

SAMPLE = 100
"""How many states are judged of a planted bug, of which some have thousands."""

MakeDisk = Callable[[], CutDisk]


async def test_no_power_cut_breaks_a_checkpoint() -> None:
    """In all states after five commits of which two are kept, nothing is lost or torn.

    A new process goes on from the last commit that was acknowledged, or the one that had begun,
    finds as many as are to be kept, commits the next and clears away what was left.
    """
    disk = CutDisk()
    await commit(disk)
    assert await verdict(disk.cuts) == {"states": len(disk.cuts)}
    assert len(disk.cuts) > 60


async def test_no_second_power_cut_breaks_a_checkpoint() -> None:
    """What a power cut has left, two commits after it and a second cut lose nothing either."""
    disk = CutDisk()
    await commit(disk)
    cuts: dict[Cut, None] = {}
    for state in {cut.state: None for cut in disk.cuts}:
        used = CutDisk(state)
        await commit(used, commits=2)
        cuts |= used.cuts
    assert await verdict(cuts) == {"states": len(cuts)}
    assert len(cuts) > 300


@pytest.mark.parametrize(
    ("make_disk", "make_store", "broken"),
    [
        (careless.NoFileSync, directory_store, {"torn", "lost", "too few"}),
        (careless.NoDirectorySync, directory_store, {"lost", "too few"}),
        (CutDisk, careless.InPlace, {"torn"}),
        (CutDisk, careless.UnlinksFirst, {"too few"}),
        (CutDisk, careless.UnlinksBeforeSync, {"too few"}),
    ],
)
async def test_planted_carelessness_is_caught(
    make_disk: MakeDisk, make_store: MakeStore, broken: set[str]
) -> None:
    """What leaves out a sync, writes in place or unlinks too early breaks a promise, by name."""
    disk = make_disk()
    await commit(disk, make_store)
    cuts = list(disk.cuts)
    found = await verdict(random.Random(4).sample(cuts, min(len(cuts), SAMPLE)))
    assert set(found) - {"states"} == broken


async def test_a_commit_is_these_primitives_in_this_order() -> None:
    """Write aside, sync, rename, sync the directory; only then is the old one unlinked."""
    disk = CutDisk()
    await commit(disk)
    assert disk.log[-5:] == [
        "write model.ckpt-5.unfinished",
        "sync model.ckpt-5.unfinished",
        "rename model.ckpt-5.unfinished to model.ckpt-5",
        "sync checkpoints",
        "unlink model.ckpt-3",
    ]


def test_unsynced_file_may_be_torn() -> None:
    """A disk may be found with a file lost, cut, with holes or whole, until it is synced."""
    disk = Disk({"/d/old": b"1"})
    disk.write("/d/new", b"abcd")
    old = ("/d/old", b"1")
    torn = [b"", b"ab", b"\0\0\0\0", b"\0\0cd", b"abcd"]
    assert disk.after_power_cut() == {
        frozenset({old}),
        *(frozenset({old, ("/d/new", content)}) for content in torn),
    }
    disk.sync_file("/d/new")
    assert disk.after_power_cut() == {frozenset({old}), frozenset({old, ("/d/new", b"abcd")})}
    disk.sync_directory("/d")
    assert disk.after_power_cut() == {frozenset({old, ("/d/new", b"abcd")})}


def test_unsynced_name_may_come_back_or_be_lost() -> None:
    """A disk may be found with either, both or none of a file's names, until they are synced."""
    disk = Disk({"/d/old": b"1"})
    disk.replace("/d/old", "/d/new")
    names = [frozenset(path for path, _ in state) for state in disk.after_power_cut()]
    assert set(names) == {
        frozenset(),
        frozenset({"/d/old"}),
        frozenset({"/d/new"}),
        frozenset({"/d/old", "/d/new"}),
    }
    disk.sync_directory("/d")
    disk.unlink("/d/new")
    assert disk.after_power_cut() == {frozenset(), frozenset({("/d/new", b"1")})}


def test_made_directories_outlast_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each directory that is made is synced into the one above it, from the top."""
    synced: list[str] = []

    def sync(path: str, flags: int) -> None:
        synced.append(os.path.relpath(path, tmp_path))

    monkeypatch.setattr(_fs, "_sync", sync)
    FileSystem().make_directory(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()
    assert synced == [".", "a"]


def test_syncs_are_those_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the primitives promise to last has been handed to fsync: the file, or the directory."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    file = tmp_path / "file"
    FileSystem().write(str(file), b"data")
    assert synced == []
    FileSystem().sync_file(str(file))
    FileSystem().sync_directory(str(tmp_path))
    assert synced == [file.stat().st_ino, tmp_path.stat().st_ino]
