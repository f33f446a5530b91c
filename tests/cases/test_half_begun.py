"""C24, C25, C26: one bad hook does not take the others down."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

import asynchooks as ah
from tests.cases.spies import CountingCreator, monitored, notes, planned_graph, spies, steps


@pytest.mark.parametrize(
    ("bad", "log"),
    [
        ("A", "A.begin"),
        ("B", "A.begin B.begin A.close(failed)"),
        ("C", "A.begin B.begin C.begin B.close(failed) A.close(failed)"),
    ],
)
async def test_c24_begin_fails_half_way(bad: str, log: str) -> None:
    """Only hooks whose begin returned are closed, and no session is made."""
    graph, _, _ = planned_graph(7)
    error = ValueError("begin")
    creator = CountingCreator()
    hooks = spies("ABC", creator, **{bad: {"begin": [error]}})
    with pytest.raises(ValueError, match="begin") as caught:
        async with monitored(graph, creator, hooks):
            pytest.fail("the block was entered")
    assert caught.value is error
    assert creator.log == log.split()
    assert creator.calls == 0
    closed = [session_end for hook in hooks for session_end in hook.session_ends]
    assert all(end.error is error and end.phase is ah.Phase.BEGIN for end in closed)


@pytest.mark.parametrize(
    ("bad", "set_up"), [("A", "A"), ("B", "AB"), ("C", "ABC")], ids=["first", "middle", "last"]
)
async def test_c25_first_set_up_fails(bad: str, set_up: str) -> None:
    """A set-up that fails closes the session once, then every hook in reverse, without end."""
    graph, _, _ = planned_graph(7)
    error = ValueError("set-up")
    creator = CountingCreator()
    hooks = spies("ABC", creator, **{bad: {"acs": [error]}})
    with pytest.raises(ValueError, match="set-up") as caught:
        async with monitored(graph, creator, hooks):
            pytest.fail("the block was entered")
    assert caught.value is error
    assert creator.log == [
        *steps("A.begin B.begin C.begin"),
        *[f"{name}.acs(S1)" for name in set_up],
        *steps("S1.closed C.close(failed) B.close(failed) A.close(failed)"),
    ]
    assert notes(error) == f"raised by Spy.after_create_session (hooks[{'ABC'.index(bad)}])"


async def test_c25_set_up_fails_during_recovery() -> None:
    """A set-up that fails for good on a later session leaves the run with its error."""
    graph, x, _ = planned_graph(ah.UnavailableError, 7)
    error = ValueError("set-up")
    creator = CountingCreator()
    hooks = spies("A", creator)

    class FailsOnSecond(ah.SessionRunHook):
        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            if creator.name_of(session) == "S2":
                raise error

    with pytest.raises(ValueError, match="set-up") as caught:
        async with monitored(graph, creator, [*hooks, FailsOnSecond()]) as session:
            await session.run(x)
    assert caught.value is error
    assert creator.log == steps(
        "A.begin A.acs(S1) A.before A.error(UnavailableError) S1.closed",
        "A.acs(S2) S2.closed A.close(failed)",
    )


async def test_c26_two_ends_fail() -> None:
    """Every end and close runs, and the errors of the ends are raised together."""
    graph, _, _ = planned_graph(7)
    first, second = ValueError("A"), KeyError("C")
    creator = CountingCreator()
    hooks = spies("ABC", creator, A={"end": [first]}, C={"end": [second]})
    with pytest.raises(ExceptionGroup) as caught:
        async with monitored(graph, creator, hooks):
            pass
    assert caught.value.exceptions == (first, second)
    assert creator.log == steps(
        "A.begin B.begin C.begin A.acs(S1) B.acs(S1) C.acs(S1)",
        "A.end(S1) B.end(S1) C.end(S1) S1.closed",
        "C.close(failed) B.close(failed) A.close(failed)",
    )


@pytest.mark.parametrize("method", ["end", "close"])
async def test_c26_one_clean_up_fails(method: str) -> None:
    """A lone error of cleaning up is raised bare, after everything else was cleaned up."""
    graph, _, _ = planned_graph(7)
    error = ValueError("B")
    creator = CountingCreator()
    with pytest.raises(ValueError, match="B") as caught:
        async with monitored(graph, creator, spies("ABC", creator, B={method: [error]})):
            pass
    assert caught.value is error
    methods = [step.partition("(")[0] for step in creator.log[6:]]
    assert methods == steps("A.end B.end C.end S1.closed C.close B.close A.close")


async def test_c26_end_and_close_fail() -> None:
    """Errors of end and of close are raised together, in the order in which they happened."""
    graph, _, _ = planned_graph(7)
    errors = {"end": [ValueError("end")], "close": [KeyError("close")]}
    creator = CountingCreator()
    with pytest.raises(ExceptionGroup) as caught:
        async with monitored(graph, creator, spies("A", creator, A=errors)):
            pass
    assert list(caught.value.exceptions) == [*errors["end"], *errors["close"]]


@asynccontextmanager
async def fails_to_close(error: Exception) -> AsyncIterator[int]:
    yield 7
    raise error


async def test_c26_end_and_resource_fail() -> None:
    """The error of closing a resource is raised with that of an `end`, and the hooks are closed."""
    errors = [ValueError("end"), KeyError("resource")]
    with ah.Graph().as_default() as graph:
        x = ah.resource(fails_to_close, errors[1])
    creator = CountingCreator()
    with pytest.raises(ExceptionGroup) as caught:
        async with monitored(graph, creator, spies("A", creator, A={"end": errors[:1]})) as session:
            assert await session.run(x) == 7
    assert list(caught.value.exceptions) == errors
    assert creator.log[-3:] == ["A.end(S1)", "S1.closed", "A.close(failed)"]


async def test_c26_error_of_the_body_stays() -> None:
    """The error of the body is the one raised; errors of cleaning up are notes on it."""
    graph, _, _ = planned_graph(7)
    error = ValueError("body")
    creator = CountingCreator()
    hooks = spies("AB", creator, A={"close": [KeyError("A's")]}, B={"close": [KeyError("B's")]})
    with pytest.raises(ValueError, match="body") as caught:
        async with monitored(graph, creator, hooks):
            raise error
    assert caught.value is error
    assert creator.log[-3:] == ["S1.closed", "B.close(failed)", "A.close(failed)"]
    assert "A's" in notes(error)
    assert "B's" in notes(error)
