"""The sweeps of the real session find the bugs that are planted in it."""

from __future__ import annotations

import pytest

from asynchooks.testing import Cancel, Fail, Fault, cancel_kinds
from tests.reliability.planted import FOUND_BY, LEFT_OPEN, Plant
from tests.reliability.programs import leave
from tests.reliability.sweeping import finds, numbered


@pytest.mark.parametrize("plant", FOUND_BY, ids=lambda plant: plant.__name__)
async def test_each_planted_bug_is_found_by_the_sweeps_that_can_see_it(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library with one thing wrong is found out, by the kinds of disturbance that show it."""
    plant(monkeypatch)
    sweeps: dict[str, Fault] = {"scope": Cancel("scope"), "fail": Fail(numbered(ValueError))}
    if "native" in cancel_kinds():
        sweeps["native"] = Cancel("native")
    found_by = {name for name, fault in sweeps.items() if await finds(leave, fault)}
    while LEFT_OPEN:
        await LEFT_OPEN.pop().__aexit__(None, None, None)
    assert found_by == FOUND_BY[plant] & set(sweeps)
