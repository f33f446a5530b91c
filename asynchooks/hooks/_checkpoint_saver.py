"""Saving checkpoints every so many steps or seconds, beside the runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import cast
from weakref import WeakValueDictionary

import anyio

from asynchooks._coordinator import Coordinator
from asynchooks._errors import reraise
from asynchooks._hook import SessionRunContext, SessionRunHook, SessionRunValues
from asynchooks._lifecycle import SessionEnd
from asynchooks._ops import is_async
from asynchooks._session import Session
from asynchooks._variables import get_or_create_global_step
from asynchooks.checkpoint import CheckpointStore, Saver
from asynchooks.checkpoint._background import BackgroundSave
from asynchooks.checkpoint._snapshot import current_step, take_snapshot
from asynchooks.checkpoint._stores import chosen_store
from asynchooks.hooks._checkpoint_listener import LISTENER_METHODS, CheckpointSaverListener
from asynchooks.hooks._timers import SecondOrStepTimer

# By the name of the store that a hook of a live session saves to.
_savers: WeakValueDictionary[str, CheckpointSaverHook] = WeakValueDictionary()


class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint every so many steps or seconds, at creation and at a clean end.

    What is saved is what was committed when the hook's `after_run` is called. Its values are
    encoded before the run returns, and written beside the runs that follow: one checkpoint at a
    time, so a run whose checkpoint is due meanwhile waits. Once begun, writing goes on though the
    run is cancelled or the generation lost, and is waited for when the session ends. Carries over
    ``tf.compat.v1.train.CheckpointSaverHook``. Differences:

    - With listeners a run waits until its checkpoint is kept, since `after_save` comes then.
    - A step that was restored from the same place, or saved already, is not saved again, be it at
      the creation of a generation or at the end.
    - A listener may also ask for a stop after the save at creation.
    - A save that fails while it is written is raised by the next run's `before_run`, by the
      `after_run` that wants to save next, or by `end`, which saves the last step all the same.
    - Two hooks that save to the same place are refused.
    - There is no scaffold, and no graph definition that could be saved.
    """

    def __init__(
        self,
        checkpoint_dir: str | os.PathLike[str] | CheckpointStore,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        listeners: Iterable[CheckpointSaverListener] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Makes the hook; exactly one of `save_secs` and `save_steps` is given.

        Args:
            checkpoint_dir: a directory or a store.
            save_secs: seconds between two saves, from 0.
            save_steps: steps between two saves, from 1.
            saver: says how many checkpoints are kept; None makes a `Saver` with its defaults.
            checkpoint_basename: how the names of the files in a directory begin.
            listeners: called in this order.
            clock: tells the time in seconds for `save_secs`.

        Raises:
            TypeError: an argument is of another kind, or a method of a listener cannot be awaited.
            ValueError: none or both periods are given, or the one that is given is out of range.
        """
        self._store = chosen_store(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps, clock=clock)
        if saver is not None and not isinstance(saver, Saver):
            raise TypeError(f"saver is to be a Saver or None, not {saver!r}")
        self._saver = saver if saver is not None else Saver()
        self._listeners = _checked_listeners(listeners)

    async def begin(self) -> None:
        """Takes the place to save to, and makes the global step if there is none.

        Raises:
            ValueError: another hook saves there.
        """
        if _savers.get(self._store.name, self) is not self:
            raise ValueError(
                f"another CheckpointSaverHook saves to {self._store.name}; give each of them a "
                "directory or a basename of its own"
            )
        _savers[self._store.name] = self
        self._timer.reset()
        self._lock = anyio.Lock(fast_acquire=True)
        self._pending: BackgroundSave | None = None
        self._saved_step: int | None = None
        get_or_create_global_step()
        try:
            for listener in self._listeners:
                await listener.begin()
        except BaseException:
            # `close` is not called then.
            del _savers[self._store.name]
            raise

    async def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Saves the step that the generation starts with, unless that was saved."""
        async with self._lock:
            await self._finish()
            self._timer.update_last_triggered_step(current_step(session))
            if await self._save_unless_saved(session):
                coord.request_stop()

    async def before_run(self, run_context: SessionRunContext) -> None:
        """Raises the error of a save that has failed meanwhile."""
        self._raise_failure()

    async def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Saves if it is time."""
        session = run_context.session
        if not self._is_due(session):
            return
        async with self._lock:
            await self._finish()
            # Another run may have saved while this one waited.
            if self._is_due(session) and await self._save(session):
                run_context.request_stop()

    async def end(self, session: Session) -> None:
        """Waits for the save under way, and saves the last step unless that was saved."""
        async with self._lock:
            try:
                await self._finish()
            finally:
                await self._save_unless_saved(session)
                await self._finish()
        for listener in self._listeners:
            await listener.end(session, current_step(session))

    async def close(self, session_end: SessionEnd) -> None:
        """Waits for the save under way; gives it up at the session's `close_timeout`."""
        try:
            await self._finish()
        finally:
            if self._pending is not None:
                self._pending.cancel()
            _savers.pop(self._store.name, None)

    def _is_due(self, session: Session) -> bool:
        return self._timer.should_trigger_for_step(current_step(session))

    async def _save_unless_saved(self, session: Session) -> bool:
        step = current_step(session)
        restored = session.state.restored_from == self._store.name_of(step)
        if restored or step == self._saved_step:
            return False
        return await self._save(session)

    async def _save(self, session: Session) -> bool:
        """Saves, and tells whether a listener asks for a stop."""
        before = current_step(session)
        for listener in self._listeners:
            await listener.before_save(session, before)
        snapshot = take_snapshot(session, current_step(session))
        self._timer.update_last_triggered_step(snapshot.step)
        self._saved_step = snapshot.step
        self._pending = BackgroundSave(self._saver, self._store, snapshot)
        await self._pending.wait_encoded()
        self._raise_failure()
        if not self._listeners:
            return False
        await self._finish()
        stops = [await each.after_save(session, snapshot.step) for each in self._listeners]
        return any(stops)

    async def _finish(self) -> None:
        if self._pending is not None:
            await self._pending.wait()
            self._raise_failure()

    def _raise_failure(self) -> None:
        pending = self._pending
        if pending is None or not pending.ended:
            return
        self._pending = None
        if pending.error is not None:
            self._saved_step = None
            reraise(pending.error)


def _checked_listeners(listeners: object) -> tuple[CheckpointSaverListener, ...]:
    if isinstance(listeners, str) or not isinstance(listeners, Iterable):
        raise TypeError(f"listeners are to be a list of listeners, not {listeners!r}")
    checked = tuple(cast("Iterable[object]", listeners))
    for listener in checked:
        if not isinstance(listener, CheckpointSaverListener):
            raise TypeError(f"a listener is to be a CheckpointSaverListener, not {listener!r}")
        for method in LISTENER_METHODS:
            if not is_async(getattr(listener, method)):
                raise TypeError(
                    f"{type(listener).__name__}.{method} is no async function; make it `async def`"
                )
    return cast("tuple[CheckpointSaverListener, ...]", checked)
