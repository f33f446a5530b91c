"""C19, C20: what closing does when the block was cancelled, and when it hangs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest

import asynchooks as ah
from tests.cases.spies import CountingCreator, Spy, monitored, planned_graph, spies, steps


class Slow(Spy):
    """A spy whose close takes a few turns of the event loop, and some time."""

    async def close(self, session_end: ah.SessionEnd) -> None:
        await anyio.sleep(0.005)
        await anyio.lowlevel.checkpoint()
        await super().close(session_end)


class Hanging(Spy):
    """A spy whose method of the given name never returns."""

    def __init__(
        self,
        name: str,
        creator: CountingCreator,
        method: str,
        on_hang: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name, creator)
        self._method = method
        self._on_hang = on_hang

    async def begin(self) -> None:
        await super().begin()
        await self._hang("begin")

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        await super().after_create_session(session, coord)
        await self._hang("acs")

    async def before_run(self, run_context: ah.SessionRunContext) -> None:
        await super().before_run(run_context)
        await self._hang("before")

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        await super().after_run(run_context, run_values)
        await self._hang("after")

    async def end(self, session: ah.Session) -> None:
        await super().end(session)
        await self._hang("end")

    async def close(self, session_end: ah.SessionEnd) -> None:
        await super().close(session_end)
        await self._hang("close")

    async def _hang(self, method: str) -> None:
        if method == self._method:
            self._on_hang()
            await anyio.sleep_forever()


@pytest.mark.parametrize("deadline", [False, True])
async def test_c19_closing_work_survives_a_cancelled_scope(deadline: bool) -> None:
    """A hook's close is awaited to its end though the scope round the block was cancelled."""
    graph, _, _ = planned_graph(7)
    creator = CountingCreator()
    with anyio.fail_after(1), anyio.CancelScope() as scope:
        async with monitored(graph, creator, [Slow("K", creator), *spies("L", creator)]):
            if deadline:
                scope.deadline = anyio.current_time()
            else:
                scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert creator.log == steps(
        "K.begin L.begin K.acs(S1) L.acs(S1) S1.closed L.close(cancelled) K.close(cancelled)"
    )


ENTERING = {
    "begin": "K.begin H.begin K.close(cancelled)",
    "acs": "K.begin H.begin K.acs(S1) H.acs(S1) S1.closed H.close(cancelled) K.close(cancelled)",
}
RUNNING = {
    "before": "K.before H.before K.error(C)",
    "after": "K.before H.before K.after H.after",
}


async def cancelled_in(method: str, creator: CountingCreator) -> bool:
    """Cancels a session where its hook H hangs; returns whether the scope caught it."""
    graph, x, _ = planned_graph(7)
    with anyio.fail_after(1), anyio.CancelScope() as scope:
        hooks = [Slow("K", creator), Hanging("H", creator, method, on_hang=scope.cancel)]
        async with monitored(graph, creator, hooks) as session:
            await session.run(x)
    return scope.cancelled_caught


@pytest.mark.parametrize("method", ENTERING)
async def test_c19_cancelled_while_entering(method: str) -> None:
    """A session cancelled while it is set up closes the hooks whose begin had returned."""
    creator = CountingCreator()
    assert await cancelled_in(method, creator)
    assert creator.log == ENTERING[method].split()


@pytest.mark.parametrize("method", RUNNING)
async def test_c19_cancelled_in_a_hook_of_a_run(method: str) -> None:
    """A run cancelled in a hook is told to the hooks that wait for its end, then all is closed."""
    creator = CountingCreator()
    assert await cancelled_in(method, creator)
    cancelled = anyio.get_cancelled_exc_class().__name__
    assert creator.log == [
        *steps("K.begin H.begin K.acs(S1) H.acs(S1)"),
        *RUNNING[method].replace("(C)", f"({cancelled})").split(),
        *steps("S1.closed H.close(cancelled) K.close(cancelled)"),
    ]


async def test_c19_cancelled_in_an_op() -> None:
    """A run cancelled in an op leaves as cancellation, and closing takes the time it needs."""
    with ah.Graph().as_default() as graph:

        @ah.op
        async def cancels_itself() -> None:
            scope.cancel()
            await anyio.sleep_forever()

        x = cancels_itself()
    creator = CountingCreator()
    with anyio.fail_after(1), anyio.CancelScope() as scope:
        async with monitored(graph, creator, [Slow("K", creator)]) as session:
            await session.run(x)
    assert scope.cancelled_caught
    cancelled = anyio.get_cancelled_exc_class().__name__
    assert creator.log == steps(
        f"K.begin K.acs(S1) K.before K.error({cancelled}) S1.closed K.close(cancelled)"
    )


@pytest.mark.parametrize("error", [ah.UnavailableError, ValueError, ah.OutOfRangeError])
async def test_c19_op_that_fails_when_cancelled(error: type[Exception]) -> None:
    """An error that an op raises when it is cancelled neither repeats the run nor leaves."""
    with ah.Graph().as_default() as graph:

        @ah.op
        async def fails_when_cancelled() -> None:
            try:
                scope.cancel()
                await anyio.sleep_forever()
            finally:
                raise error("cancelled")

        x = fails_when_cancelled()
    creator = CountingCreator()
    with anyio.fail_after(1), anyio.CancelScope() as scope:
        async with monitored(graph, creator, [Slow("K", creator)]) as session:
            await session.run(x)
    assert scope.cancelled_caught
    assert creator.log[:3] == ["K.begin", "K.acs(S1)", "K.before"]
    assert creator.log[4:] == ["S1.closed", "K.close(cancelled)"]


@pytest.mark.parametrize("error", [ah.UnavailableError, ValueError, ah.OutOfRangeError])
async def test_c19_hook_that_fails_when_cancelled(error: type[Exception]) -> None:
    """An error that a hook raises when it is cancelled neither repeats the run nor leaves."""
    graph, x, plan = planned_graph(7)
    creator = CountingCreator()

    class FailsWhenCancelled(Spy):
        async def before_run(self, run_context: ah.SessionRunContext) -> None:
            try:
                scope.cancel()
                await anyio.sleep_forever()
            finally:
                raise error("cancelled")

    hooks = [Slow("K", creator), FailsWhenCancelled("A", creator)]
    with anyio.fail_after(1), anyio.CancelScope() as scope:
        async with monitored(graph, creator, hooks) as session:
            await session.run(x)
    assert scope.cancelled_caught
    assert plan.calls == 0
    assert creator.log[4] == "K.before"
    assert creator.log[6:] == steps("S1.closed A.close(cancelled) K.close(cancelled)")


async def test_c19_cancelled_in_end() -> None:
    """A cancellation that comes while the session is ending does not cut short what ends it."""
    graph, _, _ = planned_graph(7)
    creator = CountingCreator()

    class CancelsInEnd(Spy):
        async def end(self, session: ah.Session) -> None:
            scope.cancel()
            await anyio.sleep(0.005)
            await super().end(session)

    hooks = [CancelsInEnd("A", creator), Slow("K", creator)]
    with anyio.fail_after(1), anyio.CancelScope() as scope:
        async with monitored(graph, creator, hooks):
            pass
        await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert creator.log[4:7] == ["A.end(S1)", "K.end(S1)", "S1.closed"]
    assert len(creator.log) == 9


async def test_c19_cancelled_in_close_by_hand() -> None:
    """A cancellation that comes while the session is closed by hand cuts no step short."""
    graph, _, _ = planned_graph(7)
    creator = CountingCreator()
    with anyio.fail_after(1):
        async with monitored(graph, creator, [Slow("K", creator), Slow("L", creator)]) as session:
            with anyio.CancelScope() as scope:
                scope.cancel()
                await session.close()
    assert scope.cancelled_caught
    assert creator.log[2:5] == ["K.acs(S1)", "L.acs(S1)", "K.end(S1)"]
    assert [step.partition("(")[0] for step in creator.log[5:]] == [
        "L.end",
        "S1.closed",
        "L.close",
        "K.close",
    ]


async def test_c20_closing_work_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    """A close that never returns is named in a warning; the others run, and cancellation leaves."""
    graph, _, _ = planned_graph(7)
    creator = CountingCreator()
    hooks = [Spy("A", creator), Hanging("H", creator, "close"), Spy("B", creator)]
    with anyio.fail_after(1), anyio.CancelScope() as scope:
        async with monitored(graph, creator, hooks, close_timeout=0.05):
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert creator.log == steps(
        "A.begin H.begin B.begin A.acs(S1) H.acs(S1) B.acs(S1) S1.closed",
        "B.close(cancelled) H.close(cancelled) A.close(cancelled)",
    )
    assert warnings_of(caplog) == ["Hanging.close (hooks[1])"]


async def test_c20_end_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    """An end that never returns is named in a warning, and every other end and close runs."""
    graph, _, _ = planned_graph(7)
    creator = CountingCreator()
    hooks = [Hanging("H", creator, "end"), Spy("B", creator)]
    with anyio.fail_after(1):
        async with monitored(graph, creator, hooks, close_timeout=0.05):
            pass
    assert creator.log[4:7] == ["H.end(S1)", "B.end(S1)", "S1.closed"]
    assert [step.partition("(")[0] for step in creator.log[7:]] == ["B.close", "H.close"]
    assert warnings_of(caplog) == ["Hanging.end (hooks[0])"]


async def test_c20_run_error_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    """An on_run_error that never returns is named in a warning, and the others are told."""
    graph, x, _ = planned_graph(ValueError("op"))
    creator = CountingCreator()

    class HangsToldOfError(Spy):
        async def on_run_error(
            self, run_context: ah.SessionRunContext, error: BaseException
        ) -> None:
            await super().on_run_error(run_context, error)
            await anyio.sleep_forever()

    hooks = [HangsToldOfError("H", creator), Spy("B", creator)]
    with anyio.fail_after(1), pytest.raises(ValueError, match="op"):
        async with monitored(graph, creator, hooks, close_timeout=0.05) as session:
            await session.run(x)
    assert creator.log[6:] == steps(
        "H.error(ValueError) B.error(ValueError) S1.closed B.close(failed) H.close(failed)"
    )
    [warning] = [record for record in caplog.records if record.levelname == "WARNING"]
    assert "HangsToldOfError.on_run_error (hooks[0])" in warning.getMessage()


async def test_c20_resource_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    """A resource that never closes is left behind with a warning, and the hooks are closed."""

    @asynccontextmanager
    async def stubborn() -> AsyncIterator[int]:
        yield 7
        await anyio.sleep_forever()

    with ah.Graph().as_default() as graph:
        x = ah.resource(stubborn)
    creator = CountingCreator()
    hooks = spies("A", creator)
    with anyio.fail_after(1):
        async with monitored(graph, creator, hooks, close_timeout=0.05) as session:
            assert await session.run(x) == 7
    assert [step.partition("(")[0] for step in creator.log] == steps(
        "A.begin A.acs A.before A.after A.end S1.closed A.close"
    )
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Returns for each warning of the library the hook method that it names."""
    found = [record for record in caplog.records if record.levelname == "WARNING"]
    assert {record.name for record in found} == {"asynchooks"}
    hooks = [f"Hanging.{method} (hooks[{n}])" for method in ("end", "close") for n in (0, 1)]
    return [hook for record in found for hook in hooks if hook in record.getMessage()]
