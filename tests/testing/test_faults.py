"""Faults say what they are, and refuse what they cannot be."""

from __future__ import annotations

import pytest

from asynchooks.testing import Cancel, Fail, cancel_kinds


async def test_the_kinds_of_cancellation_are_those_of_the_event_loop(
    anyio_backend_name: str,
) -> None:
    """Native cancel is asyncio's only."""
    native = ("native",) if anyio_backend_name == "asyncio" else ()
    assert cancel_kinds() == ("scope", "deadline", *native)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Cancel(), "scope cancel once at suspension"),
        (Cancel("native", "entry", forever=True), "native cancel for ever from entry"),
        (Fail(ValueError), "ValueError once at entry"),
        (Fail(KeyError, forever=True), "KeyError for ever from entry"),
    ],
)
def test_a_fault_names_itself(fault: Cancel | Fail, text: str) -> None:
    """The text of a fault says what is done, at which kind of point."""
    assert str(fault) == text


def test_an_error_factory_without_a_name_is_shown_as_it_is() -> None:
    """Any callable without arguments can make the error."""

    class Factory:
        def __call__(self) -> ValueError:
            return ValueError()

        def __repr__(self) -> str:
            return "a factory"

    assert str(Fail(Factory())) == "a factory once at entry"


def test_an_unknown_kind_is_refused() -> None:
    """A kind of cancellation or of point that there is not is a ValueError that lists all."""
    with pytest.raises(ValueError, match="kind must be one of scope, deadline, native, not 'x'"):
        Cancel("x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at must be one of suspension, entry, not 'x'"):
        Cancel(at="x")  # type: ignore[arg-type]
