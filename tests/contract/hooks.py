"""The hooks of a scenario: scripted ones, and the library's own with their calls in the trace."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, cast

import asynchooks as ah
from tests.contract import observers
from tests.contract.actions import Actions
from tests.contract.naming import scripted
from tests.contract.nodes import encoded
from tests.contract.raw import TracedSession, shown
from tests.contract.traced import TracedHook, generation_of, run_fields
from tests.contract.world import Event, World

Script = dict[str, dict[str, list[dict[str, Any]]]]


class ScriptedHook(ah.SessionRunHook):
    """Does what the script says at the nth call of each method."""

    def __init__(self, world: World, h: int, script: Script) -> None:
        self.world = world
        self.h = h
        self.script = script
        self.actions = Actions(world, h)

    async def begin(self) -> None:
        """Logged as `begin`."""
        self.world.log("begin", h=self.h)
        await self._play("begin")

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        """Logged as `after_create`."""
        self.actions.coordinator = coord
        self.world.log("after_create", h=self.h, g=generation_of(session))
        await self._play("after_create", session=session)

    async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs | None:
        """Logged as `before_run`, with what the caller asked for."""
        asked = run_context.original_args
        event = self.world.log("before_run", **run_fields(self, run_context))
        event["fetches"] = self.world.nodes.names(asked.fetches)
        if asked.feed_dict:
            event["feeds"] = self.world.nodes.fed_names(asked.feed_dict)
        event |= _stop_field(run_context)
        self.world.call.requests.pop(self.h, None)
        self.actions.asked = {}
        await self._play("before_run", run_context)
        return self._run_args()

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        """Logged as `after_run`, with what the run gave."""
        event = self.world.log("after_run", **run_fields(self, run_context))
        if self.h in self.world.call.requests or run_values.results is not None:
            event["results"] = encoded(run_values.results)
        event |= _stop_field(run_context) | shown(run_values.options)
        await self._play("after_run", run_context)

    async def end(self, session: ah.Session) -> None:
        """Logged as `end`."""
        self.world.log("end", h=self.h, g=generation_of(session))
        await self._play("end", session=session)

    async def _play(
        self,
        callback: str,
        context: ah.SessionRunContext | None = None,
        session: ah.Session | None = None,
    ) -> None:
        if self.world.over:
            return
        n = self.world.count(f"hook {self.h} {callback}")
        script = self.script.get(callback, {})
        self.actions.context = context
        self.actions.session = cast("TracedSession", context.session if context else session)
        for action in script.get(str(n), script.get("*", ())):
            await self.actions.perform(action)

    def _run_args(self) -> ah.SessionRunArgs | None:
        asked = self.actions.asked
        if "bad_args" in asked:
            return cast("ah.SessionRunArgs", "no run args")
        if not asked:
            return None
        if "fetch" in asked:
            self.world.call.requests[self.h] = asked["fetch"]
        nodes = self.world.nodes
        return ah.SessionRunArgs(
            nodes.fetches(asked["fetch"]) if "fetch" in asked else None,
            nodes.feeds(asked.get("feed")),
            asked.get("options"),
        )


class TracedFinalOps(TracedHook, ah.FinalOpsHook):
    """The library's `FinalOpsHook`: its runs are logged as `final_run`."""

    shows_final_run = True


class TracedStopAtStep(TracedHook, ah.StopAtStepHook):
    """The library's `StopAtStepHook`."""


class TracedFeedFn(TracedHook, ah.FeedFnHook):
    """The library's `FeedFnHook`."""


def make_hook(world: World, h: int, spec: dict[str, Any]) -> ah.SessionRunHook:
    """Makes the hook that a scenario describes."""
    kind = spec.get("kind", "script")
    if kind == "script":
        return ScriptedHook(world, h, spec)
    if kind == "same_as":
        return cast("ah.SessionRunHook", world.hooks[spec["of"]])
    hook = MAKERS[kind](world, h, spec)
    hook.world, hook.h = world, h
    return hook


def _make_final_ops(world: World, h: int, spec: dict[str, Any]) -> TracedHook:
    nodes = world.nodes
    return TracedFinalOps(nodes.fetches(spec["ops"]), nodes.feeds(spec.get("feeds")))


def _make_stop_at_step(world: World, h: int, spec: dict[str, Any]) -> TracedHook:
    return TracedStopAtStep(spec.get("num_steps"), spec.get("last_step"))


def _make_feed_fn(world: World, h: int, spec: dict[str, Any]) -> TracedHook:
    return TracedFeedFn(_feed_function(world, spec))


MAKERS: dict[str, Callable[[World, int, dict[str, Any]], TracedHook]] = {
    "final_ops": _make_final_ops,
    "stop_at_step": _make_stop_at_step,
    "feed_fn": _make_feed_fn,
    "logging": observers.make_logging,
    "step_counter": observers.make_step_counter,
    "nan": observers.make_nan,
    "waiter": observers.make_waiter,
}


def _feed_function(world: World, spec: dict[str, Any]) -> Any:
    calls = count()

    def feed() -> dict[Any, Any] | None:
        n = next(calls)
        if error := spec.get("raise", {}).get(str(n)):
            raise scripted(error)
        return world.nodes.feeds(spec["feeds"][min(n, len(spec["feeds"]) - 1)])

    return feed


def _stop_field(run_context: ah.SessionRunContext) -> Event:
    return {"stop": True} if run_context.stop_requested else {}
