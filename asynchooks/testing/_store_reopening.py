"""Checks of what the next process finds in a store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asynchooks.checkpoint._stores import CheckpointStore
from asynchooks.testing._expectations import expect, expect_checkpoints, expect_none

Reopen = Callable[[CheckpointStore], CheckpointStore]
"""Opens the checkpoints of a store anew."""

ReopenCheck = Callable[[CheckpointStore, Reopen], Awaitable[None]]
"""Fails by raising; gets an empty store."""

WRITTEN = {1: b"one", 2: bytes(range(256)), 10: b""}


async def reopened_store_has_the_same_name(store: CheckpointStore, reopen: Reopen) -> None:
    """Two stores that hold the same checkpoints have the same name."""
    expect("the name", reopen(store).name, store.name)


async def reopened_store_names_steps_the_same(store: CheckpointStore, reopen: Reopen) -> None:
    """Two stores that hold the same checkpoints call them the same."""
    expect("name_of(1)", reopen(store).name_of(1), store.name_of(1))


async def reopened_store_holds_what_was_written(store: CheckpointStore, reopen: Reopen) -> None:
    """What was written is there as soon as `write` has returned."""
    for step, data in WRITTEN.items():
        await store.write(step, data)
        await expect_checkpoints(
            reopen(store), {each: WRITTEN[each] for each in WRITTEN if each <= step}
        )


async def reopened_store_holds_what_replaced(store: CheckpointStore, reopen: Reopen) -> None:
    """A checkpoint that was replaced is not there again."""
    await store.write(1, b"old and long")
    await store.write(1, b"new")
    await expect_checkpoints(reopen(store), {1: b"new"})


async def reopened_store_lacks_what_was_deleted(store: CheckpointStore, reopen: Reopen) -> None:
    """A checkpoint that was deleted is not there again."""
    for step, data in WRITTEN.items():
        await store.write(step, data)
    await store.delete(1)
    await expect_none(reopen(store), 1)
    await expect_checkpoints(reopen(store), {step: WRITTEN[step] for step in (2, 10)})


async def reopened_store_is_written_to(store: CheckpointStore, reopen: Reopen) -> None:
    """The next process adds to, replaces and deletes what the one before has written."""
    for step in (1, 2, 3):
        await store.write(step, b"old")
    reopened = reopen(store)
    await reopened.delete(1)
    await reopened.write(2, b"new")
    await reopened.write(4, b"new")
    await expect_checkpoints(reopen(reopened), {2: b"new", 3: b"old", 4: b"new"})


REOPEN_CHECKS: tuple[ReopenCheck, ...] = (
    reopened_store_has_the_same_name,
    reopened_store_names_steps_the_same,
    reopened_store_holds_what_was_written,
    reopened_store_holds_what_replaced,
    reopened_store_lacks_what_was_deleted,
    reopened_store_is_written_to,
)
"""Checks of stores that outlast their process."""
