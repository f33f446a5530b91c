"""Finding the newest checkpoint that is whole, and restoring it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import TypeVar

from asynchooks._closing import logger
from asynchooks._errors import CheckpointError
from asynchooks._session import Session
from asynchooks._threads import in_thread
from asynchooks.checkpoint._format import Content, Header, read_content, read_header
from asynchooks.checkpoint._snapshot import put_back
from asynchooks.checkpoint._stores import CheckpointStore, chosen_store

T = TypeVar("T")


async def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str] | CheckpointStore,
) -> str | None:
    """Returns the name of the newest checkpoint that is whole, None if there is none.

    That is the one of the highest global step. Broken ones are named in warnings. Carries over
    ``tf.train.latest_checkpoint``, which does not look into the file.

    Args:
        checkpoint_dir: a directory or a store.

    Returns:
        The path of the file, or what the store calls it.

    Raises:
        TypeError: `checkpoint_dir` is neither.
        CheckpointError: the directory cannot be read.
    """
    store = chosen_store(checkpoint_dir)
    header = await _newest(await store.steps(), store, read_header, logging.WARNING)
    return store.name_of(header.step) if header is not None else None


async def newest_header(store: CheckpointStore) -> Header | None:
    """Returns the header of the newest checkpoint that is whole, None if there is none."""
    # Broken ones are named where one is restored, not once more where one is written.
    return await _newest(await store.steps(), store, read_header, logging.DEBUG)


async def restore(session: Session, store: CheckpointStore, step: int | None = None) -> int | None:
    """Puts a checkpoint back into a session.

    Args:
        session: no run of it is under way.
        store: what keeps the checkpoint.
        step: of which step; None takes the newest that is whole.

    Returns:
        The step, or None if there is no checkpoint that is whole.

    Raises:
        CheckpointError: that of `step` is missing or broken, or the store cannot be read.
    """
    if step is not None:
        content: Content | None = await _read(store, step, read_content)
    else:
        steps = await store.steps()
        content = await _newest(steps, store, read_content, logging.WARNING)
        if content is None and steps:
            logger.warning("no checkpoint in %s is whole", store.name)
    if content is None:
        return None
    name = store.name_of(content.step)
    await put_back(session, content, name)
    session.state.restored_from = name
    logger.info("restored from checkpoint %s", name)
    return content.step


async def _newest(
    steps: list[int], store: CheckpointStore, read: Callable[[bytes, str, int], T], level: int
) -> T | None:
    for step in sorted(steps, reverse=True):
        try:
            return await _read(store, step, read)
        except CheckpointError as error:
            logger.log(level, "%s; it is passed over", error)
    return None


async def _read(store: CheckpointStore, step: int, read: Callable[[bytes, str, int], T]) -> T:
    found: T = await in_thread(read, (await store.read(step), store.name_of(step), step))
    return found
