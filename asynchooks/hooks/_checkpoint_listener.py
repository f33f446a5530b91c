"""What is told of the saves of a `CheckpointSaverHook`."""

from __future__ import annotations

from asynchooks._session import Session


class CheckpointSaverListener:
    """Acts before and after checkpoints are saved; override what is needed.

    Carries over ``tf.compat.v1.train.CheckpointSaverListener``; the methods are awaited.
    """

    async def begin(self) -> None:
        """Is called in the hook's `begin`, where ops can be added to the default graph."""

    async def before_save(self, session: Session, global_step_value: int) -> None:
        """Is called before a checkpoint is taken.

        Args:
            session: the raw session.
            global_step_value: the global step; the checkpoint may be of a later one if runs that
                overlap commit before all listeners have been called.
        """

    async def after_save(self, session: Session, global_step_value: int) -> bool | None:
        """Is called once the checkpoint is kept safely.

        Not called if saving has failed.

        Args:
            session: the raw session.
            global_step_value: the global step that the checkpoint holds.

        Returns:
            Whether the session is to stop; of no effect in the save at its end.
        """
        return None

    async def end(self, session: Session, global_step_value: int) -> None:
        """Is called at a clean end, after the last checkpoint; not if saving that has failed.

        Args:
            session: the raw session.
            global_step_value: the last global step.
        """


LISTENER_METHODS = ("begin", "before_save", "after_save", "end")
"""The names of the methods of `CheckpointSaverListener`."""
