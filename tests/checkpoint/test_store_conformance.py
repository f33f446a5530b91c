"""The conformance suite passes the stores of the library and of users, and no broken one."""

from __future__ import annotations

import os
import pickle
from itertools import count
from pathlib import Path
from typing import ClassVar

import anyio
import pytest
from anyio.lowlevel import checkpoint

import asynchooks as ah
from asynchooks.testing import Cancel, StoreCheckError, Sweep, check_store
from tests.checkpoint.crash.sqlite_store import SQLiteStore


class ForgetsToDelete(ah.MemoryStore):
    """Never deletes."""

    async def delete(self, step: int) -> None: ...


class DeletesByPrefix(ah.MemoryStore):
    """Deletes all steps that begin with the digits of one, as a pattern of names would."""

    async def delete(self, step: int) -> None:
        for each in await self.steps():
            if str(each).startswith(str(step)):
                await super().delete(each)


class KeepsTheRest(ah.MemoryStore):
    """Overwrites the beginning of what it replaces."""

    async def write(self, step: int, data: bytes) -> None:
        old = await self.read(step) if step in await self.steps() else b""
        await super().write(step, data + old[len(data) :])


class KeepsText(ah.MemoryStore):
    """Takes data for lines of text."""

    async def write(self, step: int, data: bytes) -> None:
        await super().write(step, data.replace(b"\r\n", b"\n"))


class Strips(ah.MemoryStore):
    """Leaves out blanks at the end."""

    async def write(self, step: int, data: bytes) -> None:
        await super().write(step, data.rstrip())


class RaisesKeyError(ah.MemoryStore):
    """Lets its dictionary speak."""

    async def read(self, step: int) -> bytes:
        try:
            return await super().read(step)
        except ah.CheckpointError as error:
            raise KeyError(step) from error


class ReadsNothing(ah.MemoryStore):
    """Reads no bytes where there is no checkpoint."""

    async def read(self, step: int) -> bytes:
        return await super().read(step) if step in await self.steps() else b""


class WritesInParts(ah.MemoryStore):
    """Shows a checkpoint when the first half of it is written."""

    async def write(self, step: int, data: bytes) -> None:
        await super().write(step, data[: len(data) // 2])
        await super().write(step, data)


class DeletesBeforeWriting(ah.MemoryStore):
    """Makes room for a checkpoint before it is there."""

    async def write(self, step: int, data: bytes) -> None:
        await self.delete(step)
        await super().write(step, data)


class KeepsTheLastThree(ah.MemoryStore):
    """Deletes by itself."""

    async def write(self, step: int, data: bytes) -> None:
        await super().write(step, data)
        for old in sorted(await self.steps())[:-3]:
            await self.delete(old)


class Shared(ah.MemoryStore):
    """Holds its checkpoints in the class."""

    checkpoints: ClassVar[dict[int, bytes]] = {}

    def __init__(self) -> None:
        self._checkpoints = self.checkpoints


class GivesBackItsOwn(ah.MemoryStore):
    """Hands out buffers, and the list that it works with."""

    def __init__(self) -> None:
        super().__init__()
        self.listed: list[int] = []

    async def steps(self) -> list[int]:
        await checkpoint()
        return self.listed

    async def write(self, step: int, data: bytes) -> None:
        await super().write(step, data)
        self.listed[:] = self._checkpoints

    async def delete(self, step: int) -> None:
        await super().delete(step)
        self.listed[:] = self._checkpoints


class CallsAllTheSame(ah.MemoryStore):
    """Has one name for all steps."""

    def name_of(self, step: int) -> str:
        return self.name


class LosesName(ah.MemoryStore):
    """Does not say what was missing."""

    async def read(self, step: int) -> bytes:
        try:
            return await super().read(step)
        except ah.CheckpointError as error:
            raise ah.CheckpointError("a checkpoint", "it is missing") from error


class FailsWhenCancelled(ah.MemoryStore):
    """Takes a cancellation for an error of its own."""

    async def write(self, step: int, data: bytes) -> None:
        try:
            await super().write(step, data)
        except anyio.get_cancelled_exc_class() as error:
            raise ah.CheckpointError(self.name_of(step), "cancelled") from error


NO_ERROR = {
    "missing_checkpoint_is_an_error",
    "missing_checkpoint_is_named",
    "missing_checkpoint_stays_missing",
    "deleted_checkpoint_is_not_read",
}
TORN = {"reader_beside_a_writer_finds_one_whole", "cancelled_write_leaves_the_old_or_the_new"}
PLANTED: list[tuple[type[ah.MemoryStore], set[str]]] = [
    (
        ForgetsToDelete,
        {
            "deleted_checkpoint_is_not_listed",
            "deleted_checkpoint_is_not_read",
            "deleting_all_empties",
            "deleting_leaves_others",
            "deleting_nothing_is_allowed",
        },
    ),
    (DeletesByPrefix, {"deleting_leaves_others"}),
    (
        KeepsTheRest,
        {
            "shorter_checkpoint_replaces_all",
            *TORN,
            "cancelled_write_leaves_others",
            "cancelled_delete_leaves_all_or_nothing",
            "cancelled_reader_leaves_all",
        },
    ),
    (KeepsText, {"every_byte_is_kept", "blanks_are_kept"}),
    (Strips, {"blanks_are_kept"}),
    (RaisesKeyError, NO_ERROR),
    (ReadsNothing, NO_ERROR),
    (WritesInParts, {*TORN, "cancelled_write_leaves_others"}),
    (DeletesBeforeWriting, TORN),
    (
        KeepsTheLastThree,
        {
            "many_steps_are_kept",
            "steps_are_kept_apart",
            "replacing_leaves_others",
            "deleting_leaves_others",
        },
    ),
    (GivesBackItsOwn, {"listed_steps_are_the_callers"}),
    (CallsAllTheSame, {"names_of_steps_differ"}),
    (LosesName, {"missing_checkpoint_is_named"}),
    (
        FailsWhenCancelled,
        {"cancelled_write_leaves_the_old_or_the_new", "cancelled_write_leaves_others"},
    ),
]


async def test_memory_store_conforms() -> None:
    """A store in memory passes all checks but those of a store that outlasts its process."""
    passed = await check_store(ah.MemoryStore)
    assert len(passed) == len(set(passed)) == 39


async def test_directory_store_conforms(tmp_path: Path) -> None:
    """A store of files passes all checks."""
    folders = map(str, count())

    def make_store() -> ah.DirectoryStore:
        return ah.DirectoryStore(tmp_path / next(folders))

    def reopen(store: ah.CheckpointStore) -> ah.DirectoryStore:
        return ah.DirectoryStore(*os.path.split(store.name))

    assert len(await check_store(make_store, reopen=reopen)) == 45


async def test_store_of_a_user_conforms(tmp_path: Path) -> None:
    """A store that a user has made of a database passes all checks."""
    names = map(str, count())

    def make_store() -> SQLiteStore:
        return SQLiteStore(str(tmp_path / next(names)))

    def reopen(store: ah.CheckpointStore) -> SQLiteStore:
        return SQLiteStore(store.name)

    assert len(await check_store(make_store, reopen=reopen)) == 45


@pytest.mark.parametrize(("make_store", "caught"), PLANTED)
async def test_planted_store_is_rejected(
    make_store: type[ah.MemoryStore], caught: set[str]
) -> None:
    """A broken store fails the checks that are meant for it, and no others."""
    with pytest.raises(StoreCheckError) as raised:
        await check_store(make_store)
    assert set(raised.value.failed) == caught
    assert len(raised.value.passed) == 39 - len(caught)


async def test_stores_that_share_their_checkpoints_are_rejected() -> None:
    """A new store that holds what was written into another fails the check of that, for one."""
    with pytest.raises(StoreCheckError) as raised:
        await check_store(Shared)
    assert "stores_are_apart" in raised.value.failed


async def test_store_that_forgets_is_rejected() -> None:
    """A store that is empty when it is opened again fails all checks of reopening."""
    with pytest.raises(StoreCheckError) as raised:
        await check_store(ah.MemoryStore, reopen=lambda store: ah.MemoryStore())
    assert set(raised.value.failed) == {
        "reopened_store_has_the_same_name",
        "reopened_store_names_steps_the_same",
        "reopened_store_holds_what_was_written",
        "reopened_store_holds_what_replaced",
        "reopened_store_lacks_what_was_deleted",
        "reopened_store_is_written_to",
    }


async def test_rejection_says_what_was_wrong() -> None:
    """The error has a line for each check that failed, and comes out of a pickle as it was."""
    with pytest.raises(StoreCheckError) as raised:
        await check_store(DeletesByPrefix)
    said = str(raised.value)
    assert said.splitlines() == [
        "1 of 39 checks of the store failed:",
        "deleting_leaves_others: the steps: [], not [10, 11, 100, 101, 111]",
    ]
    assert str(pickle.loads(pickle.dumps(raised.value))) == said


async def test_what_is_no_store_is_refused() -> None:
    """Something without the methods of a store is no matter for checks."""
    with pytest.raises(TypeError, match="make_store is to make a CheckpointStore, not <object"):
        await check_store(object)  # type: ignore[arg-type]


@pytest.mark.native
async def test_native_cancel_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    """Wherever asyncio cancels the writing of a file, it has ended, and one of the two is whole."""
    sweep = Sweep(Cancel("native", forever=True))
    for trial in sweep:
        folder = anyio.Path(tmp_path / str(trial.number))
        store = ah.DirectoryStore(folder)
        await store.write(1, b"old")
        await trial.run(store.write, 1, b"new")
        assert await store.read(1) in {b"old", b"new"}, trial
        assert [file.name async for file in folder.iterdir()] == ["model.ckpt-1"], trial
    assert sweep.points > 0
