"""C05, C06, C09, C11: which errors are recovered from, and how often."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat

import anyio
import pytest
import tenacity

import asynchooks as ah
from tests.cases.spies import (
    CountingCreator,
    attempts,
    monitored,
    notes,
    planned_graph,
    spies,
    steps,
)

Lost = ah.UnavailableError


def refused(number: int) -> Lost:
    """Returns a loss with a cause."""
    error = Lost(f"attempt {number}")
    error.__cause__ = ConnectionRefusedError(number)
    return error


async def test_c05_creation_that_always_fails() -> None:
    """A session that cannot be made is given up after the attempts of the policy."""
    graph, _, plan = planned_graph(7)
    errors = [refused(n) for n in range(4)]
    creator = CountingCreator(errors)
    hooks = spies("AB", creator)
    recovery = attempts(4, wait=tenacity.wait_fixed(0.001))
    with anyio.fail_after(1), pytest.raises(ah.RecoveryError) as caught:
        async with monitored(graph, creator, hooks, recovery=recovery):
            pytest.fail("the block was entered")
    gave_up = caught.value
    assert all(kept is error for kept, error in zip(gave_up.attempts, errors, strict=True))
    assert [type(error.__cause__) for error in gave_up.attempts] == [ConnectionRefusedError] * 4
    assert gave_up.__cause__ is errors[-1]
    assert creator.log == ["A.begin", "B.begin", "B.close(gave_up)", "A.close(gave_up)"]
    assert [hook.session_ends for hook in hooks] == [
        [ah.SessionEnd(ah.EndReason.GAVE_UP, gave_up, ah.Phase.CREATE)]
    ] * 2
    assert (creator.calls, plan.calls) == (4, 0)


async def test_c05_set_up_that_always_fails() -> None:
    """A set-up that always loses the session is given up like a creation."""
    graph, _, plan = planned_graph(7)
    creator = CountingCreator()
    hooks = spies("AB", creator, B={"acs": repeat(Lost("set-up"))})
    with pytest.raises(ah.RecoveryError) as caught:
        async with monitored(graph, creator, hooks, recovery=attempts(2)):
            pytest.fail("the block was entered")
    assert [str(error) for error in caught.value.attempts] == ["set-up"] * 2
    assert creator.log == steps(
        "A.begin B.begin A.acs(S1) B.acs(S1) S1.closed A.acs(S2) B.acs(S2) S2.closed",
        "B.close(gave_up) A.close(gave_up)",
    )
    assert plan.calls == 0


async def test_c05_run_that_always_fails() -> None:
    """Sessions that are made fine and die at once are given up like those that cannot be made."""
    graph, x, plan = planned_graph(Lost)
    creator = CountingCreator()
    hooks = spies("A", creator)
    with pytest.raises(ah.RecoveryError) as caught:
        async with monitored(graph, creator, hooks, recovery=attempts(3)) as session:
            await session.run(x)
    assert len(set(map(id, caught.value.attempts))) == 3
    assert (creator.calls, plan.calls) == (3, 3)
    assert creator.log[-3:] == ["A.error(UnavailableError)", "S3.closed", "A.close(gave_up)"]
    assert hooks[0].session_ends[0].error is caught.value


async def test_c05_run_and_creation_that_fail_in_turn() -> None:
    """The loss of a run and the failure to make the next session count together."""
    graph, x, _ = planned_graph(Lost("run"))
    creator = CountingCreator(errors=[None, Lost("creation 2"), Lost("creation 3")])
    with pytest.raises(ah.RecoveryError) as caught:
        async with monitored(graph, creator, recovery=attempts(3)) as session:
            await session.run(x)
    assert [str(error) for error in caught.value.attempts] == ["run", "creation 2", "creation 3"]


async def test_c05_without_recovery_creation_fails_bare() -> None:
    """With recovery=None the first failure of creation is the error that is raised."""
    graph, _, _ = planned_graph(7)
    error = Lost("creation")
    creator = CountingCreator([error])
    hooks = spies("A", creator)
    with pytest.raises(Lost) as caught:
        async with monitored(graph, creator, hooks, recovery=None):
            pytest.fail("the block was entered")
    assert caught.value is error
    assert creator.log == ["A.begin", "A.close(failed)"]


async def test_c06_success_resets_the_count() -> None:
    """Each committed run gives the next the full number of attempts."""
    graph, x, _ = planned_graph(Lost, 0, Lost, 1, Lost, 2, Lost, 3, Lost, 4)
    creator = CountingCreator()
    async with monitored(graph, creator, recovery=attempts(2)) as session:
        assert [await session.run(x) for _ in range(5)] == [0, 1, 2, 3, 4]
    assert creator.calls == 6


async def test_c06_only_success_resets_the_count() -> None:
    """A session that is made fine, set up fine and lost at once does not reset the count."""
    graph, x, _ = planned_graph(0, Lost, Lost, 1)
    creator = CountingCreator()
    with pytest.raises(ah.RecoveryError) as caught:
        async with monitored(graph, creator, spies("A", creator), recovery=attempts(2)) as session:
            assert await session.run(x) == 0
            await session.run(x)
    assert len(caught.value.attempts) == 2
    assert creator.calls == 2


class Guard(ah.SessionRunHook):
    """A hook whose before_run always finds the session lost."""

    async def before_run(self, run_context: ah.SessionRunContext) -> None:
        raise ah.AbortedError("not ready")


async def test_c09_recoverable_error_out_of_before_run() -> None:
    """A hook that always loses the session before the run is named by the error that gives up."""
    graph, x, plan = planned_graph(7)
    creator = CountingCreator()
    hooks = [*spies("A", creator), Guard()]
    with pytest.raises(ah.RecoveryError) as caught:
        async with monitored(graph, creator, hooks, recovery=attempts(3)) as session:
            await session.run(x)
    assert [type(error) for error in caught.value.attempts] == [ah.AbortedError] * 3
    assert [notes(error) for error in caught.value.attempts] == [
        "raised by Guard.before_run (hooks[1])"
    ] * 3
    assert "Guard.before_run" in str(caught.value)
    assert (plan.calls, creator.calls) == (0, 3)
    assert creator.log.count("A.error(AbortedError)") == creator.log.count("A.before") == 3


@pytest.mark.parametrize(
    "on",
    [
        pytest.param(lambda error: isinstance(error, ConnectionError), id="predicate"),
        pytest.param((ConnectionError,), id="types"),
    ],
)
async def test_c11_what_is_recoverable_is_chosen(
    on: tuple[type[Exception], ...] | Callable[[BaseException], bool],
) -> None:
    """Only the chosen errors are recovered from; the others leave at once, bare."""
    wrong = [TimeoutError("slow"), PermissionError("no")]
    graph, x, _ = planned_graph(ConnectionResetError("reset"), *wrong)
    creator = CountingCreator()
    caught = []
    async with monitored(graph, creator, recovery=attempts(5, on=on)) as session:
        for error in wrong:
            with pytest.raises(type(error)) as raised:
                await session.run(x)
            caught.append(raised.value)
        assert creator.calls == 2
    assert [id(error) for error in caught] == [id(error) for error in wrong]


async def test_c11_default_errors_are_replaced() -> None:
    """The errors recoverable by default are not when others were chosen."""
    graph, x, _ = planned_graph(Lost)
    creator = CountingCreator()
    recovery = attempts(5, on=(ConnectionError,))
    with pytest.raises(Lost):
        async with monitored(graph, creator, recovery=recovery) as session:
            await session.run(x)
    assert creator.calls == 1


@pytest.mark.parametrize(
    ("group", "sessions"),
    [
        ([Lost("a"), ah.AbortedError("b")], 2),
        ([ExceptionGroup("inner", [Lost("a")]), Lost("b")], 2),
        ([Lost("a"), ValueError("b")], 1),
    ],
    ids=["all", "nested", "mixed"],
)
async def test_c11_groups_are_judged_by_their_leaves(group: list[Exception], sessions: int) -> None:
    """A group is recoverable if each error in it is, and leaves whole if one is not."""
    error = ExceptionGroup("several", group)
    graph, x, _ = planned_graph(error, 7)
    creator = CountingCreator()
    async with monitored(graph, creator) as session:
        if sessions == 1:
            with pytest.raises(ExceptionGroup) as caught:
                await session.run(x)
            assert caught.value is error
        else:
            assert await session.run(x) == 7
    assert creator.calls == sessions
