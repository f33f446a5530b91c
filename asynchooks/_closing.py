"""Clean-up in its one shape: every step runs, shielded up to a deadline; then one error leaves."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import ContextVar

import anyio

from asynchooks._backend import is_cancellation
from asynchooks._errors import combine, note_once

logger = logging.getLogger("asynchooks")

Protections = Sequence[Callable[[], None]]

unwinding: ContextVar[Protections] = ContextVar("asynchooks_unwinding", default=())
"""Is to be called where opening has failed, before what was opened is closed again."""


def protect_unwinding() -> None:
    """Calls what `unwinding` holds."""
    for protect in unwinding.get():
        protect()


Step = tuple[str, Callable[[], Awaitable[object]]]
"""A name for warnings, and what to await."""


async def run_all(steps: Iterable[Step], timeout: float) -> list[BaseException]:
    """Awaits every step in order, whatever the others raise.

    Args:
        steps: each is shielded from cancel scopes round the caller.
        timeout: seconds that each step gets; a straggler is cancelled and named in a warning.

    Returns:
        What the steps raised, a native cancellation of the caller included.
    """
    errors: list[BaseException] = []
    for name, step in steps:
        scope = anyio.CancelScope(deadline=anyio.current_time() + timeout, shield=True)
        try:
            with scope:
                await step()
        except BaseException as error:
            errors.append(error)
        if scope.cancelled_caught:
            logger.warning("%s did not finish within %s s; closing goes on", name, timeout)
    return errors


async def outlast(
    name: str, wait: Callable[[], Awaitable[object]], done: Callable[[], bool], timeout: float
) -> bool:
    """Waits for what goes on elsewhere, whatever cancels the caller meanwhile.

    A native cancellation is to be raised afterwards, by `raise_if_natively_cancelled`.

    Args:
        name: what a warning calls it, if it takes longer.
        wait: may be awaited several times.
        done: tells whether it has come to its end.
        timeout: seconds.

    Returns:
        `done`.
    """
    deadline = anyio.current_time() + timeout
    while not done():
        try:
            # Entered anew after a native cancellation, which would else keep the scope from
            # catching its own.
            with anyio.CancelScope(deadline=deadline, shield=True):
                await wait()
        except BaseException as error:
            if not is_cancellation(error):
                raise
        if not done() and anyio.current_time() >= deadline:
            logger.warning("%s did not finish within %s s; closing goes on", name, timeout)
            return False
    return True


def conclude(
    primary: BaseException | None,
    others: list[BaseException],
    message: str = "errors while closing",
) -> BaseException | None:
    """Chooses the one error that leaves; the rest is attached to it as notes.

    A cancellation, `KeyboardInterrupt` or `SystemExit` wins, then `primary`; with neither, the
    others leave: one alone bare, several as a group with `message`.
    """
    errors = others if primary is None else [primary, *others]
    urgent = [error for error in errors if not isinstance(error, Exception)]
    winner = urgent[0] if urgent else primary
    if winner is None:
        return combine(message, others) if others else None
    for error in errors:
        if error is not winner and not is_cancellation(error):
            note_once(winner, f"also raised: {type(error).__name__}: {error}")
    return winner
