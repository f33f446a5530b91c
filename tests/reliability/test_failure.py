"""A session whose user code fails, at every entry into it, keeps its promises."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import anyio
import pytest
from anyio.lowlevel import checkpoint

import asynchooks as ah
from asynchooks.testing import Fail
from tests.reliability.conftest import Count
from tests.reliability.programs import close_amid_runs, drain, stop
from tests.reliability.sweeping import Program, numbered, sweep


def two_errors(text: str) -> ExceptionGroup[Exception]:
    return ExceptionGroup(text, [ValueError(text), KeyError(text)])


def two_losses(text: str) -> ExceptionGroup[Exception]:
    return ExceptionGroup(text, [ah.UnavailableError(text), ah.AbortedError(text)])


ERRORS: dict[str, Callable[[str], BaseException]] = {
    "error": ValueError,
    "recoverable": ah.UnavailableError,
    "end of input": ah.OutOfRangeError,
    "group": two_errors,
    "recoverable group": two_losses,
    "interrupt": KeyboardInterrupt,
}

CASES: list[tuple[str, Program]] = [
    *product(ERRORS, [drain]),
    *product(["error", "recoverable", "end of input", "interrupt"], [close_amid_runs]),
    *product(["error", "recoverable"], [stop]),
]
"""The errors, each with the programs in which it can make a difference."""


@pytest.mark.parametrize(("error", "program"), CASES)
@pytest.mark.parametrize("forever", [False, True], ids=["once", "for ever"])
async def test_a_session_keeps_its_promises_wherever_user_code_fails(
    error: str, forever: bool, program: Program, count: Count
) -> None:
    """Hooks and resources are closed, runs are whole or never were, the caller sees the error."""
    swept, found = await sweep(program, Fail(numbered(ERRORS[error]), forever))
    assert found == []
    count(swept)


@pytest.mark.parametrize("forever", [False, True], ids=["once", "for ever"])
async def test_an_op_that_raises_a_cancellation_of_its_own_is_an_error(
    forever: bool, count: Count
) -> None:
    """A cancellation that nobody asked for is told by `OpCancelledError`, never swallowed."""
    stray = await stray_cancellation()
    swept, found = await sweep(drain, Fail(lambda: stray, forever), lambda call: ".op" in call)
    assert found == []
    count(swept)


async def stray_cancellation() -> BaseException:
    """Returns the cancellation of a scope that is long over."""
    stray: list[BaseException] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        try:
            await checkpoint()
        except anyio.get_cancelled_exc_class() as error:
            stray.append(error)
            raise
    return stray[0]
