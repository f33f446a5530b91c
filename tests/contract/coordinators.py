"""Scenarios of a coordinator that is used alone."""

from __future__ import annotations

from typing import Any

import anyio
from anyio.abc import TaskGroup

import asynchooks as ah
from tests.contract.actions import scripted_or_none
from tests.contract.naming import SCRIPTED, error_of, name_of, scripted
from tests.contract.workers import Workers

Step = dict[str, Any]


async def run_coordinator(scenario: dict[str, Any]) -> dict[str, Any]:
    """Runs a coordinator scenario and returns its trace."""
    clean = tuple(SCRIPTED[name] for name in scenario.get("clean_stop", ["OutOfRange"]))
    coordinator = ah.Coordinator(clean_stop_exception_types=clean)
    await coordinator.__aenter__()
    try:
        async with anyio.create_task_group() as group:
            steps = CoordinatorSteps(coordinator, group)
            events = [await steps.take(step) for step in scenario["steps"]]
            trace = {"events": events, "final": steps.final()}
            await steps.workers.let_go()
    finally:
        # Scenarios do not leave the coordinator, so what that raises is no part of them.
        await error_of(coordinator.__aexit__(None, None, None))
    return trace


class CoordinatorSteps:
    """Takes steps with one coordinator."""

    def __init__(self, coordinator: ah.Coordinator, group: TaskGroup) -> None:
        self.coordinator = coordinator
        self.group = group
        self.workers = Workers()

    async def take(self, step: Step) -> dict[str, Any]:
        """Takes one step and returns its event, with the value or the error of the step."""
        event: dict[str, Any] = {"e": step["do"]}
        try:
            value = await getattr(self, f"_{step['do']}")(step)
        except (Exception, KeyboardInterrupt, SystemExit, GeneratorExit) as error:
            return event | {"error": name_of(error)}
        await self.workers.settled(self.coordinator)
        return event if value is None else event | {"v": value}

    def final(self) -> dict[str, Any]:
        """Returns what the trace shows at the end."""
        final: dict[str, Any] = {
            "should_stop": self.coordinator.should_stop(),
            "joined": self.coordinator.joined,
        }
        if self.workers.all:
            final["workers"] = self.workers.states()
        return final

    async def _request_stop(self, step: Step) -> None:
        self.coordinator.request_stop(scripted_or_none(step))

    async def _should_stop(self, step: Step) -> bool:
        return self.coordinator.should_stop()

    async def _joined(self, step: Step) -> bool:
        return self.coordinator.joined

    async def _clear_stop(self, step: Step) -> None:
        self.coordinator.clear_stop()

    async def _raise_requested(self, step: Step) -> None:
        self.coordinator.raise_requested_exception()

    async def _wait_for_stop(self, step: Step) -> bool:
        return await self.coordinator.wait_for_stop(step.get("timeout"))

    async def _stop_on_exception(self, step: Step) -> None:
        with self.coordinator.stop_on_exception():
            if "error" in step:
                raise scripted(step["error"])

    async def _join(self, step: Step) -> None:
        ignore_live = step.get("ignore_live", False)
        await self.coordinator.join(step.get("grace", 120.0), ignore_live_tasks=ignore_live)

    async def _worker(self, step: Step) -> None:
        await self.workers.start(self.coordinator, step, self.group)

    async def _workers(self, step: Step) -> list[str]:
        return self.workers.states()

    async def _release(self, step: Step) -> None:
        await self.workers.let_go()
