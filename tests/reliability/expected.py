"""Which end a disturbed session comes to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import asynchooks as ah
from asynchooks._errors import every_leaf, is_end_of_input, leaves
from asynchooks.testing import Cancel, Outcome
from tests.reliability.world import World

CLEAN = {ah.EndReason.COMPLETED, ah.EndReason.STOPPED, ah.EndReason.OUT_OF_INPUT}
LATE = {ah.Phase.END, ah.Phase.CLOSE}

IN_CREATION = {"create", "open", "after_create_session"}
ENTERING = IN_CREATION | {"begin"}
IN_RUNS = {"before_run", "op", "source", "task"}


def ending(world: World, outcome: Outcome[Any]) -> Iterator[str]:
    """The caller meets what was done to the program, unless there is a reason that it does not."""
    if outcome.stray_cancels:
        yield f"{outcome.stray_cancels} cancellations left on the task"
    if isinstance(world.trial.fault, Cancel) or not outcome.struck:
        if outcome.cancelled != outcome.struck or outcome.error is not None:
            yield f"the program ended as {outcome}"
    elif outcome.error is None:
        lost = [call for call, error in raised(world) if not may_vanish(world, call, error)]
        if lost:
            yield f"the error of {lost} did not reach the caller, who got {outcome.value}"
    else:
        yield from met(world, outcome.error)


def raised(world: World) -> list[tuple[str, BaseException]]:
    """Returns the calls that were failed, in order, and their errors."""
    first: dict[int, tuple[str, BaseException]] = {}
    for call, error in world.journal.errors:
        if error in world.trial.raised:
            first.setdefault(id(error), (call, error))
    return list(first.values())


def may_vanish(world: World, call: str, error: BaseException) -> bool:
    """Tells whether the caller need not meet an error, by where it was raised."""
    method = call.rpartition(".")[2]
    recreating = world.generations > 1
    if not isinstance(error, Exception):
        return False
    if is_end_of_input(error) and world.closes_inside and (recreating or method not in ENTERING):
        return True
    if every_leaf(error, is_recoverable) and method in IN_CREATION | IN_RUNS:
        return True
    if is_end_of_input(error) and method in IN_RUNS | {"after_run", "farewell"}:
        return True
    if is_end_of_input(error) and (method == "back_off" or (method in IN_CREATION and recreating)):
        return True
    return all(leaf in world.logged for leaf in leaves(error)) or is_noted(world, error)


def sources_ended(world: World) -> bool:
    """Tells whether the fault itself ended a source, which then has nothing more to give."""
    return any(call.endswith(".source") and is_end_of_input(e) for call, e in raised(world))


def is_recoverable(error: BaseException) -> bool:
    """Tells whether the session recovers from an error."""
    return isinstance(error, ah.UnavailableError | ah.AbortedError)


def is_noted(world: World, error: Exception) -> bool:
    """Tells whether an error was attached to another one that mattered more."""
    note = f"also raised: {type(error).__name__}: {error}"
    others = [*world.trial.raised, *world.attempt_errors, *world.logged, *world.left_with]
    return any(note in getattr(other, "__notes__", ()) for other in others)


def met(world: World, error: BaseException) -> Iterator[str]:
    """What the caller met is made of what was raised, with the first that counts among it."""
    world.left_with = [*leaves(error)]
    ours = {id(leaf) for _, each in raised(world) for leaf in leaves(each)}
    inside = [*origins(error)]
    # Of several interrupts one is enough.
    urgent = [leaf for leaf in inside if not isinstance(leaf, Exception)]
    first = next((e for call, e in raised(world) if not may_vanish(world, call, e)), None)
    first = urgent[0] if urgent else first
    if any(id(leaf) not in ours and not is_injected_loss(leaf) for leaf in inside):
        yield f"the caller met {error!r}, which is not only {world.trial.raised}"
    if first is not None and not all(leaf in inside for leaf in leaves(first)):
        yield f"the caller met {error!r}, not {first!r}"
    if first is None and not isinstance(error, ah.RecoveryError):
        yield f"the caller met {error!r} though each of {world.trial.raised} could be helped"


def origins(error: BaseException) -> Iterator[BaseException]:
    """Yields the errors of user code behind one of the library."""
    for leaf in leaves(error):
        if isinstance(leaf, ah.RecoveryError):
            yield from (origin for attempt in leaf.attempts for origin in origins(attempt))
        elif isinstance(leaf, ah.OpCancelledError) and leaf.__cause__ is not None:
            yield leaf.__cause__
        else:
            yield leaf


def is_injected_loss(error: BaseException) -> bool:
    """Tells whether it is the loss that the undisturbed program meets too."""
    return isinstance(error, ah.UnavailableError) and "lost" in str(error)


def reason(end: ah.SessionEnd, ended: bool) -> Iterator[str]:
    """The reason that hooks are told is a clean one if their `end` was called."""
    if end.reason in CLEAN and not ended:
        yield f"the hooks' end was not called, but the reason is {end}"
    if ended and end.reason not in CLEAN and end.phase not in LATE:
        yield f"the hooks' end was called, but the reason is {end}"
