"""The kit's public names."""

from __future__ import annotations

import pytest

from asynchooks import testing


@pytest.mark.parametrize(
    "name",
    [
        "Cancel",
        "Fail",
        "Outcome",
        "StoreCheckError",
        "Sweep",
        "Trial",
        "cancel_kinds",
        "check_store",
    ],
)
def test_what_is_exported_shows_its_public_place(name: str) -> None:
    """Classes and functions of the kit say that they come from `asynchooks.testing`."""
    assert name in testing.__all__
    assert getattr(testing, name).__module__ == "asynchooks.testing"


def test_all_is_sorted() -> None:
    """The public names are listed in order, without repetition."""
    assert testing.__all__ == sorted(set(testing.__all__))
