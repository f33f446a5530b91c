"""Comparing what asynchooks does with what TensorFlow did, scenario by scenario."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.contract.rules import Rule, rules_for
from tests.contract.runner import Trace, run_scenario
from tests.contract.scenarios import DATA, Line, load, unsupported

EXPECTED = DATA / "expected.jsonl"
"""For each public scenario that a rule touches, the trace that asynchooks gives instead."""


@dataclass(frozen=True)
class Verdict:
    """What became of one line.

    Attributes:
        line: the line.
        trace: what asynchooks did; empty if it was not run.
        unsupported: why it was not run.
        rules: the rules that touch it.
        difference: where TensorFlow's trace and asynchooks' part, if they do.
        complaint: why it is not explained, if it is not.
    """

    line: Line
    trace: Trace = field(default_factory=dict)
    unsupported: str | None = None
    rules: tuple[Rule, ...] = ()
    difference: str | None = None
    complaint: str | None = None

    @property
    def matches(self) -> bool:
        """Whether asynchooks did what TensorFlow did, as it should."""
        return not (self.unsupported or self.rules or self.complaint)


def judge(line: Line, backend: str, expected: dict[str, Trace]) -> Verdict:
    """Runs the scenario of a line on an event loop and compares.

    Args:
        line: a line of a scenario file.
        backend: the event loop.
        expected: the traces that are recorded for lines that rules touch, by id.
    """
    reason = unsupported(line["scenario"])
    if reason is not None:
        return Verdict(line, unsupported=reason)
    trace = run_scenario(line["scenario"], backend)
    return compare(line, trace, expected)


def compare(line: Line, trace: Trace, expected: dict[str, Trace]) -> Verdict:
    """Compares a trace with the one of the line, and with the one that is recorded."""
    rules = tuple(rules_for(line))
    difference = first_difference(line["trace"], trace)
    complaint = None
    if difference is not None and not rules:
        complaint = difference
    elif difference is None and rules:
        complaint = f"touched by {', '.join(rule.id for rule in rules)}, which changes nothing"
    elif rules and line["id"] in expected:
        unexpected = first_difference(expected[line["id"]], trace)
        complaint = unexpected and f"not what was recorded: {unexpected}"
    return Verdict(line, trace, None, rules, difference, complaint)


def first_difference(expected: Trace, actual: Trace) -> str | None:
    """Says in a line where two traces part; None if they do not."""
    if "crash" in actual:
        return f"the scenario crashed: {actual['crash']}"
    for place, wanted, got in _pairs(expected, actual):
        if wanted != got:
            return f"{place}: expected {_shown(wanted)}, got {_shown(got)}"
    return None


def recorded(path: Path = EXPECTED) -> dict[str, Trace]:
    """Returns the recorded traces by the ids of their scenarios."""
    return {line["id"]: line["trace"] for line in load(path)}


def record(verdicts: Iterable[Verdict], path: Path = EXPECTED) -> None:
    """Writes the traces of the lines that rules touch."""
    with path.open("w") as file:
        for verdict in verdicts:
            if verdict.rules:
                rules = [rule.id for rule in verdict.rules]
                line = {"id": verdict.line["id"], "rules": rules, "trace": verdict.trace}
                file.write(json.dumps(line, separators=(",", ":")) + "\n")


def _pairs(expected: Trace, actual: Trace) -> Iterator[tuple[str, Any, Any]]:
    left, right = expected["events"], actual["events"]
    for n in range(max(len(left), len(right))):
        yield (
            f"event {n}",
            left[n] if n < len(left) else None,
            right[n] if n < len(right) else None,
        )
    for part in ("outcome", "final"):
        yield part, expected.get(part), actual.get(part)


def _shown(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value)
