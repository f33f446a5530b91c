"""C07, C19, C32: `Task.cancel()` is a cancellation, whoever meets it first."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

import asynchooks as ah
from tests.cases.spies import (
    CountingCreator,
    LongWait,
    Spy,
    attempts,
    monitored,
    planned_graph,
    spies,
    steps,
)

pytestmark = pytest.mark.asyncio


async def cancelled(task: asyncio.Task[None]) -> bool:
    """Waits for a task, a second at most; tells whether it ended as cancelled."""
    await asyncio.wait([task], timeout=1)
    return task.cancelled()


async def test_c32_op_that_swallows_the_cancel() -> None:
    """An op that answers a cancel with a value does not keep the loop of runs alive."""
    calls, started = [], asyncio.Event()
    with ah.Graph().as_default() as graph:

        @ah.op
        async def stubborn() -> int:
            calls.append(1)
            started.set()
            try:
                await asyncio.sleep(2)
            except asyncio.CancelledError:
                return 5
            return 0

        x = stubborn()
    creator = CountingCreator()

    async def main() -> None:
        async with monitored(graph, creator, spies("A", creator)) as session:
            for _ in range(3):
                await session.run(x)

    task = asyncio.create_task(main())
    await started.wait()
    task.cancel()
    assert await cancelled(task)
    assert calls == [1]
    assert creator.log.count("A.before") == 1
    assert sum(step.startswith(("A.after", "A.error")) for step in creator.log) == 1
    assert creator.log[-2:] == ["S1.closed", "A.close(cancelled)"]
    assert not any("end" in step for step in creator.log)


async def test_c32_one_of_several_ops_swallows_the_cancel() -> None:
    """A cancel that one of two concurrent ops swallows still ends the run as cancelled."""
    started = asyncio.Semaphore(0)

    @ah.op
    async def stubborn() -> int:
        started.release()
        try:
            await asyncio.sleep(2)
        except asyncio.CancelledError:
            return 5
        return 0

    @ah.op
    async def meek() -> None:
        started.release()
        await asyncio.sleep(2)

    with ah.Graph().as_default() as graph:
        fetches = [stubborn(), meek()]
    creator = CountingCreator()

    async def main() -> None:
        async with monitored(graph, creator, spies("A", creator)) as session:
            for _ in range(3):
                await session.run(fetches)

    task = asyncio.create_task(main())
    for _ in fetches:
        await started.acquire()
    task.cancel()
    assert await cancelled(task)
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.error(CancelledError) S1.closed A.close(cancelled)"
    )


class Stubborn(Spy):
    """A spy that waits in one of its run methods, and answers a cancel by returning."""

    def __init__(self, name: str, creator: CountingCreator, method: str) -> None:
        super().__init__(name, creator)
        self.waiting = asyncio.Event()
        self._method = method

    async def before_run(self, run_context: ah.SessionRunContext) -> None:
        await super().before_run(run_context)
        await self._swallow("before")

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        await super().after_run(run_context, run_values)
        await self._swallow("after")

    async def _swallow(self, method: str) -> None:
        if method == self._method:
            self.waiting.set()
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(2)


SWALLOWED = {"before": "A.before A.error(CancelledError)", "after": "A.before A.after"}


@pytest.mark.parametrize("method", SWALLOWED)
async def test_c32_hook_that_swallows_the_cancel(method: str) -> None:
    """A cancel that a hook swallows ends the run that it came in as cancelled, and the loop."""
    graph, x, _ = planned_graph(7)
    creator = CountingCreator()
    hook = Stubborn("A", creator, method)

    async def main() -> None:
        async with monitored(graph, creator, [hook]) as session:
            for _ in range(3):
                await session.run(x)

    task = asyncio.create_task(main())
    await hook.waiting.wait()
    task.cancel()
    assert await cancelled(task)
    assert creator.log == steps(
        f"A.begin A.acs(S1) {SWALLOWED[method]} S1.closed A.close(cancelled)"
    )


async def test_c32_step_function_that_swallows_the_cancel() -> None:
    """A cancel that a step function swallows ends it as cancelled, and the loop."""
    calls, waiting = [], asyncio.Event()
    creator = CountingCreator()

    async def step(context: ah.StepContext) -> None:
        calls.append(1)
        waiting.set()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(2)

    async def main() -> None:
        async with monitored(ah.Graph(), creator, spies("A", creator)) as session:
            for _ in range(3):
                await session.run_step_fn(step)

    task = asyncio.create_task(main())
    await waiting.wait()
    task.cancel()
    assert await cancelled(task)
    assert calls == [1]
    assert creator.log == steps("A.begin A.acs(S1) S1.closed A.close(cancelled)")


async def test_c32_run_that_never_suspends() -> None:
    """A loop of runs in which nothing suspends still meets a cancel."""
    graph, x, _ = planned_graph(7)

    async def main() -> None:
        async with monitored(graph, CountingCreator()) as session:
            while True:
                await session.run(x)

    task = asyncio.create_task(main())
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    assert await cancelled(task)


async def test_c07_native_cancel_ends_the_wait() -> None:
    """A task cancelled during a back-off ends as cancelled, and nothing is made anew."""
    graph, x, _ = planned_graph(ah.UnavailableError, 7)
    creator, wait = CountingCreator(), LongWait()

    async def main() -> None:
        hooks = spies("A", creator)
        async with monitored(graph, creator, hooks, recovery=attempts(5, wait)) as session:
            await session.run(x)

    task = asyncio.create_task(main())
    await wait.begun.wait()
    task.cancel()
    assert await cancelled(task)
    assert creator.log == [
        *steps("A.begin A.acs(S1) A.before A.error(UnavailableError) S1.closed"),
        "A.close(cancelled)",
    ]


@pytest.mark.parametrize(("cancels", "closed"), [(1, "BKA"), (2, "BA")])
async def test_c19_native_cancel_and_slow_closing(cancels: int, closed: str) -> None:
    """A cancelled task closes every hook; a second cancel breaks off one close, not the others."""
    graph, _, _ = planned_graph(7)
    creator, entered, closing = CountingCreator(), asyncio.Event(), asyncio.Event()

    class Slow(Spy):
        async def close(self, session_end: ah.SessionEnd) -> None:
            closing.set()
            await asyncio.sleep(0.005)
            await super().close(session_end)

    async def main() -> None:
        hooks = [Spy("A", creator), Slow("K", creator), Spy("B", creator)]
        async with monitored(graph, creator, hooks):
            entered.set()
            await asyncio.sleep(2)

    task = asyncio.create_task(main())
    await entered.wait()
    task.cancel()
    if cancels == 2:
        await closing.wait()
        task.cancel()
    assert await cancelled(task)
    assert creator.log[6:] == ["S1.closed", *[f"{name}.close(cancelled)" for name in closed]]
