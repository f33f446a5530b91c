"""The kit finds what can be wrong with a session, shown on a small model of one."""

from __future__ import annotations

from typing import get_args

import pytest

from asynchooks.testing import (
    Cancel,
    CancelKind,
    Fail,
    Fault,
    PointKind,
    Sweep,
    cancel_kinds,
)
from tests.testing.journal import Journal
from tests.testing.model import Bug, Model, program
from tests.testing.oracle import violations

FOUND_BY = {
    Bug.NONE: set(),
    Bug.NOT_SHIELDED: {"scope", "deadline"},
    Bug.NOT_ROLLED_BACK: {"scope", "deadline", "native", "fail"},
    Bug.REGISTERED_LATE: {"scope", "deadline", "native", "fail"},
    Bug.FIRST_ERROR_STOPS: {"fail"},
    Bug.GIVES_UP_ON_NATIVE_CANCEL: {"native"},
    Bug.HOLE_IN_VALUES: {"fail"},
    Bug.AFTER_FAILED_RUN: {"scope", "deadline", "native", "fail"},
}

ENTRIES = 3 + 3 + 2 * (3 + 4 + 3) + 3 + 3
"""begin, after_create_session, two runs of before_run, op and after_run, end, close."""


async def sweep_model(fault: Fault, bug: Bug) -> tuple[Sweep, list[str]]:
    sweep = Sweep(fault)
    found: list[str] = []
    for trial in sweep:
        journal = Journal(trial)
        outcome = await trial.run(program, Model(journal, bug))
        found += [f"{trial}: {what}" for what in violations(journal, trial, outcome)]
    return sweep, found


@pytest.mark.parametrize("bug", Bug)
async def test_each_planted_bug_is_found_by_the_sweeps_that_can_see_it(bug: Bug) -> None:
    """Scope cancel, native cancel and failure each find the bugs that are theirs to find."""
    sweeps: dict[str, Fault] = {kind: Cancel(kind) for kind in cancel_kinds()}
    sweeps["fail"] = Fail(ValueError)
    found_by = {name for name, fault in sweeps.items() if (await sweep_model(fault, bug))[1]}
    assert found_by == FOUND_BY[bug] & set(sweeps)


@pytest.mark.parametrize("kind", get_args(CancelKind))
@pytest.mark.parametrize("at", get_args(PointKind))
async def test_a_right_session_keeps_its_promises_when_cancelled(
    kind: CancelKind, at: PointKind
) -> None:
    """Without a bug, no cancellation at any point shows a violation."""
    sweep, found = await sweep_model(Cancel(kind, at), Bug.NONE)
    assert found == []
    assert sweep.points > 30


@pytest.mark.native
async def test_a_right_session_keeps_its_promises_when_cancelled_again_and_again() -> None:
    """Without a bug, not even an impatient native cancel shows a violation."""
    assert (await sweep_model(Cancel("native", forever=True), Bug.NONE))[1] == []


@pytest.mark.parametrize("forever", [False, True])
async def test_a_right_session_keeps_its_promises_when_user_code_fails(forever: bool) -> None:
    """Without a bug, no failure at any entry shows a violation."""
    sweep, found = await sweep_model(Fail(ValueError, forever), Bug.NONE)
    assert found == []
    assert sweep.points == ENTRIES


async def test_a_missing_shield_shows_in_what_was_completed_only() -> None:
    """Unshielded closing calls are all attempted and all broken: an oracle must count the ends."""
    broken = 0
    for trial in Sweep(Cancel("scope")):
        journal = Journal(trial)
        await trial.run(program, Model(journal, Bug.NOT_SHIELDED))
        assert journal.calls("close") == journal.calls("begin", "done")[::-1]
        broken += len(journal.calls("close", "broken"))
    assert broken > 0
