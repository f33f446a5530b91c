"""TimeLimitHook: a stop after a budget of time."""

from __future__ import annotations

from typing import Any

import pytest
import tenacity

import asynchooks as ah
from tests.hooks.clocks import Clock
from tests.hooks.conftest import Lines


async def runs_made(hook: ah.TimeLimitHook, clock: Clock, *durations: float) -> int:
    """Makes runs of some durations until the session should stop; returns how many."""
    left = list(durations)

    async def work() -> None:
        clock.now += left.pop(0)

    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        while left and not session.should_stop():
            await session.run(work)
    return len(durations) - len(left)


@pytest.mark.parametrize(
    ("seconds", "durations", "expected"),
    [(2, [1, 1, 1], 2), (2.5, [1, 1, 1, 1], 3), (0, [0, 0], 1), (2, [5, 1], 1), (10, [1, 1], 2)],
)
async def test_session_stops_after_its_time(
    seconds: float, durations: list[float], expected: int
) -> None:
    """The run in which the time passes is the last; one is made in any case."""
    clock = Clock()
    assert await runs_made(ah.TimeLimitHook(seconds, clock=clock), clock, *durations) == expected


async def test_stop_is_logged(lines: Lines) -> None:
    """The log says why the session stops."""
    clock = Clock()
    await runs_made(ah.TimeLimitHook(1.5, clock=clock), clock, 2)
    assert lines.texts == ["the time limit of 1.5 s has passed; a stop is requested"]


async def test_second_session_has_its_own_time() -> None:
    """A second session with the same hook gets the whole time again."""
    clock = Clock()
    hook = ah.TimeLimitHook(2, clock=clock)
    assert [await runs_made(hook, clock, 1, 1, 1) for _ in range(2)] == [2, 2]


async def test_time_goes_on_through_a_recovery() -> None:
    """What is lost has cost its time all the same."""
    clock = Clock()
    planned = [ah.AbortedError("lost"), None, None]

    async def work() -> None:
        clock.now += 1
        if error := planned.pop(0):
            raise error

    recovery = ah.Recovery(wait=tenacity.wait_none())
    hook = ah.TimeLimitHook(2, clock=clock)
    async with ah.MonitoredSession(ah.Graph(), [hook], recovery=recovery) as session:
        await session.run(work)
        assert session.should_stop()
    assert planned == [None]


@pytest.mark.parametrize(
    ("seconds", "options", "error", "message"),
    [
        (-1, {}, ValueError, "seconds is to be a number of seconds from 0, not -1"),
        (float("inf"), {}, ValueError, "seconds is to be a number of seconds from 0, not inf"),
        ("1", {}, TypeError, "seconds is to be a number of seconds, not '1'"),
        (1, {"clock": 3}, TypeError, "clock is to be a function that tells seconds, not 3"),
    ],
)
def test_bad_arguments_are_refused(
    seconds: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The message names what is wrong and what was expected."""
    with pytest.raises(error, match=message):
        ah.TimeLimitHook(seconds, **options)
