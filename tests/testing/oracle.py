"""What must be true of the model however it was disturbed."""

from __future__ import annotations

from collections.abc import Iterator

from asynchooks._errors import leaves
from asynchooks.testing import Cancel, Outcome, Trial
from tests.testing.journal import Journal
from tests.testing.model import VALUES


def violations(journal: Journal, trial: Trial, outcome: Outcome[list[int | None]]) -> list[str]:
    """Returns a sentence for each promise that was not kept."""
    return [*closing(journal, trial), *pairing(journal), *ending(trial, outcome)]


def closing(journal: Journal, trial: Trial) -> Iterator[str]:
    """Each begun hook is closed once, in reverse order, and closing is broken by faults only."""
    begun = journal.calls("begin", "done")
    if journal.calls("close") != begun[::-1]:
        yield f"begun {begun}, closed {journal.calls('close')}"
    broken = journal.calls("close", "broken")
    if len(broken) > breakable(trial):
        yield f"closing was broken for {broken}"


def breakable(trial: Trial) -> int:
    """How many closing calls the fault itself may break; a scope's cancellation may none."""
    if isinstance(trial.fault, Cancel) and trial.fault.kind != "native":
        return 0
    return 99 if trial.fault.forever else 1


def pairing(journal: Journal) -> Iterator[str]:
    """Ops end; a hook's `before_run` is answered once, with `after_run` only for whole runs."""
    ended = journal.calls("op", "done") + journal.calls("op", "broken")
    if sorted(journal.calls("op")) != sorted(ended):
        yield "an op was not awaited to its end"
    answers = journal.calls("after_run") + journal.calls("on_run_error")
    if sorted(answers) != sorted(journal.calls("before_run", "done")):
        yield f"before_run of {journal.calls('before_run', 'done')}, answers to {answers}"
    whole_runs = journal.calls("op", "done").count("join")
    if len(journal.calls("after_run")) > 3 * whole_runs:
        yield "after_run of a run that did not end"


def ending(trial: Trial, outcome: Outcome[list[int | None]]) -> Iterator[str]:
    """The caller sees the cancellation, the error, or the right values."""
    if outcome.stray_cancels:
        yield f"{outcome.stray_cancels} cancellations left on the task"
    if trial.raised:
        if outcome.error is None or trial.raised[0] not in list(leaves(outcome.error)):
            yield f"the caller met {outcome.error!r}, not {trial.raised[0]!r}"
    elif outcome.struck:
        if not outcome.cancelled:
            yield f"the cancellation ended as {outcome}"
    elif outcome.value != VALUES:
        yield f"undisturbed, the program ended as {outcome}"
