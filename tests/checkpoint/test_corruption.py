"""A checkpoint that has changed since it was written is never restored."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import pytest

import asynchooks as ah
from asynchooks.checkpoint import _format
from tests.checkpoint.crash.disk import Disk, directory_store
from tests.checkpoint.crash.work import Worker

FLIPS = 1000


async def two_checkpoints() -> tuple[Disk, Worker]:
    """Returns a disk with two small checkpoints, and who wrote them."""
    disk = Disk()
    worker = Worker(directory_store(disk))
    for step in (1, 2):
        await worker.commit(step)
    return disk, worker


def flips(data: bytes) -> Iterator[bytes]:
    """Gives the data with one bit changed, many times."""
    dice = random.Random(7)
    for _ in range(FLIPS):
        changed = bytearray(data)
        changed[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        yield bytes(changed)


async def not_passed_over(broken: Iterable[bytes], caplog: pytest.LogCaptureFixture) -> list[int]:
    """Puts what is broken in the place of the newest of two checkpoints.

    Returns:
        The numbers of those after which the older one was not restored, or which were not named in
        a warning.
    """
    disk, worker = await two_checkpoints()
    path = worker.store.name_of(2)
    accepted: list[int] = []
    for number, data in enumerate(broken):
        caplog.clear()
        disk.write(path, data)
        restored = await worker.restore()
        said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        if restored != 1 or len(said) != 1 or path not in said[0]:
            accepted.append(number)
    return accepted


async def test_no_truncation_is_accepted(caplog: pytest.LogCaptureFixture) -> None:
    """One that is cut at any byte is named in one warning, and the one before it is restored."""
    _, worker = await two_checkpoints()
    data = await worker.store.read(2)
    assert await not_passed_over((data[:end] for end in range(len(data))), caplog) == []


async def test_no_flipped_bit_is_accepted(caplog: pytest.LogCaptureFixture) -> None:
    """One with a changed bit is named in one warning, and the one before it is restored."""
    _, worker = await two_checkpoints()
    assert await not_passed_over(flips(await worker.store.read(2)), caplog) == []


async def test_nothing_else_is_accepted(caplog: pytest.LogCaptureFixture) -> None:
    """What is too long, empty space, or the checkpoint of another step is passed over as well."""
    _, worker = await two_checkpoints()
    data = await worker.store.read(2)
    broken = [data + b"\0", bytes(len(data)), data + data, await worker.store.read(1)]
    assert await not_passed_over(broken, caplog) == []


async def test_broken_checkpoint_that_is_asked_for_is_named() -> None:
    """Restoring the step of a broken checkpoint is an error with the path of its file."""
    disk, worker = await two_checkpoints()
    path = worker.store.name_of(2)
    disk.write(path, b"")
    async with ah.Session(worker.graph) as session:
        with pytest.raises(ah.CheckpointError) as caught:
            await worker.saver.restore(session, worker.store, 2)
    assert caught.value.checkpoint == path


async def test_planted_digest_of_nothing_is_caught(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A digest that is the same for all data lets flipped bits pass, and is found out."""
    monkeypatch.setattr(_format, "_digest", lambda data: bytes(16))
    _, worker = await two_checkpoints()
    data = await worker.store.read(2)
    with pytest.raises(AssertionError):
        await not_passed_over(flips(data), caplog)
