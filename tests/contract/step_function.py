"""The step functions of a scenario."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import asynchooks as ah
from tests.contract.actions import scripted_or_none
from tests.contract.naming import is_cancellation, scripted
from tests.contract.nodes import encoded
from tests.contract.raw import TracedSession
from tests.contract.world import World

Action = dict[str, Any]


class StepFunction:
    """Performs a list of actions each time it is called, and gives back the last value."""

    def __init__(self, world: World, body: list[Action]) -> None:
        self.world = world
        self.body = body
        self.k = 0

    def with_signature(self, kind: str) -> Callable[..., Any]:
        """Returns it as a function that takes such arguments."""

        async def ok(step_context: ah.StepContext) -> Any:
            return await self.called(step_context)

        async def bad_name(context: ah.StepContext) -> Any:
            return await self.called(context)

        async def two_args(step_context: ah.StepContext, other: object) -> Any:
            return await self.called(step_context)

        async def no_args() -> Any:
            raise AssertionError("called with nothing to call it with")

        kinds = {"ok": ok, "bad_name": bad_name, "two_args": two_args, "no_args": no_args}
        return self.called if kind == "method" else kinds[kind]

    async def called(self, step_context: ah.StepContext) -> Any:
        """Performs the actions once."""
        k, self.k = self.k, self.k + 1
        session = cast("TracedSession", step_context.session)
        self.world.log("step_fn", r=self.world.call.r, k=k, g=session.g)
        value = None
        for action in self.body:
            if k not in action.get("only", [k]):
                continue
            if action["do"] == "return":
                return action["value"]
            value = await self._perform(action, step_context, value)
        return value

    async def _perform(self, action: Action, context: ah.StepContext, value: Any) -> Any:
        try:
            return await getattr(self, f"_{action['do']}")(action, context, value)
        except BaseException as error:
            if is_cancellation(error) or not action.get("catch"):
                raise
            return value

    async def _run_with_hooks(self, action: Action, context: ah.StepContext, value: Any) -> Any:
        nodes, call = self.world.nodes, self.world.call
        call.fetches = action["fetches"]
        with self.world.logged("hooked_run", "bad_fetch", r=call.r) as event:
            feeds = nodes.feeds(action.get("feeds"))
            value = await context.run_with_hooks(nodes.fetches(action["fetches"]), feeds)
            event["value"] = encoded(value)
            return value

    async def _raw_run(self, action: Action, context: ah.StepContext, value: Any) -> Any:
        raw = cast("TracedSession", context.session)
        return await raw.direct({"step_fn": True}, action["fetches"], action.get("feeds"))

    async def _request_stop(self, action: Action, context: ah.StepContext, value: Any) -> Any:
        context.request_stop()
        return value

    async def _raise(self, action: Action, context: ah.StepContext, value: Any) -> Any:
        raise scripted(action["error"])

    async def _coord_stop(self, action: Action, context: ah.StepContext, value: Any) -> Any:
        session = self.world.session
        assert session is not None
        with self.world.logged("coord_stop"):
            coordinator = session.coordinator
            coordinator.request_stop(scripted_or_none(action))
        await self.world.workers.settled(coordinator)
        return value
