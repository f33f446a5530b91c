"""Scenarios of a timer that is used alone."""

from __future__ import annotations

from typing import Any

import asynchooks as ah
from tests.contract.naming import error_of
from tests.contract.world import World

Step = dict[str, Any]


async def run_timer(scenario: dict[str, Any]) -> dict[str, Any]:
    """Runs a timer scenario and returns its trace."""
    world = World(scenario)
    error = await error_of(_use_timer(world))
    assert error is None or isinstance(error, Exception)
    return {"events": world.events, "final": {}}


async def _use_timer(world: World) -> None:
    periods = world.scenario.get("every_secs"), world.scenario.get("every_steps")
    with world.logged("construct", "bad_args"):
        timer = ah.SecondOrStepTimer(*periods, clock=world.now)
    for step in world.scenario["steps"]:
        if step["do"] == "clock":
            world.clock += step["advance"]
        else:
            with world.logged(step["do"]) as event:
                event.update(_taken(timer, step))


def _taken(timer: ah.SecondOrStepTimer, step: Step) -> dict[str, Any]:
    if step["do"] == "should_trigger":
        return {"step": step["step"], "v": timer.should_trigger_for_step(step["step"])}
    if step["do"] == "update":
        secs, steps = timer.update_last_triggered_step(step["step"])
        return {"step": step["step"], "secs": secs, "steps": steps}
    if step["do"] == "last":
        return {"v": timer.last_triggered_step()}
    timer.reset()
    return {}
