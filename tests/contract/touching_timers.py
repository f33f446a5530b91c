"""Where differences of timers show in a line about one."""

from __future__ import annotations

from tests.contract.scenarios import Line


def earlier_step_triggers(line: Line) -> bool:
    """A timer is asked about, or triggered at, a step before the last one."""
    last: int | None = None
    for event in line["trace"]["events"]:
        went_back = last is not None and event.get("step", last) < last
        if went_back and (event["e"] == "update" or event.get("v") is False):
            return True
        if event["e"] == "update":
            last = event["step"]
        elif event["e"] == "reset":
            last = None
    return False
