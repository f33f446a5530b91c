"""Making the raw session of a generation."""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from asynchooks._graph import Graph
from asynchooks._session import Session
from asynchooks._state import SessionState
from asynchooks.checkpoint._restoring import restore
from asynchooks.checkpoint._stores import CheckpointStore, chosen_store


class SessionCreator(Protocol):
    """Makes raw sessions; a `MonitoredSession` can be given one.

    Carries over ``tf.compat.v1.train.SessionCreator``.
    """

    def create_session(
        self, graph: Graph, state: SessionState
    ) -> AbstractAsyncContextManager[Session]:
        """Is called for each generation.

        Args:
            graph: the final graph.
            state: the values of variables and positions in sources, which the session goes on with.

        Returns:
            What gives the open session, and closes it: entered and left in the generation's task.
        """
        ...


class ChiefSessionCreator:
    """The default `SessionCreator`: restores a checkpoint, and opens the graph's resources.

    Carries over ``tf.compat.v1.train.ChiefSessionCreator``. It restores once, before the first
    generation: later ones go on with what is in memory.
    """

    def __init__(
        self, checkpoint_dir: str | os.PathLike[str] | CheckpointStore | None = None
    ) -> None:
        """Makes the creator.

        Args:
            checkpoint_dir: the directory or store out of which the newest checkpoint that is whole
                is restored, before any hook's `after_create_session`. Broken ones are named in a
                warning; without a whole one the session starts afresh. None restores nothing.

        Raises:
            TypeError: `checkpoint_dir` is neither.
        """
        self._store = None if checkpoint_dir is None else chosen_store(checkpoint_dir)

    def create_session(
        self, graph: Graph, state: SessionState
    ) -> AbstractAsyncContextManager[Session]:
        """Returns a `Session`; see `SessionCreator.create_session`."""
        if self._store is None or state.restored:
            return Session(graph, state)
        return _RestoringSession(graph, state, self._store)


class _RestoringSession(Session):
    def __init__(self, graph: Graph, state: SessionState, store: CheckpointStore) -> None:
        super().__init__(graph, state)
        self._store = store

    async def __aenter__(self) -> Session:
        await restore(self, self._store)
        self.state.restored = True
        return await super().__aenter__()
