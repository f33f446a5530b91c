"""SecondOrStepTimer and NeverTriggerTimer: when something is due."""

from __future__ import annotations

from typing import Any

import pytest

import asynchooks as ah
from tests.hooks.clocks import Clock


def due(timer: ah.SecondOrStepTimer, *steps: int) -> list[bool]:
    """Asks a timer about some steps."""
    return [timer.should_trigger_for_step(step) for step in steps]


def test_steps_are_due_when_enough_have_passed() -> None:
    """The first step asked about triggers; then those that are far enough from the last."""
    timer = ah.SecondOrStepTimer(every_steps=3)
    assert due(timer, 5, 0) == [True, True]
    assert timer.update_last_triggered_step(5) == (None, None)
    assert due(timer, 5, 6, 7, 8, 9) == [False, False, False, True, True]
    assert timer.last_triggered_step() == 5


def test_seconds_are_due_when_enough_have_passed() -> None:
    """A step triggers once the seconds have passed, the last one itself never again."""
    timer = ah.SecondOrStepTimer(every_secs=2, clock=(clock := Clock()))
    timer.update_last_triggered_step(0)
    clock.now += 1.5
    assert due(timer, 0, 1) == [False, False]
    clock.now += 0.5
    assert due(timer, 0, 1) == [False, True]
    assert timer.update_last_triggered_step(1) == (2.0, 1)


@pytest.mark.parametrize("period", [{"every_secs": 60}, {"every_steps": 100}])
def test_step_before_the_last_is_due(period: dict[str, Any]) -> None:
    """After an older state was restored the timer triggers at once and counts from there."""
    timer = ah.SecondOrStepTimer(**period, clock=Clock())
    timer.update_last_triggered_step(50)
    assert due(timer, 49, 50, 51) == [True, False, False]
    assert timer.update_last_triggered_step(20) == (None, None)
    assert due(timer, 20, 21) == [False, False]
    assert timer.update_last_triggered_step(22) == (0.0, 2)


def test_reset_forgets_the_last_trigger() -> None:
    """After `reset` the timer is as new."""
    timer = ah.SecondOrStepTimer(every_steps=3)
    timer.update_last_triggered_step(5)
    timer.reset()
    assert timer.last_triggered_step() is None
    assert due(timer, 5) == [True]
    assert timer.update_last_triggered_step(5) == (None, None)


def test_timer_that_never_triggers() -> None:
    """NeverTriggerTimer takes the same calls and is never due."""
    timer = ah.NeverTriggerTimer()
    assert timer.update_last_triggered_step(5) == (None, None)
    timer.reset()
    assert (timer.should_trigger_for_step(1), timer.last_triggered_step()) == (False, None)


BOTH_NAMES = "SecondOrStepTimer takes exactly one of every_secs and every_steps"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, BOTH_NAMES),
        ({"every_secs": 1, "every_steps": 1}, ValueError, BOTH_NAMES),
        ({"every_secs": -1}, ValueError, "every_secs is to be a number of seconds from 0, not -1"),
        ({"every_secs": "1"}, TypeError, "every_secs is to be a number of seconds, not '1'"),
        ({"every_steps": 0}, ValueError, "every_steps is to be a number of steps from 1, not 0"),
        ({"every_steps": 1.5}, TypeError, "every_steps is to be a number of steps, an int, not"),
        ({"every_steps": True}, TypeError, "every_steps is to be a number of steps, an int, not"),
        ({"every_secs": 1, "clock": 3}, TypeError, "clock is to be a function that tells seconds"),
    ],
)
def test_bad_period_is_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The message names what is wrong and what was expected."""
    with pytest.raises(error, match=message):
        ah.SecondOrStepTimer(**arguments)
