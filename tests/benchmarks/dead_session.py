"""A session on a connection that hangs up, which is noticed when it is next used."""

from __future__ import annotations

from types import TracebackType

import tenacity

import asynchooks as ah
from tests.benchmarks.shapes import Pause


class _Connection:
    def __init__(self, pause: Pause) -> None:
        self.hung_up = False
        self._pause = pause

    async def get(self) -> int:
        await self._pause()
        if self.hung_up:
            raise ConnectionResetError("the peer hung up")
        return 1


class _Connecting(ah.SessionRunHook):
    def __init__(self, pause: Pause) -> None:
        self.made = 0
        self.answers = 0
        self.connection = _Connection(pause)
        self._pause = pause

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        self.made += 1
        self.connection = _Connection(self._pause)

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        self.answers += 1


class DeadSession:
    """Entered for the time that the session lives.

    Args:
        pause: what each answer of the connection awaits.
    """

    def __init__(self, pause: Pause) -> None:
        self._connecting = connecting = _Connecting(pause)

        async def answer() -> int:
            return await connecting.connection.get()

        with ah.Graph().as_default() as graph:
            self._answer = ah.op(answer)()
        recovery = ah.Recovery(on=ConnectionError, wait=tenacity.wait_none())
        self._session = ah.MonitoredSession(graph, hooks=[connecting], recovery=recovery)

    @property
    def connections(self) -> int:
        """How many connections were made."""
        return self._connecting.made

    @property
    def answers(self) -> int:
        """How many runs have been answered."""
        return self._connecting.answers

    def hang_up(self) -> None:
        """Ends the connection; who uses it next finds out."""
        self._connecting.connection.hung_up = True

    async def run(self) -> int:
        """Asks the connection, or the one after it."""
        return await self._session.run(self._answer)

    async def __aenter__(self) -> DeadSession:
        """Enters the session."""
        await self._session.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leaves the session."""
        await self._session.__aexit__(exc_type, exc, traceback)
