"""Linters and type checkers find nothing, and the floors of the package hold."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = Path(sys.executable).parent
LINT_IMPORTS = [str(TOOLS / "lint-imports"), "--no-cache", "--no-logo"]
PYRIGHT = [sys.executable, "-m", "pyright"]
FLOORS = "a module imports only from the floors below it"
LOOPS = "only _backend and the test kit's _native know the event loops by name"
PYRIGHT_NEEDS = {
    "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}",  # where pyright looks for this Python
    "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",  # it is not to ask the package index for newer versions
}

pytestmark = pytest.mark.timeout(300)


def run(command: list[str], folder: Path = ROOT) -> tuple[int, str]:
    """Runs a tool in a folder; returns its exit code and what it said."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | PYRIGHT_NEEDS,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    "command",
    [
        pytest.param([sys.executable, "-m", "ruff", "check"], id="ruff check"),
        pytest.param([sys.executable, "-m", "ruff", "format", "--check"], id="ruff format"),
        pytest.param(LINT_IMPORTS, id="import-linter"),
        pytest.param([sys.executable, "-m", "mypy", "--strict", "asynchooks"], id="mypy"),
        pytest.param(PYRIGHT, id="pyright"),
        pytest.param(
            [*PYRIGHT, "--verifytypes", "asynchooks", "--ignoreexternal"], id="pyright verifytypes"
        ),
    ],
)
def test_tool_finds_nothing(command: list[str]) -> None:
    """The tool, set up in pyproject.toml, is content with the project."""
    code, said = run(command)
    assert code == 0, f"\n{said}"


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("_errors", "from asynchooks import _session", FLOORS),
        ("_session", "from asynchooks._monitored import MonitoredSession", FLOORS),
        ("_recovery", "import asynchooks._step", FLOORS),
        ("_graph", "import asyncio", LOOPS),
        ("_session", "import trio", LOOPS),
    ],
)
def test_planted_import_is_found(tmp_path: Path, module: str, line: str, contract: str) -> None:
    """An import upwards, or of an event loop, breaks the contract that forbids it and no other."""
    copy_of_project(tmp_path)
    with (tmp_path / "asynchooks" / f"{module}.py").open("a") as file:
        file.write(f"\n\ndef _planted():\n    {line}\n")
    code, said = run(LINT_IMPORTS, tmp_path)
    assert code == 1, said
    assert re.findall(r"^(.*) BROKEN", said, re.MULTILINE) == [contract], said


def test_planted_module_is_found(tmp_path: Path) -> None:
    """A module that has no floor breaks the contract of the floors."""
    copy_of_project(tmp_path)
    (tmp_path / "asynchooks" / "_attic.py").touch()
    code, said = run(LINT_IMPORTS, tmp_path)
    assert code == 1, said
    assert "asynchooks._attic" in said


def test_ci_runs_the_test_command() -> None:
    """What checks a change is the command that the README tells a newcomer."""
    command = (ROOT / ".ci" / "run").read_text().splitlines()[-1]
    assert command in (ROOT / "README.md").read_text().splitlines()


def copy_of_project(folder: Path) -> None:
    """Puts the package and its settings into a folder."""
    shutil.copytree(ROOT / "asynchooks", folder / "asynchooks")
    shutil.copy(ROOT / "pyproject.toml", folder)
