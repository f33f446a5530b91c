"""A save that goes on beside the runs."""

from __future__ import annotations

from contextvars import copy_context

import anyio

from asynchooks._backend import spawn_host_task
from asynchooks._errors import CheckpointError
from asynchooks.checkpoint._format import Content
from asynchooks.checkpoint._saver import Saver
from asynchooks.checkpoint._stores import CheckpointStore


class BackgroundSave:
    """A save in a task that belongs to no run and no generation, so none takes it along.

    Attributes:
        ended: whether it has come to its end, of either kind.
        error: why nothing was saved; None if it was, or is still being.
    """

    def __init__(self, saver: Saver, store: CheckpointStore, snapshot: Content) -> None:
        """Starts saving what was taken out of the session."""
        self.ended = False
        self.error: BaseException | None = None
        self._saver = saver
        self._store = store
        self._snapshot = snapshot
        self._scope = anyio.CancelScope()
        self._encoded = anyio.Event()
        self._done = anyio.Event()
        name = f"saving checkpoint {store.name_of(snapshot.step)}"
        spawn_host_task(self._run, name, copy_context())

    async def wait_encoded(self) -> None:
        """Waits until nothing is left to do but to write, or nothing at all."""
        await self._encoded.wait()

    async def wait(self) -> None:
        """Waits for the end."""
        await self._done.wait()

    def cancel(self) -> None:
        """Gives it up, as far as the store lets it be cancelled."""
        self._scope.cancel()

    async def _run(self) -> None:
        try:
            with self._scope:
                body = await self._saver.encode(self._store, self._snapshot)
                self._encoded.set()
                await self._saver.write(self._store, self._snapshot, body)
            if self._scope.cancelled_caught:
                name = self._store.name_of(self._snapshot.step)
                self.error = CheckpointError(name, "saving was given up")
        except BaseException as error:
            self.error = error
        finally:
            self.ended = True
            self._encoded.set()
            self._done.set()
