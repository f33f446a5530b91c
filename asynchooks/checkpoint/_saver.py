"""Saving a session's state, and keeping the newest checkpoints."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from io import BytesIO

import anyio

from asynchooks._closing import logger
from asynchooks._errors import CheckpointError
from asynchooks._options import check_seconds
from asynchooks._session import Session
from asynchooks._threads import in_thread
from asynchooks.checkpoint._format import Content, finished, write_body
from asynchooks.checkpoint._restoring import newest_header, restore
from asynchooks.checkpoint._retention import Lineage, retain
from asynchooks.checkpoint._snapshot import current_step, take_snapshot
from asynchooks.checkpoint._stores import CheckpointStore, chosen_store

_HOUR = 3600.0


class Saver:
    """Saves all variables and positions in sources of a session, and deletes old checkpoints.

    Only checkpoints that savers have written are deleted, and only once a newer one is kept
    safely; which these are is written in the checkpoints themselves, so a saver goes on where one
    before it has stopped. Carries over ``tf.compat.v1.train.Saver``, without a choice of variables.
    """

    def __init__(
        self,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Makes a saver.

        Args:
            max_to_keep: how many checkpoints are kept; None or 0 for all.
            keep_checkpoint_every_n_hours: one that would be deleted is kept for ever if it was
                written at least so many hours after the last such one, or after the first of all.
            clock: gives seconds since the epoch.

        Raises:
            TypeError: an argument is of another kind.
            ValueError: a number is negative.
        """
        if isinstance(max_to_keep, bool) or not isinstance(max_to_keep, int | None):
            raise TypeError(f"max_to_keep is to be an int or None, not {max_to_keep!r}")
        if max_to_keep is not None and max_to_keep < 0:
            raise ValueError(f"max_to_keep is to be from 0, not {max_to_keep!r}")
        check_seconds("keep_checkpoint_every_n_hours", keep_checkpoint_every_n_hours, infinite=True)
        if not callable(clock):
            raise TypeError(f"clock is to be a function that returns seconds, not {clock!r}")
        self._max_to_keep = max_to_keep or 0
        self._spare_every = keep_checkpoint_every_n_hours * _HOUR
        self._clock = clock
        # By the name of the store; looked for in the store where there is none.
        self._lineages: dict[str, Lineage] = {}
        self._last_checkpoints: tuple[str, ...] = ()
        self._written: anyio.Event | None = None

    @property
    def last_checkpoints(self) -> list[str]:
        """The names of the checkpoints in the store last saved to that may be deleted one day.

        Oldest first; only the newest if all are kept.
        """
        return list(self._last_checkpoints)

    async def save(
        self,
        session: Session,
        checkpoint_dir: str | os.PathLike[str] | CheckpointStore,
        global_step: int | None = None,
    ) -> str:
        """Saves what the session has committed at the time of the call.

        Runs may go on meanwhile. If it fails or is cancelled, the checkpoints before are kept.

        Args:
            session: a raw session, such as `run_context.session`.
            checkpoint_dir: a directory or a store.
            global_step: the step that the checkpoint is named after; None takes the global step.

        Returns:
            The path of the file, or what the store calls the checkpoint.

        Raises:
            TypeError: an argument is of another kind.
            ValueError: no step is given and the graph has no global step.
            CheckpointError: a variable holds what cannot be saved, or writing failed.
        """
        store = chosen_store(checkpoint_dir)
        _check_session(session)
        step = current_step(session) if global_step is None else _checked_step(global_step)
        snapshot = take_snapshot(session, step)
        return await self.write(store, snapshot, await self.encode(store, snapshot))

    async def restore(
        self,
        session: Session,
        checkpoint_dir: str | os.PathLike[str] | CheckpointStore,
        global_step: int | None = None,
    ) -> int:
        """Sets the session's variables and positions in sources to those of a checkpoint.

        No run may be under way. What only the graph or only the checkpoint knows is named in a
        warning. `ChiefSessionCreator` does this by itself when it is given a `checkpoint_dir`.

        Args:
            session: a raw session.
            checkpoint_dir: a directory or a store.
            global_step: the step of the checkpoint; None takes the newest that is whole.

        Returns:
            The step.

        Raises:
            TypeError: an argument is of another kind.
            CheckpointError: there is no such checkpoint, or it is broken.
        """
        store = chosen_store(checkpoint_dir)
        _check_session(session)
        wanted = None if global_step is None else _checked_step(global_step)
        step = await restore(session, store, wanted)
        if step is None:
            raise CheckpointError(store.name, "there is no checkpoint that is whole")
        return step

    async def encode(self, store: CheckpointStore, snapshot: Content) -> BytesIO:
        """Returns what `write` is to be given.

        Raises:
            CheckpointError: a variable holds what cannot be saved.
        """
        body: BytesIO = await in_thread(write_body, (snapshot, store.name_of(snapshot.step)))
        return body

    async def write(self, store: CheckpointStore, snapshot: Content, body: BytesIO) -> str:
        """Writes a checkpoint, and deletes old ones after it; one write at a time."""
        while self._written is not None:
            await self._written.wait()
        self._written = anyio.Event()
        try:
            # Not known until it has ended well; then what is in the store says it.
            lineage = self._lineages.pop(store.name, None) or Lineage.of(await newest_header(store))
            header = lineage.header(snapshot.step, self._clock())
            await store.write(snapshot.step, await in_thread(finished, (body, header)))
            self._lineages[store.name] = Lineage.of(header)
            await self._retain(store)
        finally:
            self._written.set()
            self._written = None
        return store.name_of(snapshot.step)

    async def _retain(self, store: CheckpointStore) -> None:
        lineage = self._lineages[store.name]
        newest = lineage.kept[-1:]
        try:
            existing = await store.steps()
            lineage, doomed = retain(lineage, existing, self._max_to_keep, self._spare_every)
            for step in doomed:
                await store.delete(step)
        except CheckpointError as error:
            # The new one is safe; these are deleted after the next.
            logger.warning("%s; old checkpoints were not deleted", error)
        else:
            self._lineages[store.name] = lineage
        self._last_checkpoints = tuple(store.name_of(each.step) for each in lineage.kept or newest)


def _check_session(session: object) -> None:
    if not isinstance(session, Session):
        raise TypeError(
            f"a Saver takes a raw session, such as run_context.session, not {session!r}"
        )


def _checked_step(step: object) -> int:
    if isinstance(step, bool) or not isinstance(step, int):
        raise TypeError(f"global_step is to be an int or None, not {step!r}")
    return step
