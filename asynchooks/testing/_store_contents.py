"""Checks of what a store holds after writing, replacing and deleting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asynchooks.checkpoint._stores import CheckpointStore
from asynchooks.testing._expectations import (
    expect,
    expect_checkpoints,
    expect_none,
    expect_steps,
)

StoreCheck = Callable[[CheckpointStore], Awaitable[None]]
"""Fails by raising; gets an empty store."""

ALIKE = {step: str(step).encode() for step in (1, 10, 11, 100, 101, 111)}
"""Checkpoints of steps that begin, end or go on with one another."""


async def name_is_a_string(store: CheckpointStore) -> None:
    """The name of a store is a string with something in it."""
    expect("the kind of name", type(store.name), str)
    expect("whether the name is empty", store.name == "", False)


async def name_stays(store: CheckpointStore) -> None:
    """The name of a store does not change with what is in it."""
    before = store.name
    await store.write(1, b"one")
    expect("the name after writing", store.name, before)


async def name_of_step_is_a_string(store: CheckpointStore) -> None:
    """Each step has a name, be there a checkpoint or not."""
    expect("the kind of name_of(1)", type(store.name_of(1)), str)
    expect("whether name_of(1) is empty", store.name_of(1) == "", False)


async def names_of_steps_differ(store: CheckpointStore) -> None:
    """No two steps have the same name."""
    expect("the number of names", len({store.name_of(step) for step in ALIKE}), len(ALIKE))


async def name_of_step_stays(store: CheckpointStore) -> None:
    """The name of a step is the same before and after its checkpoint is written."""
    before = store.name_of(1)
    await store.write(1, b"one")
    expect("name_of(1) after writing", store.name_of(1), before)


async def new_store_is_empty(store: CheckpointStore) -> None:
    """A new store lists no steps."""
    await expect_steps(store)


async def steps_are_a_list(store: CheckpointStore) -> None:
    """Steps are listed as ints."""
    await store.write(7, b"seven")
    steps = await store.steps()
    expect("the kind of steps", type(steps), list)
    expect("the kinds of steps", [type(step) for step in steps], [int])


async def listed_steps_are_the_callers(store: CheckpointStore) -> None:
    """What the caller does to the list of steps does nothing to the store."""
    await store.write(1, b"one")
    (await store.steps()).clear()
    await expect_checkpoints(store, {1: b"one"})


async def missing_checkpoint_is_an_error(store: CheckpointStore) -> None:
    """Reading a step that was never written raises CheckpointError."""
    await expect_none(store, 1)
    await store.write(1, b"one")
    await expect_none(store, 2)


async def missing_checkpoint_is_named(store: CheckpointStore) -> None:
    """The error of a missing checkpoint says what the store calls it."""
    error = await expect_none(store, 5)
    expect(f"whether {error!r} holds name_of(5)", store.name_of(5) in str(error), True)


async def missing_checkpoint_stays_missing(store: CheckpointStore) -> None:
    """Reading a step that is not there does not make it."""
    await expect_none(store, 1)
    await expect_steps(store)


async def written_checkpoint_is_listed(store: CheckpointStore) -> None:
    """A step is listed once it is written."""
    await store.write(3, b"three")
    await expect_steps(store, 3)


async def written_checkpoint_is_read(store: CheckpointStore) -> None:
    """What is read is what was written."""
    await store.write(3, b"three")
    expect("what was read", await store.read(3), b"three")


async def read_gives_bytes(store: CheckpointStore) -> None:
    """What is read is bytes, not something like them."""
    await store.write(1, b"one")
    expect("the kind of what was read", type(await store.read(1)), bytes)


async def read_does_not_consume(store: CheckpointStore) -> None:
    """A checkpoint can be read again and again."""
    await store.write(1, b"one")
    for _ in range(3):
        await expect_checkpoints(store, {1: b"one"})


async def every_byte_is_kept(store: CheckpointStore) -> None:
    """No byte is changed, be it a zero, an end of line or no text at all."""
    data = bytes(range(256)) + b"\r\n\n\r\0" + bytes(reversed(range(256)))
    await store.write(1, data)
    expect("what was read", await store.read(1), data)


async def blanks_are_kept(store: CheckpointStore) -> None:
    """Blanks, ends of line and zeros at both ends are kept."""
    data = b" \t\r\n\0 x \0\n\r\t "
    await store.write(1, data)
    expect("what was read", await store.read(1), data)


async def no_bytes_are_kept(store: CheckpointStore) -> None:
    """A checkpoint of no bytes is a checkpoint."""
    await store.write(1, b"")
    await expect_checkpoints(store, {1: b""})


async def large_checkpoint_is_kept(store: CheckpointStore) -> None:
    """Four megabytes come back whole."""
    data = bytes(range(256)) * (1 << 14)
    await store.write(1, data)
    expect("whether 4 MiB are the same", await store.read(1) == data, True)


async def step_zero_is_kept(store: CheckpointStore) -> None:
    """Step 0 is a step."""
    await store.write(0, b"zero")
    await expect_checkpoints(store, {0: b"zero"})


async def large_step_is_kept(store: CheckpointStore) -> None:
    """Steps go beyond 32 bits."""
    await store.write(1 << 40, b"late")
    await expect_checkpoints(store, {1 << 40: b"late"})


async def steps_are_kept_apart(store: CheckpointStore) -> None:
    """Steps whose digits are alike have checkpoints of their own."""
    for step, data in ALIKE.items():
        await store.write(step, data)
    await expect_checkpoints(store, ALIKE)


async def steps_come_in_any_order(store: CheckpointStore) -> None:
    """A step lower than the last is kept beside it, as after going back to an older checkpoint."""
    for step in (5, 3, 4):
        await store.write(step, b"%d" % step)
    await expect_checkpoints(store, {3: b"3", 4: b"4", 5: b"5"})


async def many_steps_are_kept(store: CheckpointStore) -> None:
    """A store deletes nothing by itself."""
    wanted = {step: b"%d" % step for step in range(50)}
    for step, data in wanted.items():
        await store.write(step, data)
    await expect_checkpoints(store, wanted)


async def write_replaces(store: CheckpointStore) -> None:
    """A second checkpoint of a step takes the place of the first."""
    await store.write(1, b"old")
    await store.write(1, b"new")
    await expect_checkpoints(store, {1: b"new"})


async def shorter_checkpoint_replaces_all(store: CheckpointStore) -> None:
    """Nothing is left of a longer checkpoint that was replaced."""
    await store.write(1, b"long" * 100)
    await store.write(1, b"short")
    expect("what was read", await store.read(1), b"short")


async def replacing_leaves_others(store: CheckpointStore) -> None:
    """Replacing a step changes no other."""
    for step, data in ALIKE.items():
        await store.write(step, data)
    await store.write(1, b"new")
    await expect_checkpoints(store, ALIKE | {1: b"new"})


async def deleted_checkpoint_is_not_listed(store: CheckpointStore) -> None:
    """A step that was deleted is not listed."""
    await store.write(1, b"one")
    await store.delete(1)
    await expect_steps(store)


async def deleted_checkpoint_is_not_read(store: CheckpointStore) -> None:
    """Reading a step that was deleted raises CheckpointError."""
    await store.write(1, b"one")
    await store.delete(1)
    await expect_none(store, 1)


async def deleting_leaves_others(store: CheckpointStore) -> None:
    """Deleting a step deletes no other."""
    for step, data in ALIKE.items():
        await store.write(step, data)
    await store.delete(1)
    await expect_checkpoints(store, {step: ALIKE[step] for step in ALIKE if step != 1})


async def deleting_nothing_is_allowed(store: CheckpointStore) -> None:
    """Deleting a step that is not there, or twice, does nothing."""
    await store.delete(1)
    await store.write(2, b"two")
    await store.delete(1)
    await store.write(1, b"one")
    await store.delete(1)
    await store.delete(1)
    await expect_checkpoints(store, {2: b"two"})


async def deleted_step_is_written_again(store: CheckpointStore) -> None:
    """A step that was deleted can be written again."""
    await store.write(1, b"old")
    await store.delete(1)
    await store.write(1, b"new")
    await expect_checkpoints(store, {1: b"new"})


async def deleting_all_empties(store: CheckpointStore) -> None:
    """A store whose checkpoints are all deleted is as good as new."""
    for step in (1, 2):
        await store.write(step, b"data")
    for step in (2, 1):
        await store.delete(step)
    await expect_steps(store)
    await store.write(3, b"three")
    await expect_checkpoints(store, {3: b"three"})


CONTENT_CHECKS: tuple[StoreCheck, ...] = (
    name_is_a_string,
    name_stays,
    name_of_step_is_a_string,
    names_of_steps_differ,
    name_of_step_stays,
    new_store_is_empty,
    steps_are_a_list,
    listed_steps_are_the_callers,
    missing_checkpoint_is_an_error,
    missing_checkpoint_is_named,
    missing_checkpoint_stays_missing,
    written_checkpoint_is_listed,
    written_checkpoint_is_read,
    read_gives_bytes,
    read_does_not_consume,
    every_byte_is_kept,
    blanks_are_kept,
    no_bytes_are_kept,
    large_checkpoint_is_kept,
    step_zero_is_kept,
    large_step_is_kept,
    steps_are_kept_apart,
    steps_come_in_any_order,
    many_steps_are_kept,
    write_replaces,
    shorter_checkpoint_replaces_all,
    replacing_leaves_others,
    deleted_checkpoint_is_not_listed,
    deleted_checkpoint_is_not_read,
    deleting_leaves_others,
    deleting_nothing_is_allowed,
    deleted_step_is_written_again,
    deleting_all_empties,
)
"""Checks of names, lists, reading, writing, replacing and deleting."""
