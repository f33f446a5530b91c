"""C34, C43: an error leaves as it was raised, without a group round it."""

from __future__ import annotations

import anyio
import pytest

import asynchooks as ah
from tests.cases.spies import CountingCreator, monitored, notes, planned_graph, spies, steps

LEAVING = [KeyboardInterrupt, SystemExit]


@pytest.mark.parametrize("kind", LEAVING)
async def test_c34_interrupt_out_of_an_op(kind: type[BaseException]) -> None:
    """An interrupt out of an op leaves the block as itself; hooks are told and closed."""
    error = kind("op")
    graph, x, _ = planned_graph(error)
    creator = CountingCreator()
    hooks = spies("AB", creator)
    with pytest.raises(kind) as caught:
        async with monitored(graph, creator, hooks) as session:
            await session.run(x)
    assert caught.value is error
    assert creator.log == steps(
        "A.begin B.begin A.acs(S1) B.acs(S1) A.before B.before",
        f"A.error({kind.__name__}) B.error({kind.__name__})",
        "S1.closed B.close(failed) A.close(failed)",
    )
    assert [hook.session_ends[0].error for hook in hooks] == [error, error]


@pytest.mark.parametrize("kind", LEAVING)
async def test_c34_interrupt_out_of_one_of_several_ops(kind: type[BaseException]) -> None:
    """An interrupt out of an op that runs beside others cancels them and leaves as itself."""
    error, log = kind("op"), []

    @ah.op
    async def waits() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            log.append("cancelled")

    @ah.op
    async def interrupts() -> None:
        await anyio.wait_all_tasks_blocked()
        raise error

    with ah.Graph().as_default() as graph:
        fetches = [waits(), interrupts(), waits()]
    creator = CountingCreator()
    with anyio.fail_after(1), pytest.raises(kind) as caught:
        async with monitored(graph, creator, spies("A", creator)) as session:
            await session.run(fetches)
    assert caught.value is error
    assert log == ["cancelled"] * 2
    assert creator.log[-3:] == steps(f"A.error({kind.__name__}) S1.closed A.close(failed)")


HOOKS = {
    "begin": "A.begin",
    "acs": "A.begin A.acs(S1) S1.closed A.close(failed)",
    "before": "A.begin A.acs(S1) A.before S1.closed A.close(failed)",
    "after": "A.begin A.acs(S1) A.before A.after S1.closed A.close(failed)",
    "end": "A.begin A.acs(S1) A.before A.after A.end(S1) S1.closed A.close(failed)",
}


@pytest.mark.parametrize("kind", LEAVING)
@pytest.mark.parametrize("method", HOOKS)
async def test_c34_interrupt_out_of_a_hook(method: str, kind: type[BaseException]) -> None:
    """An interrupt out of any hook method leaves the block as itself, and all is closed."""
    graph, x, _ = planned_graph(7)
    error = kind(method)
    creator = CountingCreator()
    hooks = spies("A", creator, A={method: [error]})
    with anyio.fail_after(1), pytest.raises(kind) as caught:
        async with monitored(graph, creator, hooks) as session:
            await session.run(x)
    assert caught.value is error
    assert creator.log == HOOKS[method].split()


@pytest.mark.parametrize("kind", LEAVING)
async def test_c34_interrupt_out_of_the_body(kind: type[BaseException]) -> None:
    """An interrupt out of the body leaves as itself, also past a `close` that fails."""
    error = kind("body")
    creator = CountingCreator()
    hooks = spies("AB", creator, B={"close": [ValueError("close")]})
    with pytest.raises(kind) as caught:
        async with monitored(ah.Graph(), creator, hooks):
            raise error
    assert caught.value is error
    assert "ValueError: close" in notes(error)
    assert creator.log[-3:] == ["S1.closed", "B.close(failed)", "A.close(failed)"]


async def test_c34_interrupt_out_of_close() -> None:
    """An interrupt out of one close still lets the others run, and leaves as itself."""
    graph, _, _ = planned_graph(7)
    error = KeyboardInterrupt("close")
    creator = CountingCreator()
    with pytest.raises(KeyboardInterrupt) as caught:
        async with monitored(graph, creator, spies("AB", creator, B={"close": [error]})):
            pass
    assert caught.value is error
    assert creator.log[-3:] == ["S1.closed", "B.close(completed)", "A.close(completed)"]


@pytest.mark.parametrize("kind", LEAVING)
async def test_c34_interrupt_out_of_close_after_an_error(kind: type[BaseException]) -> None:
    """An interrupt out of a close leaves as itself, with the error of the body noted on it."""
    error = kind("close")
    creator = CountingCreator()
    with pytest.raises(kind) as caught:
        async with monitored(ah.Graph(), creator, spies("AB", creator, B={"close": [error]})):
            raise ValueError("body")
    assert caught.value is error
    assert "ValueError: body" in notes(error)
    assert creator.log[-3:] == ["S1.closed", "B.close(failed)", "A.close(failed)"]


async def test_c34_interrupt_is_never_recovered_from() -> None:
    """No choice of recoverable errors makes a session out of an interrupt."""
    graph, x, _ = planned_graph(KeyboardInterrupt, 7)
    creator = CountingCreator()
    recovery = ah.Recovery(on=lambda error: True)
    with pytest.raises(KeyboardInterrupt):
        async with monitored(graph, creator, recovery=recovery) as session:
            await session.run(x)
    assert creator.calls == 1


async def fail_with(*errors: Exception) -> None:
    """Raises each of `errors` in a task of one group that has two more tasks."""

    async def fail(error: Exception) -> None:
        try:
            await anyio.wait_all_tasks_blocked()
        finally:
            raise error

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.sleep_forever)
        tasks.start_soon(anyio.sleep_forever)
        for error in errors:
            tasks.start_soon(fail, error)


@pytest.mark.parametrize("depth", [1, 2, 3])
async def test_c43_single_error_comes_out_bare(depth: int) -> None:
    """The one error in the groups that an op raises is what the caller catches."""
    error = ValueError("child")

    @ah.op
    async def nested() -> None:
        try:
            await fail_with(error)
        except ExceptionGroup as group:
            for _ in range(depth - 1):
                group = ExceptionGroup("outer", [group])
            raise group from None

    with ah.Graph().as_default() as graph:
        x = nested()
    creator = CountingCreator()
    hooks = spies("A", creator)
    with anyio.fail_after(1):
        async with monitored(graph, creator, hooks) as session:
            with pytest.raises(ValueError, match="child") as caught:
                await session.run(x)
    assert caught.value is error
    assert hooks[0].run_errors == [error]
    assert "raised by op 'nested'" in notes(error)


async def test_c43_single_error_of_several_ops_comes_out_bare() -> None:
    """The one op that fails beside others that are cancelled gives the caller its bare error."""
    error = ValueError("op")

    @ah.op
    async def waits() -> None:
        await anyio.sleep_forever()

    @ah.op
    async def fails() -> None:
        await anyio.wait_all_tasks_blocked()
        raise error

    with ah.Graph().as_default() as graph:
        fetches = {"a": waits(), "b": fails(), "c": waits()}
    with anyio.fail_after(1):
        async with ah.MonitoredSession(graph) as session:
            with pytest.raises(ValueError, match="op") as caught:
                await session.run(fetches)
    assert caught.value is error
    assert notes(error) == "raised by op 'fails'"


async def test_c43_several_errors_come_out_as_a_group() -> None:
    """Two errors out of one op are raised together."""
    errors = (ValueError("one"), KeyError("two"))

    @ah.op
    async def both() -> None:
        await fail_with(*errors)

    with ah.Graph().as_default() as graph:
        x = both()
    with anyio.fail_after(1):
        async with ah.MonitoredSession(graph) as session:
            with pytest.raises(ExceptionGroup) as caught:
                await session.run(x)
    assert set(caught.value.exceptions) == set(errors)


async def test_c43_single_loss_in_a_group_is_recovered_from() -> None:
    """A recoverable error that arrives in a group is recovered from like a bare one."""
    creator = CountingCreator()

    @ah.op
    async def x() -> int:
        if creator.calls == 1:
            await fail_with(ah.UnavailableError("child"))
        return 7

    with ah.Graph().as_default() as graph:
        out = x()
    async with monitored(graph, creator) as session:
        assert await session.run(out) == 7
    assert creator.calls == 2


async def test_c43_errors_of_hooks_come_out_bare() -> None:
    """The one error in a group that a hook raises is what leaves the block."""
    error = ValueError("child")

    class Grouping(ah.SessionRunHook):
        async def before_run(self, run_context: ah.SessionRunContext) -> None:
            await fail_with(error)

    with ah.Graph().as_default() as graph:
        x = ah.constant(1)
    with anyio.fail_after(1), pytest.raises(ValueError, match="child") as caught:
        async with ah.MonitoredSession(graph, [Grouping()]) as session:
            await session.run(x)
    assert caught.value is error
