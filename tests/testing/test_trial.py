"""One trial: what it does at its point, and what it says of the end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest
from anyio.lowlevel import cancel_shielded_checkpoint, checkpoint

from asynchooks.testing import Cancel, CancelKind, Fail, Outcome, Trial, cancel_kinds

KINDS: list[CancelKind] = ["scope", "deadline", "native"]


async def two_entries(trial: Trial, log: list[str]) -> str:
    await trial.pause("first")
    log.append("first")
    await trial.pause("second")
    log.append("second")
    return "value"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cancelled_program_ends_where_it_was_struck(kind: CancelKind) -> None:
    """The cancellation arrives at the n-th suspension and leaves as the loop's own exception."""
    log: list[str] = []
    trial = Trial(Cancel(kind), 2)
    outcome = await trial.run(two_entries, trial, log)
    assert outcome == Outcome(2, "second", cancelled=True)
    assert (outcome.struck, outcome.completed) == (True, False)
    assert log == ["first"]
    assert str(trial) == f"{kind} cancel once at suspension 2 (in second)"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_program_is_cancelled_from_another_task_too(kind: CancelKind) -> None:
    """A cancellation at an entry in a child task reaches the program's own task."""
    log: list[str] = []

    async def program(trial: Trial) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(two_entries, trial, log)

    trial = Trial(Cancel(kind, at="entry"), 2)
    assert await trial.run(program, trial) == Outcome(2, "second", cancelled=True)
    assert log == ["first"]


async def test_a_program_that_ends_before_its_point_is_undisturbed() -> None:
    """Without a strike the outcome has the value, and says that nothing was struck."""
    trial = Trial(Cancel(), 3)
    assert str(trial) == "scope cancel once at suspension 3 (not reached)"
    outcome = await trial.run(two_entries, trial, [])
    assert outcome == trial.outcome == Outcome(3, None, "value")
    assert (outcome.struck, outcome.completed) == (False, True)
    assert trial.entries == ["first", "second"]


async def test_a_suspension_before_any_entry_is_at_the_start() -> None:
    """A program need not announce entries to be cancelled."""
    trial = Trial(Cancel(), 1)
    assert (await trial.run(checkpoint)).where == "the start"


async def test_an_error_is_raised_out_of_the_entry_and_seen_in_the_outcome() -> None:
    """The n-th entry raises; the error that leaves the program is that one."""
    log: list[str] = []
    trial = Trial(Fail(KeyboardInterrupt), 2)
    outcome = await trial.run(two_entries, trial, log)
    assert trial.raised == [outcome.error]
    assert isinstance(outcome.error, KeyboardInterrupt)
    assert (outcome.where, outcome.cancelled, log) == ("second", False, ["first"])


@pytest.mark.parametrize(("forever", "errors"), [(False, 1), (True, 2)])
async def test_an_error_is_raised_once_or_for_ever(forever: bool, errors: int) -> None:
    """For ever means at the n-th entry and at all later ones, with a new error each time."""

    async def program(trial: Trial) -> None:
        for name in ("first", "second", "third"):
            try:
                trial.enter(name)
            except ValueError as error:
                met.append(error)

    met: list[Exception] = []
    trial = Trial(Fail(ValueError, forever), 2)
    outcome = await trial.run(program, trial)
    assert (outcome.where, outcome.completed) == ("second", True)
    assert trial.raised == met
    assert len(met) == errors


async def test_errors_of_the_program_itself_are_an_outcome() -> None:
    """An error that the trial did not raise ends the program, not the sweep."""

    async def program() -> None:
        raise ValueError("its own")

    outcome = await Trial(Cancel(), 1).run(program)
    assert str(outcome.error) == "its own"


async def test_an_interrupt_that_no_fault_raised_is_let_through() -> None:
    """Ctrl-C ends the test, not the program only."""

    async def program() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await Trial(Cancel(), 1).run(program)


async def test_a_raised_error_inside_a_group_is_the_programs() -> None:
    """An injected KeyboardInterrupt that leaves in a group is an outcome all the same."""

    async def program(trial: Trial) -> None:
        try:
            trial.enter("only")
        except KeyboardInterrupt as error:
            raise BaseExceptionGroup("several", [error]) from None

    trial = Trial(Fail(KeyboardInterrupt), 1)
    outcome = await trial.run(program, trial)
    assert isinstance(outcome.error, BaseExceptionGroup)
    assert list(outcome.error.exceptions) == trial.raised


async def test_entries_outside_the_run_are_recorded_only() -> None:
    """User code that is entered before or after the program is neither counted nor struck."""
    trial = Trial(Fail(ValueError), 1)
    trial.enter("before")
    assert (await trial.run(checkpoint)).completed
    trial.enter("after")
    assert trial.entries == ["before", "after"]


async def test_a_trial_runs_once() -> None:
    """A second run is refused: everything is to be made from scratch for each."""
    trial = Trial(Cancel(), 1)
    await trial.run(checkpoint)
    with pytest.raises(RuntimeError, match="a trial runs once"):
        await trial.run(checkpoint)


async def test_a_program_that_hangs_is_reported() -> None:
    """A trial that does not end within its timeout is a TimeoutError that names the point."""
    trial = Trial(Fail(ValueError), 1, timeout=0.01)
    with pytest.raises(TimeoutError, match=r"not over after 0.01 s: ValueError once at entry 1"):
        await trial.run(anyio.sleep_forever)


async def test_a_program_that_hangs_and_returns_late_is_reported() -> None:
    """A program that outlives the timeout because it is shielded did hang, whatever it returns."""

    async def program() -> None:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.02)

    with pytest.raises(TimeoutError):
        await Trial(Cancel(), 5, timeout=0.01).run(program)


async def swallow(suspend: Callable[[], Awaitable[None]]) -> str:
    try:
        await suspend()
    except anyio.get_cancelled_exc_class():
        return "swallowed"
    return "not met"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_swallowed_cancellation_is_no_cancellation(kind: CancelKind) -> None:
    """A program that answers its cancellation with a value is seen to do so."""
    outcome = await Trial(Cancel(kind), 1).run(swallow, checkpoint)
    assert (outcome.value, outcome.cancelled, outcome.stray_cancels) == ("swallowed", False, 0)


async def enter_and_return(trial: Trial) -> str:
    trial.enter("last")
    return "returned"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cancellation_that_comes_too_late_hits_nobody_else(kind: CancelKind) -> None:
    """A program that does not suspend any more returns, and the test goes on undisturbed."""
    trial = Trial(Cancel(kind, at="entry"), 1)
    outcome = await trial.run(enter_and_return, trial)
    await cancel_shielded_checkpoint()
    await checkpoint()
    assert (outcome.value, outcome.struck, outcome.cancelled) == ("returned", True, False)


async def test_a_kind_that_the_event_loop_does_not_have_is_refused() -> None:
    """On trio a native cancel is an error of the test, never a point that passed."""
    trial = Trial(Cancel("native"), 1)
    if "native" in cancel_kinds():
        assert (await trial.run(checkpoint)).cancelled
    else:
        with pytest.raises(RuntimeError, match="this event loop has no native cancel"):
            await trial.run(checkpoint)


@pytest.mark.native
async def test_an_impatient_caller_cancels_at_each_later_point_too() -> None:
    """Native cancel for ever breaks every await from the n-th on, and leaves no request behind."""

    async def program() -> int:
        broken = 0
        for _ in range(3):
            try:
                await checkpoint()
            except anyio.get_cancelled_exc_class():
                broken += 1
        return broken

    outcome = await Trial(Cancel("native", forever=True), 2).run(program)
    assert (outcome.value, outcome.stray_cancels) == (2, 0)
    await checkpoint()
