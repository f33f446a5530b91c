"""Stores: what is written is read, whole or not at all; foreign files stay."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

import asynchooks as ah
from asynchooks.checkpoint._fs import FileSystem
from asynchooks.checkpoint._stores import chosen_store
from tests.checkpoint.disks import Disk, contents, names, put

Made = Callable[[Path], ah.CheckpointStore]

STORES: list[Made] = [lambda path: ah.DirectoryStore(path / "new"), lambda _: ah.MemoryStore()]


@pytest.mark.parametrize("make", STORES)
async def test_store_keeps_what_is_written(tmp_path: Path, make: Made) -> None:
    """A store gives the bytes of each step, replaces and deletes them."""
    store = make(tmp_path)
    assert isinstance(store, ah.CheckpointStore)
    assert await store.steps() == []
    for step, data in [(0, b"zero"), (10, b"ten"), (-2, b""), (10, b"new")]:
        await store.write(step, data)
    assert sorted(await store.steps()) == [-2, 0, 10]
    assert [await store.read(step) for step in (0, 10, -2)] == [b"zero", b"new", b""]
    await store.delete(0)
    await store.delete(0)
    assert sorted(await store.steps()) == [-2, 10]
    with pytest.raises(ah.CheckpointError) as raised:
        await store.read(0)
    assert raised.value.checkpoint == store.name_of(0)
    assert raised.value.__cause__ is not None


async def test_directory_store_writes_safely(tmp_path: Path) -> None:
    """The file is synced before it is renamed, and the directory after that."""
    disk = Disk()
    store = ah.DirectoryStore(tmp_path / "a" / "b", file_system=disk)
    await store.write(1, b"one")
    await store.write(2, b"two")
    await store.delete(1)
    assert disk.log == [
        "make_directory b",
        "make_directory a",
        f"make_directory {tmp_path.name}",
        f"sync_directory {tmp_path.name}",
        "sync_directory a",
        "list b",
        "write model.ckpt-1.unfinished",
        "sync_file model.ckpt-1.unfinished",
        "replace model.ckpt-1.unfinished",
        "sync_directory b",
        "write model.ckpt-2.unfinished",
        "sync_file model.ckpt-2.unfinished",
        "replace model.ckpt-2.unfinished",
        "sync_directory b",
        "unlink model.ckpt-1",
    ]
    assert await names(tmp_path / "a" / "b") == ["model.ckpt-2"]


@pytest.mark.parametrize("failing", ["write", "sync_file", "replace", "sync_directory"])
async def test_failed_write_leaves_the_old(tmp_path: Path, failing: str) -> None:
    """Whichever primitive fails, the error has the cause, and what was there is still there."""
    disk = Disk()
    store = ah.DirectoryStore(tmp_path, file_system=disk)
    await store.write(1, b"one")
    disk.failing = failing
    with pytest.raises(ah.CheckpointError, match=r"model.ckpt-2: .*No space left") as raised:
        await store.write(2, b"two")
    assert raised.value.__cause__ is disk.error
    disk.failing = None
    assert await store.read(1) == b"one"
    assert [name for name in await names(tmp_path) if name.endswith(".unfinished")] == []


async def test_first_write_that_fails_is_repeated(tmp_path: Path) -> None:
    """A directory that could not be made is made by the next write."""
    disk = Disk()
    store = ah.DirectoryStore(tmp_path / "new", file_system=disk)
    disk.failing = "make_directory"
    with pytest.raises(ah.CheckpointError):
        await store.write(1, b"one")
    disk.failing = None
    await store.write(1, b"one")
    assert await store.steps() == [1]


async def test_leftovers_are_removed_by_the_next_writer(tmp_path: Path) -> None:
    """Temporary files of a killed process go with the first write; foreign ones stay."""
    foreign = [
        "model.ckpt-1.unfinished.bak",
        "model.ckpt-x.unfinished",
        "model.ckpt-01",
        "other-1.unfinished",
        "checkpoint",
    ]
    for name in ["model.ckpt-3.unfinished", *foreign]:
        await put(tmp_path / name, b"?")
    store = ah.DirectoryStore(tmp_path)
    assert await store.steps() == []
    assert "model.ckpt-3.unfinished" in await names(tmp_path)
    await store.write(5, b"five")
    assert await names(tmp_path) == sorted(["model.ckpt-5", *foreign])
    assert await store.steps() == [5]


async def test_leftover_that_cannot_be_removed_is_reported(tmp_path: Path) -> None:
    """An error in clean-up after a failure does not take the place of the failure."""

    class Broken(Disk):
        def __getattribute__(self, name: str) -> Any:
            if name == "unlink":
                raise PermissionError("not yours")
            return super().__getattribute__(name)

    disk = Broken()
    disk.failing = "sync_file"
    with pytest.raises(ah.CheckpointError, match="No space left"):
        await ah.DirectoryStore(tmp_path, file_system=disk).write(1, b"one")
    assert await names(tmp_path) == ["model.ckpt-1.unfinished"]


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the disk takes less than it is given, the rest is given to it again."""

    class Slow(io.FileIO):
        def write(self, data: Any) -> int:
            return super().write(memoryview(data)[:3])

    monkeypatch.setattr("builtins.open", lambda path, mode, buffering: Slow(path, mode))
    FileSystem().write(str(tmp_path / "file"), b"0123456789")
    monkeypatch.undo()
    assert (tmp_path / "file").read_bytes() == b"0123456789"


async def test_two_stores_of_a_directory_have_one_name() -> None:
    """A store is known by its directory and the basename of its files, or by itself in memory."""
    stores = [ah.DirectoryStore("a/b"), ah.DirectoryStore(Path("a/./b/")), chosen_store("a//b")]
    assert [store.name for store in stores] == ["a/b/model.ckpt"] * 3
    assert ah.DirectoryStore("a", "best").name_of(3) == "a/best-3"
    assert ah.MemoryStore().name != (kept := ah.MemoryStore()).name
    assert chosen_store(kept) is kept


async def test_relative_directory_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative directory is made in the current one."""
    await anyio.to_thread.run_sync(monkeypatch.chdir, tmp_path)
    await ah.DirectoryStore("new").write(1, b"one")
    await ah.DirectoryStore(".").write(2, b"two")
    assert await names(tmp_path) == ["model.ckpt-2", "new"]
    await anyio.to_thread.run_sync(monkeypatch.undo)


async def test_cancelled_write_comes_to_its_end(tmp_path: Path) -> None:
    """A write that has begun is not broken off by a cancellation."""
    store = ah.DirectoryStore(tmp_path)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await store.write(1, b"one")
    assert await contents(tmp_path / "model.ckpt-1") == b"one"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ah.DirectoryStore(3), TypeError, "is to be a path, not 3"),
        (lambda: ah.DirectoryStore(""), ValueError, "the directory of checkpoints is empty"),
        (lambda: ah.DirectoryStore("d", 3), TypeError, "is to be a string, not 3"),
        (lambda: ah.DirectoryStore("d", "a/b"), ValueError, "part of a file name, not 'a/b'"),
        (lambda: ah.DirectoryStore("d", ""), ValueError, "part of a file name, not ''"),
        (lambda: chosen_store(3), TypeError, "a directory or a CheckpointStore, not 3"),
        (lambda: chosen_store(ah.MemoryStore), TypeError, "a directory or a CheckpointStore"),
    ],
)
def test_bad_store_is_refused(make: Any, error: type[Exception], message: str) -> None:
    """What is no directory and no store is refused when it is given."""
    with pytest.raises(error, match=message):
        make()
