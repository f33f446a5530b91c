"""Checks of what a store holds while it is written to, and after it was cancelled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
from anyio.lowlevel import checkpoint

from asynchooks.checkpoint._stores import CheckpointStore
from asynchooks.testing._expectations import expect, expect_checkpoints, expect_steps
from asynchooks.testing._faults import Cancel
from asynchooks.testing._sweep import Sweep

MakeStore = Callable[[], CheckpointStore]
MakeCheck = Callable[[MakeStore], Awaitable[None]]
"""Fails by raising; makes as many empty stores as it needs."""

Use = Callable[[CheckpointStore], Awaitable[object]]

OTHER = 2
"""A step beside the one that is there from the start."""

OLD, NEW, LATER = b"old" * 1000, b"new" * 1001, b"later"

WRITES = 20
"""How often a reader is given the chance to see what it should not."""


async def stores_are_apart(make_store: MakeStore) -> None:
    """What is written into one new store is not in another: `make_store` makes empty ones."""
    one, other = make_store(), make_store()
    await one.write(1, b"one")
    await expect_steps(other)
    await expect_checkpoints(one, {1: b"one"})


async def reader_beside_a_writer_finds_one_whole(make_store: MakeStore) -> None:
    """Who reads while a step is replaced gets the old checkpoint or the new one."""
    store = make_store()
    await store.write(1, OLD)

    async def replace() -> None:
        for data in (NEW, OLD) * WRITES:
            await store.write(1, data)
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(replace)
        while True:
            expect("what was read", await store.read(1), OLD, NEW)
            await expect_steps(store, 1)
            await checkpoint()


async def cancelled_write_leaves_the_old_or_the_new(make_store: MakeStore) -> None:
    """Wherever replacing a step is cancelled, the store holds one of the two whole."""

    async def write(store: CheckpointStore) -> None:
        await store.write(1, NEW)

    async def look(store: CheckpointStore) -> None:
        await expect_steps(store, 1)
        expect("what was read", await store.read(1), OLD, NEW)

    await _cancel_everywhere(make_store, write, look)


async def cancelled_write_leaves_others(make_store: MakeStore) -> None:
    """Wherever writing a step is cancelled, it is there whole or not, and the others stay."""

    async def write(store: CheckpointStore) -> None:
        await store.write(OTHER, NEW)

    async def look(store: CheckpointStore) -> None:
        written = {OTHER: NEW} if OTHER in await store.steps() else {}
        await expect_checkpoints(store, {1: OLD, **written})

    await _cancel_everywhere(make_store, write, look)


async def cancelled_delete_leaves_all_or_nothing(make_store: MakeStore) -> None:
    """Wherever deleting a step is cancelled, it is there whole or not at all."""

    async def delete(store: CheckpointStore) -> None:
        await store.delete(1)

    async def look(store: CheckpointStore) -> None:
        await expect_checkpoints(store, {1: OLD} if await store.steps() else {})

    await _cancel_everywhere(make_store, delete, look)


async def cancelled_reader_leaves_all(make_store: MakeStore) -> None:
    """Wherever reading and listing are cancelled, the store stays as it is."""

    async def read(store: CheckpointStore) -> None:
        await store.read(1)
        await store.steps()

    async def look(store: CheckpointStore) -> None:
        await expect_checkpoints(store, {1: OLD})

    await _cancel_everywhere(make_store, read, look)


async def _cancel_everywhere(make_store: MakeStore, use: Use, look: Use) -> None:
    """Uses a new store each time, which is looked at and then written to once more."""
    for trial in Sweep(Cancel()):
        store = make_store()
        await store.write(1, OLD)
        outcome = await trial.run(use, store)
        expect(f"the error of {trial}", outcome.error, None)
        await look(store)
        await store.write(1, LATER)
        expect(f"what was read after {trial}", await store.read(1), LATER)


INTERRUPTION_CHECKS: tuple[MakeCheck, ...] = (
    stores_are_apart,
    reader_beside_a_writer_finds_one_whole,
    cancelled_write_leaves_the_old_or_the_new,
    cancelled_write_leaves_others,
    cancelled_delete_leaves_all_or_nothing,
    cancelled_reader_leaves_all,
)
"""Checks of what others see of a write, and of cancellation."""
