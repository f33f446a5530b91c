"""What is mixed into the library's own hooks, so that their calls are in the trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import asynchooks as ah
from tests.contract.raw import QUIET, TracedSession
from tests.contract.world import Event, World


class TracedHook(ah.SessionRunHook):
    """Mixed into a hook of the library: logs the calls of its methods."""

    world: World
    h: int
    # Whether the runs that it makes in `end` leave an event.
    shows_final_run = False

    async def begin(self) -> None:
        """Logged as `begin`."""
        self.world.log("begin", h=self.h)
        await super().begin()

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        """Logged as `after_create`."""
        self.world.log("after_create", h=self.h, g=generation_of(session))
        with self.world.asked_by(QUIET):
            await super().after_create_session(session, coord)

    async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs | None:
        """Logged as `before_run`."""
        self.world.log("before_run", **run_fields(self, run_context))
        with self.world.asked_by(QUIET):
            return await super().before_run(run_context)

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        """Logged as `after_run`, and a stop that it asks for as `stop`."""
        self.world.log("after_run", **run_fields(self, run_context))
        with self.world.asked_by(QUIET), self._stop_logged(run_context):
            await super().after_run(run_context, run_values)

    async def end(self, session: ah.Session) -> None:
        """Logged as `end`."""
        self.world.log("end", h=self.h, g=generation_of(session))
        with self.world.asked_by({"h": self.h} if self.shows_final_run else QUIET):
            await super().end(session)

    @contextmanager
    def _stop_logged(self, run_context: ah.SessionRunContext) -> Iterator[None]:
        before = run_context.stop_requested
        yield
        if run_context.stop_requested and not before:
            self.world.log("stop", h=self.h)


def generation_of(session: ah.Session) -> int:
    """Returns the number of the generation that a raw session belongs to."""
    return cast("TracedSession", session).g


def run_fields(hook: Any, run_context: ah.SessionRunContext) -> Event:
    """Returns what the event of a hook in a run tells."""
    return {"h": hook.h, "g": generation_of(run_context.session), "r": hook.world.call.r}
