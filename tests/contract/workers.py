"""Background activities that are registered with a coordinator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import TaskGroup

import asynchooks as ah
from tests.contract.naming import error_of, scripted

ENDS_BY_ITSELF = {"finish", "fail", "stop"}
LONGEST = 2.0


@dataclass
class Worker:
    """One background activity."""

    mode: str
    error: dict[str, Any] | None
    coordinator: ah.Coordinator
    generation: int
    release: anyio.Event
    ended: anyio.Event = field(default_factory=anyio.Event)

    @property
    def state(self) -> str:
        """Whether it is over."""
        return "exited" if self.ended.is_set() else "alive"

    async def work(self) -> None:
        """Does what its mode says."""
        try:
            await getattr(self, f"_{self.mode}")()
        finally:
            self.ended.set()

    async def _finish(self) -> None:
        pass

    async def _fail(self) -> None:
        assert self.error is not None
        with self.coordinator.stop_on_exception():
            raise scripted(self.error)

    async def _stop(self) -> None:
        self.coordinator.request_stop()

    async def _loop(self) -> None:
        await self.coordinator.wait_for_stop()

    async def _stuck(self) -> None:
        await self.release.wait()


class Workers:
    """All background activities of a scenario, in the order in which they were started.

    Attributes:
        generation: the number of the raw session that the next ones belong to.
    """

    def __init__(self) -> None:
        self.all: list[Worker] = []
        self.generation = -1
        self._release = anyio.Event()

    async def start(
        self, coordinator: ah.Coordinator, spec: dict[str, Any], group: TaskGroup | None = None
    ) -> None:
        """Starts one with the coordinator, or in `group` if it is not to be registered.

        Comes back when it has ended, if it is one that ends by itself.
        """
        mode, error = spec["mode"], spec.get("error")
        worker = Worker(mode, error, coordinator, self.generation, self._release)
        self.all.append(worker)
        if group is not None and not spec.get("register", True):
            # Nobody is told how it ends, just as nobody is of a thread.
            group.start_soon(error_of, worker.work())
        else:
            coordinator.start_soon(worker.work)
        if worker.mode in ENDS_BY_ITSELF:
            await _over(worker)
            await self.settled(coordinator)

    async def settled(self, coordinator: ah.Coordinator) -> None:
        """Waits until those that look out for a stop have seen it."""
        if not coordinator.should_stop():
            return
        for worker in self.all:
            if worker.coordinator is coordinator and worker.mode == "loop":
                await _over(worker)

    async def let_go(self) -> None:
        """Ends those that ignore every stop."""
        self._release.set()
        for worker in self.all:
            if worker.mode == "stuck":
                await _over(worker)

    def states(self) -> list[str]:
        """Returns the state of each."""
        return [worker.state for worker in self.all]

    def alive(self, generation: int) -> int:
        """Counts those of a generation that are not over."""
        states = [worker.state for worker in self.all if worker.generation == generation]
        return states.count("alive")


async def _over(worker: Worker) -> None:
    # The one who waits stands for the program, which nothing can interrupt here.
    with anyio.move_on_after(LONGEST, shield=True):
        await worker.ended.wait()
