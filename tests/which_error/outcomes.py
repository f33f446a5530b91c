"""Programs that fail in several ways at once, and what is left of it in the end, as text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio

from asynchooks._errors import leaves

Program = Callable[[anyio.CancelScope], Awaitable[Any]]
Made = TypeVar("Made", bound=Program)


@dataclass(frozen=True)
class Row:
    """A program and how it ends.

    Attributes:
        what: says what fails; the id of the test.
        program: gets the scope in which it runs.
        outcome: what leaves the program.
    """

    what: str
    program: Program
    outcome: str


class Table:
    """Rows of one subject."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def row(self, what: str, outcome: str) -> Callable[[Made], Made]:
        """Adds the decorated program to the table."""

        def add(program: Made) -> Made:
            self.rows.append(Row(what, program, outcome))
            return program

        return add


async def outcome(program: Program) -> str:
    """Runs a program and says how it ended: with a value, an error or the cancellation."""
    seen: BaseException | None = None
    try:
        with anyio.fail_after(5), anyio.CancelScope() as scope:
            try:
                value = await program(scope)
            except BaseException as error:
                seen = error
                raise
            return f"value {value!r}"
    except BaseException as error:
        return described(error)
    assert seen is not None
    return "cancelled" + notes(seen) + context(seen)


def described(error: BaseException) -> str:
    """Says class, text and notes of an error, and of each one in a group, in no special order."""
    if is_cancellation(error):
        return "a stray cancellation"
    if isinstance(error, BaseExceptionGroup):
        inner = sorted(described(each) for each in error.exceptions)
        return f"{type(error).__name__}[{'; '.join(inner)}]{notes(error)}"
    return f"{type(error).__name__}({error}){notes(error)}"


def notes(error: BaseException) -> str:
    """Says the notes of an error."""
    return "".join(f" | {note}" for note in getattr(error, "__notes__", ()))


def context(error: BaseException) -> str:
    """Says the errors in the context of a cancellation."""
    found: list[str] = []
    seen: set[int] = set()
    current = error.__context__
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        found += [described(leaf) for leaf in leaves(current) if not is_cancellation(leaf)]
        current = current.__context__
    return "".join(f", after {each}" for each in found)


def is_cancellation(error: BaseException) -> bool:
    return isinstance(error, anyio.get_cancelled_exc_class())


async def stray_cancellation() -> BaseException:
    """Returns a cancellation of the event loop's own class that cancels nothing any more."""
    with anyio.CancelScope() as scope:
        scope.cancel()
        try:
            await anyio.sleep_forever()
        except BaseException as error:
            stray = error
            raise
    return stray
