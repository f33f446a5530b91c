"""The program of a session scenario: enters sessions, takes the steps, leaves."""

from __future__ import annotations

from typing import Any

import tenacity

import asynchooks as ah
from tests.contract.hooks import make_hook
from tests.contract.naming import error_of, name_of
from tests.contract.nodes import encoded
from tests.contract.raw import TracedCreator
from tests.contract.steps import Steps
from tests.contract.world import World

Outcome = dict[str, Any]


async def run_sessions(scenario: dict[str, Any]) -> dict[str, Any]:
    """Runs a session scenario and returns its trace."""
    world = World(scenario)
    for h, spec in enumerate(scenario.get("hooks", ())):
        world.hooks.append(make_hook(world, h, spec))
    programs = [Program(world, session) for session in scenario["sessions"]]
    try:
        outcome = [await program.run() for program in programs]
        return {"events": list(world.events), "outcome": outcome, "final": _final(world)}
    finally:
        await _clean_up(world, programs)


async def run_construct(scenario: dict[str, Any]) -> dict[str, Any]:
    """Makes the hook of a construct scenario and returns the trace."""
    world = World(scenario)
    error = await error_of(_construct_hook(world))
    assert error is None or isinstance(error, Exception)
    return {"events": world.events, "final": {}}


async def _construct_hook(world: World) -> None:
    with world.logged("construct", "bad_args"):
        make_hook(world, 0, world.scenario["hook"])


def _final(world: World) -> dict[str, Any]:
    final: dict[str, Any] = {
        "finalized": world.graph.finalized,
        "open": list(world.open_generations),
    }
    values = {
        str(h): encoded(hook.final_ops_values)
        for h, hook in enumerate(world.hooks)
        if isinstance(hook, ah.FinalOpsHook)
    }
    if values:
        final["final_ops"] = values
    if world.workers.all:
        final["workers"] = world.workers.states()
    return final


async def _clean_up(world: World, programs: list[Program]) -> None:
    """Closes what the scenario left open; what happens here is no part of it."""
    world.over = True
    for program in programs:
        if program.session is not None:
            await error_of(program.session.close())
    await world.workers.let_go()


class Program:
    """One session of a scenario and what is done with it."""

    def __init__(self, world: World, spec: dict[str, Any]) -> None:
        self.world = world
        self.spec = spec
        self.given = list(world.hooks)
        self.session: ah.MonitoredSession | None = None
        self.steps = Steps(world, self.given)

    async def run(self) -> Outcome:
        """Makes the session, takes the steps, and closes it where the scenario says so."""
        error = await error_of(self._construct())
        if error is not None:
            return _outcome("construct", error)
        outcome = await (self._block() if self.spec.get("with", True) else self._bare())
        await self._uncaught(self.spec.get("after", []))
        return outcome

    async def _construct(self) -> None:
        with self.world.logged("construct", "bad_args"):
            self.session = self.world.session = self._make()
            await self.session.__aenter__()

    def _make(self) -> ah.MonitoredSession:
        given_as = {"list": lambda hooks: hooks, "none": lambda hooks: (), "iterator": iter}
        hooks: Any = given_as.get(self.world.scenario.get("hooks_as", "list"), tuple)
        recovers = self.spec["type"] == "monitored"
        endless = ah.Recovery(stop=tenacity.stop_never, wait=tenacity.wait_none())
        return ah.MonitoredSession(
            self.world.graph,
            hooks(self.given),
            session_creator=TracedCreator(self.world),
            recovery=endless if recovers else None,
            stop_grace=self.spec.get("grace", 0.0),
        )

    async def _block(self) -> Outcome:
        body = await error_of(self.steps.take(self.spec["steps"]))
        out = await error_of(self._leave(body))
        shown = {"in": body, "out": out}
        errors = {key: name_of(error) for key, error in shown.items() if error is not None}
        self.world.log("exit", **errors)
        if out is None:
            return {"stage": "ok" if body is None else "suppressed"}
        return _outcome("body" if out is body else "exit", out)

    async def _leave(self, body: BaseException | None) -> None:
        """Does what `async with` does at the end of its block."""
        assert self.session is not None
        if body is None:
            await self.session.__aexit__(None, None, None)
        elif not await self.session.__aexit__(type(body), body, body.__traceback__):
            raise body

    async def _bare(self) -> Outcome:
        error = await self._uncaught(self.spec["steps"])
        return {"stage": "ok"} if error is None else _outcome("body", error)

    async def _uncaught(self, steps: list[dict[str, Any]]) -> BaseException | None:
        error = await error_of(self.steps.take(steps))
        if error is not None:
            self.world.log("uncaught", error=name_of(error))
        return error


def _outcome(stage: str, error: BaseException) -> Outcome:
    return {"stage": stage, "error": name_of(error)}
