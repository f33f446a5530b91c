"""C10: an error out of after_run comes too late to undo or repeat the run."""

from __future__ import annotations

import pytest

import asynchooks as ah
from tests.cases.spies import CountingCreator, monitored, spies, steps


def counting_graph() -> tuple[ah.Graph, ah.Variable[int], ah.Op[int], list[int]]:
    """Returns a graph, its counter, an op that adds one, and the calls of that op."""
    calls: list[int] = []

    @ah.op
    async def one() -> int:
        calls.append(1)
        return 1

    with ah.Graph().as_default() as graph:
        counter = ah.Variable(0, name="counter")
        return graph, counter, counter.assign_add(one()), calls


@pytest.mark.parametrize("loss", [ah.UnavailableError, ah.AbortedError])
async def test_c10_recoverable_error_does_not_repeat_the_run(loss: type[Exception]) -> None:
    """The run stays done, its caller gets the error, and the next run has a new session."""
    graph, counter, add, calls = counting_graph()
    error = loss("late")
    creator = CountingCreator()
    hooks = spies("A", creator, A={"after": [error]})
    async with monitored(graph, creator, hooks) as session:
        with pytest.raises(loss) as caught:
            await session.run(add)
        assert len(calls) == 1
        assert await session.run([counter, add]) == [1, 2]
    assert caught.value is error
    assert len(calls) == 2
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.after S1.closed",
        "A.acs(S2) A.before A.after A.end(S2) S2.closed A.close(completed)",
    )


async def test_c10_other_error_leaves_the_session_in_place() -> None:
    """An error that is not recoverable is raised to the caller, and the session goes on."""
    graph, counter, add, calls = counting_graph()
    error = ValueError("late")
    creator = CountingCreator()
    hooks = spies("A", creator, A={"after": [error]})
    async with monitored(graph, creator, hooks) as session:
        with pytest.raises(ValueError, match="late") as caught:
            await session.run(add)
        assert await session.run([counter, add]) == [1, 2]
    assert caught.value is error
    assert (len(calls), creator.calls) == (2, 1)


async def test_c10_each_hook_gets_one_of_two() -> None:
    """Hooks that the error of another's after_run keeps from theirs are told of that error."""
    graph, _, add, _ = counting_graph()
    error = ah.UnavailableError("late")
    creator = CountingCreator()
    hooks = spies("ABC", creator, B={"after": [error]})
    async with monitored(graph, creator, hooks) as session:
        with pytest.raises(ah.UnavailableError):
            await session.run(add)
    run = [step for step in creator.log if step.partition(".")[2][:5] in {"after", "error"}]
    assert run == ["A.after", "B.after", "C.error(UnavailableError)"]
    assert hooks[2].run_errors == [error]


async def test_c10_without_recovery() -> None:
    """With recovery=None the error leaves the block and the session is closed."""
    graph, _, add, calls = counting_graph()
    creator = CountingCreator()
    hooks = spies("A", creator, A={"after": [ah.UnavailableError("late")]})
    with pytest.raises(ah.UnavailableError, match="late"):
        async with monitored(graph, creator, hooks, recovery=None) as session:
            await session.run(add)
    assert (len(calls), creator.calls) == (1, 1)
    assert creator.log[-2:] == ["S1.closed", "A.close(failed)"]
