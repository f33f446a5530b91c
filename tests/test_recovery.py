"""Recovery's policy: which errors, how many attempts, how long between them."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
import tenacity

import asynchooks as ah
from asynchooks._recovery import Streak

A, U = ah.AbortedError, ah.UnavailableError


def is_dead(error: BaseException) -> bool:
    """Tells a dead connection by its text, as predicates for clients do."""
    return "dead" in str(error)


POLICIES: dict[str, tuple[Any, BaseException, bool]] = {
    "aborted": (ah.Recovery(), A("x"), True),
    "unavailable": (ah.Recovery(), U("x"), True),
    "another error": (ah.Recovery(), ValueError("x"), False),
    "a deadline": (ah.Recovery(), ah.DeadlineExceededError(1), False),
    "the end": (ah.Recovery(), ah.OutOfRangeError("x"), False),
    "a group of losses": (ah.Recovery(), ExceptionGroup("x", [A("x"), U("y")]), True),
    "nested groups": (ah.Recovery(), ExceptionGroup("x", [ExceptionGroup("y", [A("x")])]), True),
    "a mixed group": (ah.Recovery(), ExceptionGroup("x", [A("x"), ValueError("y")]), False),
    "a group with an interrupt": (
        ah.Recovery(on=lambda error: True),
        BaseExceptionGroup("x", [A("x"), KeyboardInterrupt()]),
        False,
    ),
    "a class": (ah.Recovery(on=OSError), ConnectionResetError("x"), True),
    "not of the class": (ah.Recovery(on=OSError), A("x"), False),
    "one of several classes": (ah.Recovery(on=(A, KeyError)), KeyError("x"), True),
    "a predicate that holds": (ah.Recovery(on=is_dead), ValueError("dead"), True),
    "a predicate that does not": (ah.Recovery(on=is_dead), ValueError("alive"), False),
    "a predicate on each leaf": (
        ah.Recovery(on=is_dead),
        ExceptionGroup("alive", [ValueError("dead"), KeyError("dead")]),
        True,
    ),
    "an interrupt": (ah.Recovery(on=BaseException), KeyboardInterrupt(), False),
    "an exit": (ah.Recovery(on=lambda error: True), SystemExit(), False),
    "a cancellation": (ah.Recovery(on=BaseException), asyncio.CancelledError(), False),
}


@pytest.mark.parametrize(("recovery", "error", "recovers"), POLICIES.values(), ids=POLICIES)
def test_errors_that_are_recovered_from(
    recovery: ah.Recovery, error: BaseException, recovers: bool
) -> None:
    """Classes and predicates are asked of each leaf of an error, and never of an interrupt."""
    assert recovery.recovers(error) is recovers


async def attempts_of(recovery: ah.Recovery) -> ah.RecoveryError:
    """Lets recovery give up on an op that always fails, and returns the error."""
    count = 0

    async def fails() -> None:
        nonlocal count
        count += 1
        raise A(f"attempt {count}")

    with pytest.raises(ah.RecoveryError) as caught:
        async with ah.MonitoredSession(ah.Graph(), recovery=recovery) as session:
            await session.run(fails)
    assert count == len(caught.value.attempts)
    return caught.value


@pytest.mark.parametrize("number", [1, 2, 5])
async def test_attempts_are_counted_as_tenacity_does(number: int) -> None:
    """`stop_after_attempt(n)` allows n generations; all of their errors are kept, in order."""
    stop = tenacity.stop_after_attempt(number)
    error = await attempts_of(ah.Recovery(stop=stop, wait=tenacity.wait_none()))
    assert [str(each) for each in error.attempts] == [f"attempt {n + 1}" for n in range(number)]
    assert error.__cause__ is error.attempts[-1]


async def test_strategies_see_the_state_that_tenacity_defines() -> None:
    """Stop and wait get attempt number, outcome, times and the sleep that is next."""
    states: list[tuple[str, int, str, bool, float]] = []

    def note(kind: str, state: tenacity.RetryCallState) -> None:
        assert state.outcome is not None
        passed = (state.seconds_since_start or 0.0) >= 0
        sleep = float(state.upcoming_sleep)
        states.append((kind, state.attempt_number, str(state.outcome.exception()), passed, sleep))

    def stop(state: tenacity.RetryCallState) -> bool:
        note("stop", state)
        return state.attempt_number == 2

    def wait(state: tenacity.RetryCallState) -> float:
        note("wait", state)
        return 0.001 * state.attempt_number

    await attempts_of(ah.Recovery(stop=stop, wait=wait))
    assert states == [
        ("wait", 1, "attempt 1", True, 0.0),
        ("stop", 1, "attempt 1", True, 0.001),
        ("wait", 2, "attempt 2", True, 0.0),
        ("stop", 2, "attempt 2", True, 0.002),
    ]


STRATEGIES: dict[str, Any] = {
    "delay": tenacity.stop_after_delay(0.004),
    "before delay": tenacity.stop_before_delay(0.004),
    "either": tenacity.stop_after_delay(60) | tenacity.stop_after_attempt(3),
    "both": tenacity.stop_after_delay(0) & tenacity.stop_after_attempt(3),
}


@pytest.mark.parametrize("stop", STRATEGIES.values(), ids=STRATEGIES)
async def test_any_stop_of_tenacity_ends_recovery(stop: Any) -> None:
    """Stops by time and combined ones work as they do in tenacity."""
    error = await attempts_of(ah.Recovery(stop=stop, wait=tenacity.wait_fixed(0.001)))
    assert 2 <= len(error.attempts) <= 6


WAITS: dict[str, Any] = {
    "none": tenacity.wait_none(),
    "fixed": tenacity.wait_fixed(0.001),
    "exponential": tenacity.wait_exponential(multiplier=0.001, max=0.002),
    "jitter": tenacity.wait_random_exponential(multiplier=0.001, max=0.002),
    "sum": tenacity.wait_fixed(0.001) + tenacity.wait_random(0, 0.001),
    "chain": tenacity.wait_chain(tenacity.wait_none(), tenacity.wait_fixed(0.001)),
    "negative": lambda state: -1,
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
async def test_any_wait_of_tenacity_spaces_attempts(wait: Any) -> None:
    """Waits of all kinds work as they do in tenacity; less than nothing is nothing."""
    error = await attempts_of(ah.Recovery(stop=tenacity.stop_after_attempt(3), wait=wait))
    assert len(error.attempts) == 3


async def test_waits_by_default_are_bounded_and_vary() -> None:
    """The default waits at most 10 s, the first time at most 0.1 s, and gives up after 10."""
    firsts, lasts = set[float](), set[float]()
    for _ in range(50):
        streak = Streak(ah.Recovery())
        streak.add(A("1"))
        firsts.add(streak.pause())
        for number in range(2, 10):
            streak.add(A(str(number)))
        lasts.add(streak.pause())
        streak.add(A("10"))
        with pytest.raises(ah.RecoveryError) as caught:
            streak.pause()
        assert len(caught.value.attempts) == 10
    assert max(firsts) <= 0.1
    assert max(lasts) <= 10
    assert min(len(firsts), len(lasts)) > 10


async def test_pause_without_a_loss_is_nothing() -> None:
    """Nothing is waited for before anything was lost, nor after a run has committed."""
    streak = Streak(ah.Recovery(wait=tenacity.wait_fixed(3)))
    assert (streak.broken, streak.pause()) == (False, 0.0)
    streak.add(A("1"))
    assert (streak.broken, streak.pause()) == (True, 3.0)
    streak.end()
    assert (streak.broken, streak.pause()) == (False, 0.0)


async def test_time_of_a_streak_is_that_of_the_event_loop() -> None:
    """Strategies by time count from the first loss of the streak."""
    delays: list[float] = []

    def stop(state: tenacity.RetryCallState) -> bool:
        delays.append(state.seconds_since_start or 0.0)
        return False

    streak = Streak(ah.Recovery(stop=stop, wait=tenacity.wait_none()))
    for _ in range(2):
        streak.add(A("1"))
        start = anyio.current_time()
        await anyio.sleep(0.002)
        streak.pause()
        streak.end()
        assert 0.002 <= delays[-1] <= anyio.current_time() - start + 0.001


def test_recovery_is_a_value() -> None:
    """A policy is frozen, and equal to another with the same parts."""
    stop, wait = tenacity.stop_never, tenacity.wait_none()
    recovery = ah.Recovery(on=OSError, stop=stop, wait=wait)
    assert recovery == ah.Recovery(OSError, stop, wait)
    with pytest.raises(AttributeError):
        recovery.on = A  # type: ignore[misc]


async def test_each_loss_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A line says how often in a row the session was lost, by what, and how long it waits."""
    losses = [U("first"), A("second")]

    async def lost_twice() -> int:
        if losses:
            raise losses.pop(0)
        return 7

    recovery = ah.Recovery(wait=tenacity.wait_none())
    with caplog.at_level("INFO", "asynchooks"):
        async with ah.MonitoredSession(ah.Graph(), recovery=recovery) as session:
            assert await session.run(lost_twice) == 7
    assert [record.getMessage() for record in caplog.records] == [
        "lost 1 time(s) in a row, the last one by UnavailableError('first'); recovering in 0 s",
        "lost 2 time(s) in a row, the last one by AbortedError('second'); recovering in 0 s",
    ]
