"""The raw sessions of a scenario: each run and close in the trace, each fault where it is due."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import asynchooks as ah
from tests.contract.naming import named, scripted
from tests.contract.nodes import encoded
from tests.contract.world import Event, World

QUIET = "a built-in hook"
"""Stands for runs that leave no event."""


class TracedSession(ah.Session):
    """A raw session that knows the number of its generation."""

    def __init__(self, world: World, state: ah.SessionState, g: int) -> None:
        super().__init__(world.graph, state)
        self.world = world
        self.g = g

    async def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: ah.RunOptions | None = None,
    ) -> Any:
        """Runs as one that was made with hooks, or as the hook that is asking."""
        asking = self.world.asking
        if asking == QUIET:
            return await super().run(fetches, feed_dict, options)
        if asking is not None:
            return await self._direct("final_run", asking, fetches, feed_dict)
        n = self.world.count("run")
        self.world.clock += self.world.scenario.get("tick", 0)
        with self.world.logged("raw_run", "bad_fetch", **self._request(n, feed_dict, options)):
            return await self._work(self.world.fault("run", n), fetches, feed_dict, options)

    async def direct(self, by: Event, fetches: Any, feeds: dict[str, Any] | None = None) -> Any:
        """Runs as a scripted hook, a step function or the program asks for it, by names."""
        nodes = self.world.nodes
        return await self._direct("direct_run", by, nodes.fetches(fetches), nodes.feeds(feeds))

    async def _direct(
        self, name: str, by: Event, fetches: Any, feeds: Mapping[Any, Any] | None
    ) -> Any:
        fault = self.world.fault("direct_run", self.world.count("direct_run"))
        with self.world.logged(name, "bad_fetch", **by, g=self.g) as event:
            value = await self._work(fault, fetches, feeds, None)
            event["value"] = encoded(value)
            return value

    async def _work(
        self,
        fault: dict[str, Any] | None,
        fetches: Any,
        feeds: Mapping[Any, Any] | None,
        options: ah.RunOptions | None,
    ) -> Any:
        if fault and not fault.get("after"):
            raise scripted(fault)
        try:
            value = await super().run(fetches, feeds, options)
        except ah.SessionClosedError as error:
            raise named(error, "RuntimeError", "raw_closed") from None
        if fault:
            raise scripted(fault)
        return value

    def _request(
        self, n: int, feeds: Mapping[Any, Any] | None, options: ah.RunOptions | None
    ) -> Event:
        call = self.world.call
        fields: Event = {"g": self.g, "n": n, "fetches": call.fetches}
        if call.requests:
            fields["hooks"] = {str(h): asked for h, asked in call.requests.items()}
        if feeds:
            fields["feeds"] = self.world.nodes.fed_names(feeds)
        return fields | shown(options)


class TracedCreator:
    """Makes the raw sessions of a scenario."""

    def __init__(self, world: World) -> None:
        self.world = world

    def create_session(self, graph: ah.Graph, state: ah.SessionState) -> Generation:
        """Makes one raw session when it is entered."""
        return Generation(self.world, state)


class Generation:
    """Opens and closes one raw session.

    No generator: it could not let an end of input through.
    """

    def __init__(self, world: World, state: ah.SessionState) -> None:
        self.world = world
        self.state = state
        self.session: TracedSession | None = None

    async def __aenter__(self) -> TracedSession:
        n = self.world.count("create")
        with self.world.logged("create", n=n) as event:
            self.world.raise_fault("create", n)
            g = event["g"] = self.world.count("g")
        self.world.open_generations.append(g)
        self.world.workers.generation = g
        self.session = TracedSession(self.world, self.state, g)
        return await self.session.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        assert self.session is not None
        await self.session.__aexit__(*error)
        g = self.session.g
        self.world.open_generations.remove(g)
        alive = self.world.workers.alive(g)
        with self.world.logged("raw_close", g=g, **({"alive": alive} if alive else {})):
            self.world.raise_fault("close", self.world.count("close"))


def shown(options: ah.RunOptions | None) -> Event:
    """Returns what a trace shows of options."""
    if options is None or not (options.trace_level or options.timeout):
        return {}
    timeout_ms = round((options.timeout or 0) * 1000)
    return {"opts": {"trace": options.trace_level, "timeout_ms": timeout_ms}}


def run_options(trace: int = 0, timeout_ms: int = 0) -> ah.RunOptions:
    """Returns the options that a scenario asks for."""
    return ah.RunOptions(timeout=timeout_ms / 1000 if timeout_ms else None, trace_level=trace)
