"""What a scripted hook can do in one of its methods."""

from __future__ import annotations

from typing import Any

import asynchooks as ah
from tests.contract.naming import is_cancellation, scripted
from tests.contract.raw import TracedSession, run_options
from tests.contract.world import World

Action = dict[str, Any]


class Actions:
    """Performs the actions of one scripted hook.

    Attributes:
        asked: what the run args that this call of `before_run` returns are to ask for.
        context: the run context of this call, if it has one.
        session: the raw session of this call, if it has one.
        coordinator: the one that the hook got last.
    """

    def __init__(self, world: World, h: int) -> None:
        self.world = world
        self.h = h
        self.asked: dict[str, Any] = {}
        self.context: ah.SessionRunContext | None = None
        self.session: TracedSession | None = None
        self.coordinator: ah.Coordinator | None = None

    async def perform(self, action: Action) -> None:
        """Performs one action; with `catch` its error is dropped."""
        try:
            await getattr(self, f"_{action['do']}")(action)
        except BaseException as error:
            if is_cancellation(error) or not action.get("catch"):
                raise

    async def _fetch(self, action: Action) -> None:
        self.asked["fetch"] = action["fetches"]

    async def _feed(self, action: Action) -> None:
        self.asked["feed"] = action["feeds"]

    async def _options(self, action: Action) -> None:
        wanted = {key: action[key] for key in ("trace", "timeout_ms") if key in action}
        self.asked["options"] = run_options(**wanted)

    async def _empty_args(self, action: Action) -> None:
        self.asked["empty_args"] = True

    async def _bad_args(self, action: Action) -> None:
        self.asked["bad_args"] = True

    async def _stop(self, action: Action) -> None:
        assert self.context is not None
        self.context.request_stop()

    async def _run(self, action: Action) -> None:
        assert self.session is not None
        await self.session.direct({"h": self.h}, action["fetches"], action.get("feeds"))

    async def _monitored_run(self, action: Action) -> None:
        outer = self.world.call
        call = self.world.start_call(action["fetches"])
        nodes, session = self.world.nodes, self.world.session
        assert session is not None
        try:
            with self.world.logged("run", "bad_fetch", r=call.r) as event:
                feeds = nodes.feeds(action.get("feeds"))
                event["value"] = await session.run(nodes.fetches(action["fetches"]), feeds)
        finally:
            self.world.call = outer

    async def _coord_stop(self, action: Action) -> None:
        assert self.coordinator is not None
        with self.world.logged("coord_stop", h=self.h):
            self.coordinator.request_stop(scripted_or_none(action))
        await self.world.workers.settled(self.coordinator)

    async def _coord_should_stop(self, action: Action) -> None:
        assert self.coordinator is not None
        with self.world.logged("coord_should_stop", h=self.h) as event:
            event["v"] = self.coordinator.should_stop()

    async def _worker(self, action: Action) -> None:
        assert self.coordinator is not None
        await self.world.workers.start(self.coordinator, action)

    async def _raise(self, action: Action) -> None:
        raise scripted(action["error"])

    async def _add_op(self, action: Action) -> None:
        with self.world.logged("add_op", h=self.h, name=action["name"]):
            self.world.nodes.add(action["name"], action["node"])

    async def _final_values(self, action: Action) -> None:
        value = self.world.hooks[action["of"]].final_ops_values
        self.world.log("final_values", h=self.h, of=action["of"], value=value)

    async def _clock(self, action: Action) -> None:
        self.world.clock += action["secs"]


def scripted_or_none(action: Action) -> BaseException | None:
    """Makes the error of an action that may have one."""
    return scripted(action["error"]) if "error" in action else None
