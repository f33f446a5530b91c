"""The steps that the program of a session scenario can take."""

from __future__ import annotations

from typing import Any, cast

import asynchooks as ah
from tests.contract.actions import scripted_or_none
from tests.contract.hooks import make_hook
from tests.contract.naming import is_cancellation, scripted
from tests.contract.nodes import encoded
from tests.contract.raw import TracedSession, run_options
from tests.contract.step_function import StepFunction
from tests.contract.world import World

Step = dict[str, Any]


class Steps:
    """Takes steps with the current session of a world."""

    def __init__(self, world: World, given: list[Any]) -> None:
        self.world = world
        # The very list that the session was given.
        self.given = given

    @property
    def session(self) -> ah.MonitoredSession:
        """The session that the program has in hand."""
        assert self.world.session is not None
        return self.world.session

    async def take(self, steps: list[Step]) -> None:
        """Takes steps in order; the error of one without `catch` ends them."""
        for step in steps:
            try:
                await getattr(self, f"_{step['do']}")(step)
            except BaseException as error:
                if is_cancellation(error) or not step.get("catch"):
                    raise

    async def _run(self, step: Step) -> None:
        call = self.world.start_call(step["fetches"])
        nodes = self.world.nodes
        options = run_options(**step["options"]) if "options" in step else None
        with self.world.logged("run", "bad_fetch", r=call.r) as event:
            feeds = nodes.feeds(step.get("feeds"))
            value = await self.session.run(nodes.fetches(step["fetches"]), feeds, options)
            event["value"] = encoded(value)

    async def _loop(self, step: Step) -> None:
        for _ in range(step["max"]):
            if self._asked_to_stop():
                return
            await (self._step_fn(step) if "body" in step else self._run(step))
        self.world.log("loop_cap")

    async def _step_fn(self, step: Step) -> None:
        call = self.world.start_call()
        function = StepFunction(self.world, step["body"])
        with self.world.logged("run", "bad_step_fn", r=call.r) as event:
            value = await self.session.run_step_fn(function.with_signature(step.get("sig", "ok")))
            event["value"] = encoded(value)

    async def _should_stop(self, step: Step) -> None:
        self._asked_to_stop()

    def _asked_to_stop(self) -> bool:
        with self.world.logged("should_stop") as event:
            event["v"] = self.session.should_stop()
            return cast("bool", event["v"])

    async def _close(self, step: Step) -> None:
        with self.world.logged("close"):
            await self.session.close()

    async def _raise(self, step: Step) -> None:
        raise scripted(step["error"])

    async def _coord_stop(self, step: Step) -> None:
        with self.world.logged("coord_stop"):
            coordinator = self.session.coordinator
            coordinator.request_stop(scripted_or_none(step))
        await self.world.workers.settled(coordinator)

    async def _worker(self, step: Step) -> None:
        await self.world.workers.start(self.session.coordinator, step)

    async def _raw_run(self, step: Step) -> None:
        raw = cast("TracedSession", self.session.session)
        await raw.direct({}, step["fetches"], step.get("feeds"))

    async def _graph(self, step: Step) -> None:
        with self.world.logged("graph"):
            assert self.session.graph is self.world.graph

    async def _add_op(self, step: Step) -> None:
        with self.world.logged("add_op", name=step["name"]):
            self.world.nodes.add(step["name"], step["node"])

    async def _final_values(self, step: Step) -> None:
        value = encoded(self.world.hooks[step["of"]].final_ops_values)
        self.world.log("final_values", of=step["of"], value=value)

    async def _clock(self, step: Step) -> None:
        self.world.clock += step["secs"]

    async def _append_hook(self, step: Step) -> None:
        hook = make_hook(self.world, len(self.world.hooks), step["hook"])
        self.world.hooks.append(hook)
        self.given.append(hook)
