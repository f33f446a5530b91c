"""Making the raw session of a generation."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from asynchooks._graph import Graph
from asynchooks._session import Session
from asynchooks._state import SessionState


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
    """The default `SessionCreator`: opens the graph's resources and nothing else.

    Carries over ``tf.compat.v1.train.ChiefSessionCreator``.
    """

    def create_session(
        self, graph: Graph, state: SessionState
    ) -> AbstractAsyncContextManager[Session]:
        """Returns a `Session`; see `SessionCreator.create_session`."""
        return Session(graph, state)
