"""Counts what is swept, and shows it at the end of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
import trio

from asynchooks import _pace
from asynchooks.testing import Cancel, Sweep

Backend = str | tuple[str, dict[str, object]]
Count = Callable[[Sweep], None]

DEBUG: Backend = ("asyncio", {"debug": True})


@pytest.fixture(autouse=True)
def one_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets neither the clock nor trio's dice decide where tasks suspend."""
    monkeypatch.setattr(_pace, "LONGEST_TURN", 1e6)
    monkeypatch.setattr(trio._core._run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)


@pytest.fixture
def count(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Count:
    """Adds a sweep that kept all promises to the numbers in the summary."""
    backend = request.node.callspec.params["anyio_backend"]
    loop = "asyncio debug" if backend == DEBUG else backend

    def count(sweep: Sweep) -> None:
        fault = sweep.fault
        kind = f"{fault.kind} cancel" if isinstance(fault, Cancel) else "failure"
        record_property("swept", (loop, f"{kind} at {fault.at}", sweep.points))

    return count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Shows the number of points per kind and event loop."""
    points: Counter[tuple[str, str]] = Counter()
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "swept":
                loop, kind, number = value
                points[loop, kind] += number
    if points:
        terminalreporter.section("points swept, all promises kept")
    for (loop, kind), number in sorted(points.items()):
        terminalreporter.write_line(f"{loop:14} {kind:30} {number:6}")
