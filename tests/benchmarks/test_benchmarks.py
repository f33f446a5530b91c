"""The command measures every row of the table, and its figures say what they seem to."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import __main__ as command
from tests.benchmarks import sections, step_contenders, steps
from tests.benchmarks.effort import QUICK, Effort
from tests.benchmarks.rows import Row
from tests.benchmarks.section import Section

ROOT = Path(__file__).parents[2]

ONE = ["asyncio"]
BOTH = ["asyncio", "trio"]
EXPECTED = {
    "step": {
        "control: the same loop twice": BOTH,
        "0 hooks": BOTH,
        "0 hooks, beside a loop over no hooks": ONE,
        "the check for cancellation alone": ONE,
        "0 hooks without the check": ONE,
        "1 hook": BOTH,
        "10 hooks": BOTH,
        "10 hooks, beside pluggy": ONE,
        "10 hooks that override nothing": BOTH,
        "10 hooks, each asks for 1 fetch": BOTH,
        "10 hooks, each asks for an op of its own": BOTH,
        "10 hooks, each asks for 1 fetch, beside TensorFlow": ONE,
        "what recovery adds": BOTH,
    },
    "graph, per op": {
        "chain, 1,000 ops": BOTH,
        "chain, 1,000 ops, beside tasks": ONE,
        "fan-out + join, 1,000 ops": BOTH,
        "fan-out + join, 1,000 ops, beside tasks": ONE,
        "layered, 1,000 ops": BOTH,
        "layered, 1,000 ops, beside tasks": ONE,
        "diamonds, 1,000 ops": BOTH,
        "chain, 1,000 ops that suspend": BOTH,
        "chain, 1,000 ops that suspend, beside tasks": ONE,
        "fan-out + join, 1,000 ops that suspend": BOTH,
        "fan-out + join, 1,000 ops that suspend, beside tasks": ONE,
        "layered, 1,000 ops that suspend": BOTH,
        "layered, 1,000 ops that suspend, beside tasks": ONE,
        "diamonds, 1,000 ops that suspend": BOTH,
    },
    "waiting": {
        "fan-out of 1,000 ops that wait 10 ms": BOTH,
        "ops in flight at once": BOTH,
    },
    "growth, per op": {
        "chain, build, plan and first run of 100,000 ops": ONE,
        "chain, build, plan and first run, beside 10,000 ops": ONE,
        "chain, a run of 100,000 ops": BOTH,
        "fan-out + join, build, plan and first run of 100,000 ops": ONE,
        "fan-out + join, build, plan and first run, beside 10,000 ops": ONE,
        "fan-out + join, a run of 100,000 ops": BOTH,
        "layered, build, plan and first run of 100,000 ops": ONE,
        "layered, build, plan and first run, beside 10,000 ops": ONE,
        "layered, a run of 100,000 ops": BOTH,
    },
    "memory, per op": {
        "chain, peak of a run": BOTH,
        "chain, peak of a run of ops that suspend": BOTH,
        "chain, graph and plan": ONE,
        "fan-out + join, peak of a run": BOTH,
        "fan-out + join, peak of a run of ops that suspend": BOTH,
        "fan-out + join, graph and plan": ONE,
        "layered, peak of a run": BOTH,
        "layered, peak of a run of ops that suspend": BOTH,
        "layered, graph and plan": ONE,
        "diamonds, peak of a run": BOTH,
        "diamonds, peak of a run of ops that suspend": BOTH,
        "diamonds, graph and plan": ONE,
    },
    "callers": {
        "10,000 runs at once, 1 hook, per call": BOTH,
        "10,000 runs at once, memory per call beyond by hand": BOTH,
        "dead session met by 10,000: recreations": BOTH,
        "dead session met by 10,000: wait per caller": BOTH,
        "dead session met by 10,000: whole time per caller": BOTH,
    },
    "longest turn": {
        "runs of 1 op": BOTH,
        "runs of a chain of 1,000 ops": BOTH,
        "runs of a fan-out of 1,000 ops": BOTH,
        "a run of a chain of 100,000 ops": BOTH,
    },
}
# Differences of two figures: in a quick run they may come out on either side of zero.
DIFFERENCES = {
    "0 hooks without the check",
    "what recovery adds",
    "10,000 runs at once, memory per call beyond by hand",
    "dead session met by 10,000: wait per caller",
}


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """Runs the quick command; returns what it printed and what it kept."""
    file = tmp_path_factory.mktemp("quick") / "kept.json"
    printed = run_command("--quick", "--json", str(file))
    return printed, json.loads(file.read_text(), parse_constant=not_json)


def run_command(*arguments: str) -> str:
    """Runs the command; returns what it printed."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.benchmarks", *arguments],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def not_json(constant: str) -> None:
    """Refuses what Python's JSON has beyond the standard's."""
    raise ValueError(f"{constant} is no JSON")


def loops_of_rows(rows: list[dict[str, Any]]) -> dict[str, dict[str, list[str]]]:
    """Returns the event loops of rows by group and name."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        found.setdefault(row["group"], {}).setdefault(row["what"], []).append(row["loop"])
    return {
        group: {name: sorted(loops) for name, loops in names.items()}
        for group, names in found.items()
    }


def test_every_row_is_measured(quick: tuple[str, dict[str, Any]]) -> None:
    """The command measures each row of the table, on the event loops that it is stated for."""
    assert loops_of_rows(quick[1]["rows"]) == EXPECTED


def test_every_row_is_printed(quick: tuple[str, dict[str, Any]]) -> None:
    """What was measured stands in the printed table, with its group, loop and verdict."""
    lines = [" ".join(line.split()) for line in quick[0].splitlines()]
    for row in quick[1]["rows"]:
        start = f"{row['group']} {row['what']} {row['loop']} "
        printed = [line for line in lines if line.startswith(start)]
        assert [row["verdict"] in line for line in printed] == [True], start


def test_figures_are_figures(quick: tuple[str, dict[str, Any]]) -> None:
    """Limits, values and rounds are finite and above zero, but for differences."""
    for row in quick[1]["rows"]:
        figures = [row["value"], row["ratio"], *row["rounds"]]
        assert all(map(math.isfinite, figures)), row
        assert row["limit"] > 0, row
        assert row["what"] in DIFFERENCES or all(figure > 0 for figure in figures), row


def test_a_dead_session_is_recreated_once(quick: tuple[str, dict[str, Any]]) -> None:
    """However many callers meet a dead session, there is one recreation."""
    rows = [row for row in quick[1]["rows"] if row["what"].endswith("recreations")]
    assert [row["value"] for row in rows] == [1, 1]


def test_the_machine_is_named(quick: tuple[str, dict[str, Any]]) -> None:
    """Versions, platform, cores and the time it took are printed and kept."""
    printed, kept = quick
    facts = kept["machine"]
    assert facts.keys() == {"python", "platform", "cores", "asynchooks", "anyio", "trio"}
    assert all(f"{name}: {fact}" in printed for name, fact in facts.items())
    assert kept["seconds"] > 0
    assert "goals reached: " in printed


def test_sections_name_their_rows(quick: tuple[str, dict[str, Any]]) -> None:
    """The names by which sections are chosen are those of the rows that they measure."""
    named = {section.group: sorted(section.names) for section in sections.SECTIONS}
    found = loops_of_rows(quick[1]["rows"])
    assert named == {group: sorted(names) for group, names in found.items()}


def test_pluggy_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pluggy is not installed its recorded figure is the limit, and the row says so."""
    monkeypatch.setattr(step_contenders, "find_spec", lambda name: None)
    rows = {(row.what, row.loop): row for row in steps.measured(QUICK)}
    row = rows["10 hooks, beside pluggy", "asyncio"]
    assert (row.limit, row.limit_is) == (13.0, "pluggy, awaited by hand, recorded")


def planted_section(group: str, *names: str) -> Section:
    """Returns a section of planted rows."""

    def measure(effort: Effort) -> list[Row]:
        return [Row(group, name, "asyncio", 1, 2, "us", 1) for name in names]

    return Section(group, names, measure)


@pytest.mark.parametrize(
    ("only", "names"),
    [("", ["a", "ab", "b"]), ("a", ["a", "ab"]), ("second", ["b"]), ("nothing", [])],
)
def test_only_some_rows(
    monkeypatch: pytest.MonkeyPatch, only: str, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """`only` leaves the rows whose group or name contains it, and measures no other section."""
    planted = planted_section("first", "a", "ab"), planted_section("second", "b")
    monkeypatch.setattr(sections, "SECTIONS", planted)
    rows = sections.measured(QUICK, only)
    assert [row.what for row in rows] == names
    assert capsys.readouterr().err.count("measuring") == len({row.group for row in rows})


def test_missed_goals_are_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The command ends well where a goal is missed, and says so."""
    missed = Row("step", "0 hooks", "trio", 3, 2, "us", 1.2)
    control = Row("step", steps.CONTROL, "trio", 2, 2, "us", None)
    section = Section("step", ("0 hooks",), lambda effort: [missed, control])
    monkeypatch.setattr(sections, "SECTIONS", (section,))
    file = tmp_path / "kept.json"
    command.main(["--json", str(file), "--rounds", "2"])
    printed = capsys.readouterr().out
    assert "goals reached: 0 of 1" in printed
    assert "missed: step: 0 hooks (trio): 1.50, goal <= 1.2" in printed
    kept = json.loads(file.read_text())
    assert [row["verdict"] for row in kept["rows"]] == ["missed", "-"]
    assert kept["effort"]["rounds"] == 2


@pytest.mark.parametrize("rounds", ["0", "-1", "many"])
def test_rounds_are_one_or_more(rounds: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A number of rounds that is none is refused."""
    with pytest.raises(SystemExit):
        command.main(["--rounds", rounds])
    assert "--rounds" in capsys.readouterr().err


def test_picture_needs_matplotlib(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without matplotlib a picture is refused before anything is measured."""
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        command.main(["--picture", "costs.png"])
    assert "matplotlib" in capsys.readouterr().err
