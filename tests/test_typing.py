"""Case C90: the types of the package, as mypy and pyright in strict mode see them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ACCEPTED = ROOT / "tests" / "typing" / "accepted.py"
REJECTED = ROOT / "tests" / "typing" / "rejected.py"
FEWEST = 12

Refused = set[tuple[int, str]]

pytestmark = pytest.mark.timeout(300)


def output_of(*command: str) -> str:
    """Returns what a checker prints."""
    env = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def mypy(file: Path) -> Refused:
    """Returns the lines of a file that mypy refuses, and the codes of its reasons."""
    said = output_of("mypy", "--strict", "--no-pretty", "--hide-error-context", str(file))
    assert re.search(r"^(Found|Success)", said, re.MULTILINE), said
    found = re.findall(r"^(\S+):(\d+): error: .*\[([\w-]+)\]$", said, re.MULTILINE)
    assert {ROOT / name for name, _, _ in found} <= {file}, said
    return {(int(line), code) for _, line, code in found}


def pyright(file: Path) -> Refused:
    """Returns the lines of a file that pyright refuses, and the names of the rules."""
    said = output_of("pyright", "--outputjson", "--pythonpath", sys.executable, str(file))
    report = json.loads(said)
    assert report["summary"]["filesAnalyzed"] == 1, said
    return {
        (found["range"]["start"]["line"] + 1, found.get("rule", found["message"]))
        for found in report["generalDiagnostics"]
    }


def marked(place: int) -> Refused:
    """Returns the lines of rejected.py that have a mark above them, and the code in that place."""
    lines = enumerate(REJECTED.read_text().splitlines(), 1)
    marks = {n + 1: line.partition("# refused: ")[2] for n, line in lines}
    return {(n, codes.split(", ")[place]) for n, codes in marks.items() if codes}


@pytest.mark.parametrize("check", [mypy, pyright])
def test_accepted_file_is_clean(check: Callable[[Path], Refused]) -> None:
    """A file that uses the whole API as meant, and states what each result is, is clean."""
    assert check(ACCEPTED) == set()


@pytest.mark.parametrize(("check", "place"), [(mypy, 0), (pyright, 1)])
def test_marked_lines_are_refused(check: Callable[[Path], Refused], place: int) -> None:
    """Each wrong line is refused for its own reason, and no other line is."""
    assert check(REJECTED) == marked(place)
    assert len(marked(place)) >= FEWEST
