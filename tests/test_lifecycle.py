"""The legal moves of a session, and the two ways to refuse an illegal one."""

from __future__ import annotations

import itertools
import pickle

import pytest

import asynchooks as ah
from asynchooks._lifecycle import Lifecycle, SessionPhase

P = SessionPhase
LEGAL = {
    (P.NEW, P.OPENING),
    (P.NEW, P.CLOSING),
    (P.OPENING, P.OPEN),
    (P.OPENING, P.CLOSING),
    (P.OPEN, P.CLOSING),
    (P.CLOSING, P.CLOSED),
}
PATHS = {
    P.NEW: [],
    P.OPENING: [P.OPENING],
    P.OPEN: [P.OPENING, P.OPEN],
    P.CLOSING: [P.OPENING, P.OPEN, P.CLOSING],
    P.CLOSED: [P.OPENING, P.OPEN, P.CLOSING, P.CLOSED],
}


def lifecycle_in(phase: SessionPhase) -> Lifecycle:
    """Returns a lifecycle that has come to a phase."""
    lifecycle = Lifecycle()
    for each in PATHS[phase]:
        lifecycle.move(each)
    return lifecycle


@pytest.mark.parametrize(("start", "end"), list(itertools.product(P, P)))
def test_moves_follow_the_table(start: SessionPhase, end: SessionPhase) -> None:
    """Legal moves are made; every other is refused, changes nothing and tells the story."""
    lifecycle = lifecycle_in(start)
    if (start, end) in LEGAL:
        lifecycle.move(end)
        assert lifecycle.phase is end
        return
    kind = ah.SessionClosedError if start in (P.CLOSING, P.CLOSED) else ah.LifecycleError
    with pytest.raises(kind) as caught:
        lifecycle.move(end)
    assert type(caught.value) is kind
    assert lifecycle.phase is start
    story = " -> ".join(phase.value for phase in [P.NEW, *PATHS[start]])
    assert str(caught.value) == f"the session cannot become {end.value!r}; so far it was: {story}"


@pytest.mark.parametrize("phase", P)
def test_only_an_open_session_can_be_used(phase: SessionPhase) -> None:
    """The guard lets nothing but an open session pass, and says how it is."""
    lifecycle = lifecycle_in(phase)
    assert lifecycle.is_over == (phase in (P.CLOSING, P.CLOSED))
    if phase is P.OPEN:
        lifecycle.require_open()
        return
    with pytest.raises(ah.LifecycleError, match=f"the session is {phase.value}; use it inside"):
        lifecycle.require_open()


def test_session_end_says_why_in_words() -> None:
    """Reasons and phases are strings, and the end of a session is a value."""
    end = ah.SessionEnd(ah.EndReason.OUT_OF_INPUT, None, ah.Phase.BODY)
    assert (end.reason, end.phase) == ("out of input", "body")
    assert end == pickle.loads(pickle.dumps(end))
    assert ah.SessionEnd(ah.EndReason.STOPPED) == ah.SessionEnd(ah.EndReason("stopped"), None, None)
    assert [str(reason) for reason in ah.EndReason] == [
        "completed",
        "stopped",
        "out of input",
        "cancelled",
        "failed",
        "gave up",
    ]
