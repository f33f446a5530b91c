"""One trivial async op a step: with our session and hooks, and by hand."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.util import find_spec

import anyio.lowlevel

import asynchooks as ah
from tests.benchmarks import proof
from tests.benchmarks.hooks import Absent, Asking, ByHand, Quiet
from tests.benchmarks.measuring import Contender

VALUE = 1


async def trivial() -> int:
    """Is what a step does."""
    return VALUE


@asynccontextmanager
async def steps(loop: str) -> AsyncGenerator[list[Contender]]:
    """Sets up all ways to do a step."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        ours = [
            await enter(_ours("ours, 0 hooks", [])),
            await enter(_ours("ours, no recovery", [], recovery=None)),
            await enter(_ours("ours, 10 absent", [Absent() for _ in range(10)])),
            *[await enter(_ours(f"ours, {k} hooks", _quiet(k))) for k in (1, 10)],
            await enter(_asking("ours, 10 fetches", own_ops=False)),
            await enter(_asking("ours, 10 own fetches", own_ops=True)),
        ]
        yield [
            bare("by hand"),
            bare("by hand again"),
            _check(),
            *map(by_hand, (0, 1, 10)),
            *ours,
        ] + ([_pluggy(10)] if find_spec("pluggy") else [])


@asynccontextmanager
async def hooked(counts: Iterable[int], loop: str) -> AsyncGenerator[list[Contender]]:
    """Sets up steps with some numbers of hooks, ours and by hand."""
    async with AsyncExitStack() as stack:
        yield [
            each
            for k in counts
            for each in (
                by_hand(k),
                await stack.enter_async_context(_ours(f"ours, {k} hooks", _quiet(k))),
            )
        ]


def bare(name: str) -> Contender:
    """Returns the loop that awaits the op and nothing else."""

    async def work(count: int) -> object:
        value = None
        for _ in range(count):
            value = await trivial()
        return value

    return Contender(name, work, partial(proof.calls, name, trivial, 3, partial(work, 3)))


def by_hand(hook_count: int) -> Contender:
    """Returns the loop that awaits hooks around the op."""
    name = f"by hand, {hook_count} hooks"
    hooks = [ByHand() for _ in range(hook_count)]

    async def work(count: int) -> object:
        value = None
        for _ in range(count):
            for hook in hooks:
                await hook.before_run(None)
            value = await trivial()
            for hook in hooks:
                await hook.after_run(None, value)
        return value

    return Contender(name, work, partial(_both_called, name, ByHand, hook_count, partial(work, 1)))


def _check() -> Contender:
    async def work(count: int) -> None:
        check = anyio.lowlevel.checkpoint_if_cancelled
        for _ in range(count):
            await check()

    return Contender("the check", work)


@asynccontextmanager
async def _ours(
    name: str,
    hooks: Sequence[ah.SessionRunHook],
    recovery: ah.Recovery | None = ah.Recovery(),  # noqa: B008 (it is frozen)
) -> AsyncGenerator[Contender]:
    with ah.Graph().as_default() as graph:
        op = ah.op(trivial)()
    async with ah.MonitoredSession(graph, hooks=hooks, recovery=recovery) as session:
        work = runs(session, op)
        quiet = sum(isinstance(hook, Quiet) for hook in hooks)
        yield Contender(name, work, partial(_both_called, name, Quiet, quiet, partial(work, 1)))


@asynccontextmanager
async def _asking(name: str, *, own_ops: bool) -> AsyncGenerator[Contender]:
    with ah.Graph().as_default() as graph:
        op = ah.op(trivial)()
        hooks = [Asking(ah.op(trivial)() if own_ops else op) for _ in range(10)]
    async with ah.MonitoredSession(graph, hooks=hooks) as session:
        work = runs(session, op)

        async def check() -> None:
            evaluated = 11 if own_ops else 1
            await proof.calls(name, trivial, evaluated, partial(work, 1))
            await proof.calls(name, Asking.after_run, 10, partial(work, 1))
            results = [hook.result for hook in hooks]
            assert results == [VALUE] * 10, f"hooks of {name} were given {results}"

        yield Contender(name, work, check)


def runs(session: ah.MonitoredSession, op: ah.Op[int]) -> Callable[[int], Awaitable[object]]:
    """Returns the loop that runs an op on a session."""

    async def work(count: int) -> object:
        run, value = session.run, None
        for _ in range(count):
            value = await run(op)
        return value

    return work


def _pluggy(plugin_count: int) -> Contender:
    import pluggy

    marked = pluggy.HookimplMarker("steps")

    class Plugin:
        @marked
        async def before_run(self, context: object) -> None:
            """Does nothing."""

        @marked
        async def after_run(self, context: object, values: object) -> None:
            """Does nothing."""

    manager = pluggy.PluginManager("steps")
    for _ in range(plugin_count):
        manager.register(Plugin())

    async def work(count: int) -> object:
        hook, value = manager.hook, None
        for _ in range(count):
            for call in hook.before_run(context=None):
                await call
            value = await trivial()
            for call in hook.after_run(context=None, values=value):
                await call
        return value

    check = partial(_both_called, "pluggy", Plugin, plugin_count, partial(work, 1))
    return Contender("pluggy", work, check)


async def _both_called(
    name: str, kind: type[object], count: int, work: Callable[[], Awaitable[object]]
) -> None:
    await proof.gives(name, VALUE, work)
    await proof.calls(name, trivial, 1, work)
    for method in ("before_run", "after_run"):
        await proof.calls(name, getattr(kind, method), count, work)


def _quiet(count: int) -> list[ah.SessionRunHook]:
    return [Quiet() for _ in range(count)]
