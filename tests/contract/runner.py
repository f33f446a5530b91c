"""Runs one scenario on one event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from tests.contract.coordinators import run_coordinator
from tests.contract.program import run_construct, run_sessions
from tests.contract.timers import run_timer

Trace = dict[str, Any]

LONGEST = 10.0
"""Seconds after which a scenario counts as hung."""

RUNNERS: dict[str, Callable[[dict[str, Any]], Awaitable[Trace]]] = {
    "session": run_sessions,
    "coordinator": run_coordinator,
    "construct": run_construct,
    "timer": run_timer,
}


def run_scenario(scenario: dict[str, Any], backend: str) -> Trace:
    """Runs a scenario in an event loop of its own and returns the trace.

    A scenario that ends the event loop itself, or hangs, gives a trace without events that says so.
    """
    try:
        return anyio.run(_within_time, scenario, backend=backend)
    except BaseException as error:
        return {"events": [], "crash": f"{type(error).__name__}: {error}"}


async def _within_time(scenario: dict[str, Any]) -> Trace:
    with anyio.fail_after(LONGEST):
        return await RUNNERS[scenario.get("kind", "session")](scenario)
