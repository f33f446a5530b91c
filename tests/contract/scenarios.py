"""Scenario files: reading them, and which of their scenarios can be run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
PUBLIC = DATA / "public.jsonl"

Line = dict[str, Any]
"""A line of a scenario file: id, title, tags, scenario, trace."""

HOOK_KINDS = {
    "script",
    "same_as",
    "final_ops",
    "stop_at_step",
    "feed_fn",
    "logging",
    "step_counter",
    "nan",
    "waiter",
}
KINDS = {"session", "coordinator", "construct", "timer"}


def load(path: Path) -> list[Line]:
    """Returns the lines of a scenario file."""
    with path.open() as file:
        return [json.loads(line) for line in file if line.strip()]


def unsupported(scenario: dict[str, Any]) -> str | None:
    """Says why a scenario cannot be run yet; None if it can."""
    kind = scenario.get("kind", "session")
    if kind not in KINDS:
        return f"kind {kind}"
    if "state" in scenario:
        return f"state {scenario['state']}"
    for hook in _hooks_of(scenario):
        if hook.get("kind", "script") not in HOOK_KINDS:
            return f"hook {hook['kind']}"
    return None


def supported_lines(lines: list[Line]) -> list[Line]:
    """Returns the lines whose scenarios can be run."""
    return [line for line in lines if unsupported(line["scenario"]) is None]


def _hooks_of(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    appended = [
        step["hook"]
        for session in scenario.get("sessions", ())
        for step in (*session["steps"], *session.get("after", ()))
        if step["do"] == "append_hook"
    ]
    constructed = [scenario["hook"]] if "hook" in scenario else []
    return [*scenario.get("hooks", ()), *appended, *constructed]
