"""What the errors say, which of them end the input, and how several become one."""

from __future__ import annotations

import traceback

import anyio
import pytest

import asynchooks as ah
from asynchooks._closing import conclude
from asynchooks._errors import bare, is_end_of_input, leaves, note_once, reraise

MESSAGES = {
    ah.DeadlineExceededError(0.5): "the run took longer than its timeout of 0.5 s",
    ah.FeedConflictError("x", ("the caller", "A (hooks[0])")): (
        "op 'x' is fed by the caller and by A (hooks[0]); let one of them feed it"
    ),
    ah.GraphFinalizedError("x"): (
        "cannot add op 'x': the graph is final; add ops before the session is entered, or in a"
        " hook's begin()"
    ),
    ah.OpCancelledError("x"): (
        "op 'x' raised a cancellation that nobody asked for; it probably awaited a task or future"
        " that something else had cancelled"
    ),
    ah.TasksStillRunningError(("a", "b"), 2.0): "still running 2.0 s after the stop: a, b",
    ah.RecoveryError((ah.AbortedError("lost"), ValueError("x"))): (
        "gave up after 2 attempt(s):\n  1. AbortedError: lost\n  2. ValueError: x"
    ),
    ah.RecoveryError(()): "gave up after 0 attempt(s):",
}


@pytest.mark.parametrize("error", MESSAGES, ids=lambda error: type(error).__name__)
def test_message_is_made_of_the_fields(error: Exception) -> None:
    """The text of an error says what has happened, and where it can, what to do."""
    assert str(error) == MESSAGES[error]


def test_recovery_error_shows_where_attempts_failed() -> None:
    """The notes of an attempt's error are part of the text."""
    error = ah.AbortedError("lost")
    error.add_note("raised by op 'x'")
    assert str(ah.RecoveryError((error,))).endswith("1. AbortedError: lost (raised by op 'x')")


def group(*errors: BaseException) -> BaseException:
    return BaseExceptionGroup("group", errors)


A, B, C = ValueError("a"), TypeError("b"), KeyError("c")
END, STREAM = ah.OutOfRangeError("end"), anyio.EndOfStream()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (A, [A]),
        (group(A), [A]),
        (group(A, group(B, group(C)), A), [A, B, C, A]),
        (group(KeyboardInterrupt(), A), None),
    ],
)
def test_leaves_are_what_is_in_a_group(
    error: BaseException, expected: list[BaseException] | None
) -> None:
    """The leaves of a group are the errors in it, in order, however deep; else it is its own."""
    found = list(leaves(error))
    assert found == expected or (expected is None and found[1] is A)


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        (END, True),
        (ah.StepFunctionStopped(), True),
        (StopAsyncIteration(), True),
        (STREAM, True),
        (StopIteration(), False),
        (A, False),
        (group(END, group(STREAM)), True),
        (group(END, A), False),
        (KeyboardInterrupt(), False),
    ],
)
def test_end_of_the_input_is_told_from_errors(error: BaseException, ends: bool) -> None:
    """An error ends the input if each of its leaves does."""
    assert is_end_of_input(error) is ends


@pytest.mark.parametrize(
    ("error", "expected"), [(A, A), (group(group(A)), A), (group(group(A, B)), None)]
)
def test_lone_leaf_is_bare(error: BaseException, expected: BaseException | None) -> None:
    """A group of one is that one; a group of several stays a group."""
    assert bare(error) is expected or (expected is None and len(list(leaves(bare(error)))) == 2)


def test_note_is_added_once() -> None:
    """The same note is not added twice."""
    error = ValueError("x")
    for note in ("one", "two", "one"):
        note_once(error, note)
    assert error.__notes__ == ["one", "two"]


def test_error_raised_again_keeps_its_context() -> None:
    """An error that was caught and is raised later does not get another context."""
    error = ValueError("x")
    error.__context__ = C
    with pytest.raises(ValueError, match="x") as caught:
        try:
            raise TypeError("other")
        except TypeError:
            reraise(error)
    assert caught.value is error
    assert error.__context__ is C
    assert "TypeError" not in "".join(traceback.format_exception(error))


I = KeyboardInterrupt("i")  # noqa: E741


@pytest.mark.parametrize(
    ("primary", "others", "winner", "notes"),
    [
        (None, [], None, []),
        (A, [], A, []),
        (None, [A], A, []),
        (None, [group(A)], A, []),
        (A, [B], A, ["also raised: TypeError: b"]),
        (A, [B, C], A, ["also raised: TypeError: b", "also raised: KeyError: 'c'"]),
        (A, [A], A, []),
        (A, [I], I, ["also raised: ValueError: a"]),
        (None, [A, I, B], I, ["also raised: ValueError: a", "also raised: TypeError: b"]),
        (I, [A], I, ["also raised: ValueError: a"]),
    ],
)
async def test_one_error_leaves(
    primary: BaseException | None,
    others: list[BaseException],
    winner: BaseException | None,
    notes: list[str],
) -> None:
    """An interrupt wins, then the first error; all others are noted on the one that leaves."""
    for error in (A, B, C, I):
        vars(error).pop("__notes__", None)
    assert conclude(primary, others) is winner
    assert getattr(winner, "__notes__", []) == notes


async def test_several_errors_leave_as_a_group() -> None:
    """Where no error is before the others they leave together, in order."""
    leaving = conclude(None, [A, B])
    assert isinstance(leaving, ExceptionGroup)
    assert leaving.exceptions == (A, B)
    assert leaving.message == "errors while closing"
