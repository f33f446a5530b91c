"""What checks of a store expect; asserts would be left out by ``python -O``."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping

from asynchooks._errors import CheckpointError
from asynchooks.checkpoint._stores import CheckpointStore


def expect(what: str, found: object, *wanted: object) -> None:
    """Raises AssertionError unless what was found is one of those wanted."""
    if found not in wanted:
        either = " or ".join(map(reprlib.repr, wanted))
        raise AssertionError(f"{what}: {reprlib.repr(found)}, not {either}")


async def expect_steps(store: CheckpointStore, *wanted: int) -> None:
    """Raises AssertionError unless the store lists just these steps, each once."""
    expect("the steps", sorted(await store.steps()), sorted(wanted))


async def expect_checkpoints(store: CheckpointStore, wanted: Mapping[int, bytes]) -> None:
    """Raises AssertionError unless the store holds just these checkpoints."""
    await expect_steps(store, *wanted)
    for step, data in wanted.items():
        expect(f"what was read for step {step}", await store.read(step), data)


async def expect_none(store: CheckpointStore, step: int) -> CheckpointError:
    """Returns the error of reading a checkpoint that is not there.

    Raises AssertionError if there is one, or another error is raised.
    """
    try:
        data = await store.read(step)
    except CheckpointError as error:
        return error
    except Exception as error:
        raise AssertionError(f"read raised {error!r}, not a CheckpointError") from error
    raise AssertionError(f"read found {reprlib.repr(data)} where nothing was to be")
