"""The scenarios of TensorFlow's contract, on both event loops, and the tool that runs them."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from tests.contract.__main__ import main
from tests.contract.rules import RULES, Rule, rules_for
from tests.contract.scenarios import DATA, PUBLIC, Line, load, supported_lines, unsupported
from tests.contract.verdicts import Verdict, compare, judge, recorded

LINES = load(PUBLIC)
SUPPORTED = supported_lines(LINES)
EXPECTED = recorded()
# What no public scenario shows: the traces follow from TensorFlow's source, they were not recorded.
DERIVED = load(DATA / "derived.jsonl")
BY_ID = {line["id"]: line for line in LINES}


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def verdicts(request: pytest.FixtureRequest) -> list[Verdict]:
    """What became of each supported scenario on one event loop."""
    return [judge(line, request.param, EXPECTED) for line in SUPPORTED]


def test_every_scenario_matches_or_is_explained(verdicts: list[Verdict]) -> None:
    """asynchooks does what TensorFlow did, or what a rule says and the record holds."""
    assert [(each.line["id"], each.complaint) for each in verdicts if each.complaint] == []


def test_what_differs_by_rule_is_recorded(verdicts: list[Verdict]) -> None:
    """The record holds the trace of each scenario that a rule touches, and of no other."""
    touched = {each.line["id"]: each.trace for each in verdicts if each.rules}
    assert touched == EXPECTED


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_changes_what_it_touches(rule: Rule) -> None:
    """Each scenario that a rule touches has another trace than TensorFlow's."""
    touched = [line["id"] for line in SUPPORTED if rule.touches(line)]
    assert [each for each in touched if EXPECTED[each] == BY_ID[each]["trace"]] == []


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("line", DERIVED, ids=lambda line: line["title"])
def test_a_rare_difference_is_explained(line: Line, backend: str) -> None:
    """A rule that touches no public scenario explains the one that was made for it."""
    verdict = judge(line, backend, {})
    assert verdict.complaint is None
    assert verdict.rules


def test_each_rule_touches_something() -> None:
    """There is a scenario for each rule."""
    touching = {rule.id for line in SUPPORTED + DERIVED for rule in rules_for(line)}
    assert touching == {rule.id for rule in RULES}


def test_nothing_else_is_left_out() -> None:
    """Only scenarios of checkpoints, which do not exist yet, are not run."""
    reasons = {unsupported(line["scenario"]) for line in LINES} - {None}
    assert reasons == {"hook checkpoint", "state checkpoint"}


def matching_line() -> Line:
    """Returns a copy of a line that asynchooks matches."""
    return copy.deepcopy(BY_ID["lifecycle-03"])


def test_a_planted_wrong_event_is_unexplained(verdicts: list[Verdict]) -> None:
    """No rule explains an event that is wrong anywhere in a trace that matched."""
    for verdict in verdicts:
        for number, event in enumerate(verdict.trace["events"] if verdict.matches else ()):
            line = copy.deepcopy(verdict.line)
            line["trace"]["events"][number] = event | {"planted": True}
            complaint = compare(line, verdict.trace, EXPECTED).complaint
            assert complaint is not None
            assert complaint.startswith(f"event {number}: expected")


def test_a_planted_wrong_value_is_unexplained(verdicts: list[Verdict]) -> None:
    """No rule explains another value that a run gave in a trace that matched."""
    for verdict in verdicts:
        line = copy.deepcopy(verdict.line)
        values = [event for event in line["trace"]["events"] if "value" in event]
        if verdict.matches and values:
            values[-1]["value"] = "planted"
            assert compare(line, verdict.trace, EXPECTED).complaint is not None


def test_a_planted_missing_event_is_unexplained() -> None:
    """A trace that lacks its last event is not explained."""
    line = matching_line()
    del line["trace"]["events"][-1]
    assert (
        judge(line, "asyncio", EXPECTED).complaint
        == 'event 14: expected nothing, got {"e": "exit"}'
    )


def test_a_planted_other_record_is_unexplained() -> None:
    """A scenario that a rule touches is not explained by a trace that nobody recorded."""
    line = BY_ID["hook_error-05"]
    other = copy.deepcopy(EXPECTED[line["id"]])
    other["final"]["open"] = [0]
    complaint = compare(line, other, EXPECTED).complaint
    assert complaint is not None
    assert complaint.startswith("not what was recorded: final: expected")


def test_a_rule_that_changes_nothing_is_unexplained() -> None:
    """A scenario that a rule touches and that matches all the same is not explained."""
    line = BY_ID["hook_error-05"]
    assert compare(line, line["trace"], EXPECTED).complaint == (
        "touched by all-ends, which changes nothing"
    )


def test_the_tool_ends_well_where_all_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tool counts what matches, differs by rule and is not supported, and returns 0."""
    lines = [BY_ID[each] for each in ("lifecycle-03", "hook_error-05", "checkpoint-01")]
    assert main(["--backend", "trio", str(written(tmp_path, lines))]) == 0
    all_ends = next(rule.sentence for rule in RULES if rule.id == "all-ends")
    assert capsys.readouterr().out.splitlines() == [
        "on trio:",
        "  matching: 1",
        "  different by rule: 1",
        f"       1 all-ends: {all_ends}",
        "  unexplained: 0",
        "  not supported yet: 1",
        "       1 hook checkpoint",
    ]


def test_the_tool_fails_where_something_is_unexplained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tool names what is not explained, with the first difference, and returns 1."""
    line = matching_line()
    line["trace"]["final"]["open"] = [0]
    assert main(["--backend", "asyncio", str(written(tmp_path, [line]))]) == 1
    assert (
        '    lifecycle-03: final: expected {"finalized": false, "open": [0]}, got '
        '{"finalized": false, "open": []}' in capsys.readouterr().out.splitlines()
    )


def test_the_readme_tells_every_difference() -> None:
    """The sentence of each rule stands in the README."""
    readme = " ".join((Path(__file__).parents[2] / "README.md").read_text().split())
    assert [rule.id for rule in RULES if rule.sentence not in readme] == []


def test_the_rules_know_scenarios_that_nobody_recorded() -> None:
    """A rule judges from the scenario and TensorFlow's trace alone, whatever the id."""
    line = BY_ID["hook_error-05"] | {"id": "never-seen"}
    assert [rule.id for rule in rules_for(line)] == ["all-ends"]
    assert judge(line, "asyncio", EXPECTED).complaint is None


def written(folder: Path, lines: list[Line]) -> Path:
    """Writes lines into a scenario file."""
    path = folder / "scenarios.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
