"""One attempt of one run: what hooks ask for, what they get, and who is told of what."""

from __future__ import annotations

import contextlib
from typing import Any

import anyio
import pytest

import asynchooks as ah


class A(ah.SessionRunHook):
    """Logs what it is told, asks for `asks`, and raises the errors that are planned for it."""

    def __init__(self, log: list[str], asks: Any = None, **errors: BaseException) -> None:
        self.log = log
        self.asks = asks
        self.errors = errors

    async def before_run(self, run_context: ah.SessionRunContext) -> Any:
        self.note("before_run")
        return self.asks

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        self.note("after_run", run_values.results)

    async def on_run_error(self, run_context: ah.SessionRunContext, error: BaseException) -> None:
        self.note("on_run_error", type(error).__name__)

    def note(self, method: str, detail: Any = None) -> None:
        shown = "" if detail is None else f"({detail})"
        self.log.append(f"{type(self).__name__}.{method}{shown}")
        if method in self.errors:
            raise self.errors[method]


class B(A):
    """Another one."""


class C(A):
    """And another one."""


async def fail() -> None:
    raise ValueError("op")


async def run(hooks: list[ah.SessionRunHook], fetches: Any = ()) -> BaseException | None:
    """Makes a run; returns the error that leaves it, if any."""
    async with ah.MonitoredSession(ah.Graph(), hooks) as session:
        try:
            await session.run(fetches)
        except Exception as error:
            return error
    return None


BEFORE = "A.before_run B.before_run C.before_run "
TOLD = "A.on_run_error(ValueError) B.on_run_error(ValueError) C.on_run_error(ValueError)"
PAIRS: list[tuple[dict[str, BaseException], Any, str]] = [
    ({}, (), BEFORE + "A.after_run B.after_run C.after_run"),
    ({}, fail, BEFORE + TOLD),
    ({"before_run": KeyError("B")}, (), "A.before_run B.before_run A.on_run_error(KeyError)"),
    ({"after_run": KeyError("B")}, (), BEFORE + "A.after_run B.after_run C.on_run_error(KeyError)"),
    ({"on_run_error": KeyError("B")}, fail, BEFORE + TOLD),
]


@pytest.mark.parametrize(("errors", "fetches", "story"), PAIRS)
async def test_each_before_run_is_answered_once(
    errors: dict[str, BaseException], fetches: Any, story: str
) -> None:
    """Each hook whose before_run returned is told the outcome by exactly one of two methods."""
    log: list[str] = []
    error = await run([A(log), B(log, **errors), C(log)], fetches)
    assert " ".join(log) == story
    assert (error is None) == (not errors and not fetches)


async def test_hooks_that_override_one_method_only() -> None:
    """A hook may look at outcomes without before_run, and ask without looking at them."""
    log: list[str] = []

    class OnlyBefore(ah.SessionRunHook):
        async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs:
            log.append("before_run")
            return ah.SessionRunArgs(lambda: log.append("asked"))

    class OnlyAfter(ah.SessionRunHook):
        async def after_run(
            self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
        ) -> None:
            log.append(f"after_run {run_values.results}")

    class OnlyError(ah.SessionRunHook):
        async def on_run_error(
            self, run_context: ah.SessionRunContext, error: BaseException
        ) -> None:
            log.append(f"on_run_error {error}")

    hooks = [OnlyBefore(), OnlyAfter(), OnlyError()]
    assert await run(hooks) is None
    assert log == ["before_run", "asked", "after_run None"]
    log.clear()
    assert repr(await run(hooks, fail)) == "ValueError('op')"
    assert log == ["before_run", "on_run_error op"]


async def test_cancelled_run_is_told_to_its_hooks() -> None:
    """A run that is cancelled is an outcome too, told in a shielded call."""
    log: list[str] = []

    class Waits(A):
        async def on_run_error(
            self, run_context: ah.SessionRunContext, error: BaseException
        ) -> None:
            await anyio.sleep(0.001)
            log.append(f"told of {isinstance(error, anyio.get_cancelled_exc_class())}")

    async with ah.MonitoredSession(ah.Graph(), [Waits(log)]) as session:
        with anyio.move_on_after(0.005) as scope:
            await session.run(anyio.sleep_forever)
        assert scope.cancelled_caught
        await session.run([])
    assert log == ["Waits.before_run", "told of True", "Waits.before_run", "Waits.after_run"]


async def test_on_run_error_that_hangs_is_cut_short(caplog: pytest.LogCaptureFixture) -> None:
    """A hook that never returns from on_run_error is named in a warning; the others are told."""
    log: list[str] = []

    class Hangs(A):
        async def on_run_error(
            self, run_context: ah.SessionRunContext, error: BaseException
        ) -> None:
            await anyio.sleep_forever()

    hooks = [Hangs(log), B(log)]
    async with ah.MonitoredSession(ah.Graph(), hooks, close_timeout=0.005) as session:
        with pytest.raises(ValueError, match="op"):
            await session.run(fail)
    assert log == ["Hangs.before_run", "B.before_run", "B.on_run_error(ValueError)"]
    assert "Hangs.on_run_error (hooks[0]) did not finish within 0.005 s" in caplog.text


async def test_hooks_get_what_they_asked_for() -> None:
    """Each hook gets the results of its own fetches; the caller those of its own."""
    log: list[str] = []
    with ah.Graph().as_default() as graph:
        x, p = ah.constant("x", "x"), ah.placeholder("p")
    asks = [
        ah.SessionRunArgs({"x": [x]}),
        ah.SessionRunArgs(feed_dict={p: "fed"}),
        ah.SessionRunArgs("p"),
    ]
    hooks = [kind(log, ask) for kind, ask in zip((A, B, C), asks, strict=True)]
    async with ah.MonitoredSession(graph, hooks) as session:
        assert await session.run((x, p)) == ("x", "fed")
    assert log[3:] == ["A.after_run({'x': ['x']})", "B.after_run", "C.after_run(fed)"]


async def test_original_args_are_what_the_caller_asked_for() -> None:
    """Hooks see fetches, feeds and options of the caller, not of each other."""
    seen: list[ah.SessionRunArgs] = []

    class Sees(A):
        async def before_run(self, run_context: ah.SessionRunContext) -> Any:
            seen.append(run_context.original_args)
            return ah.SessionRunArgs([], {p: 1}, ah.RunOptions(timeout=9))

    with ah.Graph().as_default() as graph:
        p, q = ah.placeholder("p"), ah.placeholder("q")
    options = ah.RunOptions(timeout=5)
    async with ah.MonitoredSession(graph, [Sees([])]) as session:
        await session.run([p, q], {q: 2}, options)
        await session.run(p)
    assert seen == [ah.SessionRunArgs([p, q], {q: 2}, options), ah.SessionRunArgs(p, None, None)]


async def test_state_is_the_runs_own() -> None:
    """What a hook keeps on the context is there in after_run, and not in another run."""
    seen: list[Any] = []

    class Keeps(ah.SessionRunHook):
        async def before_run(self, run_context: ah.SessionRunContext) -> None:
            seen.append(dict(run_context.state))
            run_context.state[self] = len(seen)

        async def after_run(
            self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
        ) -> None:
            seen.append(run_context.state[self])

    async with ah.MonitoredSession(ah.Graph(), [Keeps()]) as session:
        await session.run([])
        await session.run([])
    assert seen == [{}, 1, {}, 3]


async def test_stop_on_a_run_context() -> None:
    """A stop asked for on one context is known there at once, and to the session."""
    seen: list[bool] = []

    class Stops(ah.SessionRunHook):
        async def before_run(self, run_context: ah.SessionRunContext) -> None:
            seen.append(run_context.stop_requested)
            run_context.request_stop()
            seen.append(run_context.stop_requested)

        async def after_run(
            self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
        ) -> None:
            seen.append(run_context.stop_requested)

    async with ah.MonitoredSession(ah.Graph(), [Stops()]) as session:
        assert await session.run([lambda: 7]) == [7]
        assert session.should_stop()
    assert seen == [False, True, True]


async def test_timeout_of_a_hook_bounds_the_run() -> None:
    """A hook can give a run a timeout; the larger of two counts."""
    log: list[str] = []
    hook = A(log, ah.SessionRunArgs(options=ah.RunOptions(timeout=0.005)))
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        with pytest.raises(ah.DeadlineExceededError, match=r"0\.005 s"):
            await session.run(anyio.sleep_forever)
        options = ah.RunOptions(timeout=5)
        assert await session.run([lambda: 7], options=options) == [7]
    assert "A.on_run_error(DeadlineExceededError)" in log


class Stubborn(ah.SessionRunHook):
    """Swallows the cancellation that meets it in one of its methods."""

    def __init__(self, method: str) -> None:
        self.method = method

    async def before_run(self, run_context: ah.SessionRunContext) -> None:
        await self.wait("before_run")

    async def after_run(self, run_context: Any, run_values: Any) -> None:
        await self.wait("after_run")

    async def wait(self, method: str) -> None:
        if method == self.method:
            with contextlib.suppress(anyio.get_cancelled_exc_class()):
                await anyio.sleep_forever()


@pytest.mark.parametrize(("method", "result"), [("before_run", None), ("after_run", 7)])
async def test_swallowed_cancellation_stays_with_its_scope(method: str, result: object) -> None:
    """What a hook swallows of a cancelled scope never leaves that scope as another cancellation."""
    got = None
    with ah.Graph().as_default() as graph:
        seven = ah.constant(7)
    async with ah.MonitoredSession(graph, [Stubborn(method)]) as session:
        with anyio.move_on_after(0.01) as scope:
            got = await session.run(seven)
    assert (got, scope.cancel_called) == (result, True)
