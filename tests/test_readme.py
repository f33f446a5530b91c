"""What the README shows runs as printed, and what it names is there."""

from __future__ import annotations

import builtins
import re
import subprocess
import sys
import tomllib
import typing
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

import anyio
import pytest
from sybil import Document, Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser

import asynchooks as ah
from asynchooks import testing

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TEXT = README.read_text()
KNOWN = vars(ah) | vars(testing) | vars(builtins) | vars(typing)
RUN_EXAMPLE = (
    "python3 -m venv .venv && .venv/bin/pip install -q -e '.[example]' && "
    ".venv/bin/python examples/pipeline.py"
)


def run_block(example: Example) -> None:
    """Runs a block by itself, and keeps what it prints."""
    example.namespace.clear()
    with redirect_stdout(StringIO()) as printed:
        PythonEvaluator()(example)
    example.namespace["printed"] = printed.getvalue()


def check_output(example: Example) -> None:
    """Compares what the block before has printed."""
    assert example.namespace["printed"] == str(example.parsed)


def blocks_of(path: Path) -> Document:
    """Finds the blocks of Python in a Markdown file, and those of output."""
    parsers = [CodeBlockParser("python", run_block), CodeBlockParser("text", check_output)]
    return Sybil(parsers=parsers).parse(path)


def shown(language: str) -> list[str]:
    """Returns the blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def spans() -> set[str]:
    """Returns what stands in the text as code."""
    prose = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    return set(re.findall(r"`([^`]+)`", prose))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("block", range(len(shown("python"))))
def test_python_block_prints_what_is_shown(
    backend: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each block of Python is a program of its own and prints the block of text below it."""
    monkeypatch.setattr(anyio, "run", partial(anyio.run, backend=backend))
    examples = list(blocks_of(README))
    assert len(examples) == 2 * len(shown("python"))
    for example in examples[2 * block : 2 * block + 2]:
        example.evaluate()


@pytest.mark.timeout(300)
def test_python_blocks_pass_mypy(tmp_path: Path) -> None:
    """The blocks of Python are clean under mypy's strict mode."""
    files = [tmp_path / f"block_{number}.py" for number, _ in enumerate(shown("python"))]
    for file, block in zip(files, shown("python"), strict=True):
        file.write_text(block)
    command = [sys.executable, "-m", "mypy", "--strict", *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_wrong_output_is_found(tmp_path: Path) -> None:
    """A block that prints something else than is shown is an error."""
    file = tmp_path / "wrong.md"
    file.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    python, output = blocks_of(file)
    python.evaluate()
    with pytest.raises(AssertionError):
        output.evaluate()


def test_there_are_two_commands() -> None:
    """The commands for a shell are that of the main example and that of .ci/run."""
    run_tests = (ROOT / ".ci" / "run").read_text().splitlines()[-1]
    assert shown("sh") == [f"{RUN_EXAMPLE}\n", f"{run_tests}\n"]


def test_named_extras_are_there() -> None:
    """What the README installs is an extra of the package."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(re.findall(r"'\.\[(\w+)\]'", TEXT)) <= set(extras["optional-dependencies"])


def test_linked_files_are_there() -> None:
    """A link leads to a file of the project."""
    links = [link for link in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_named_classes_are_there() -> None:
    """What the text names as code, in capitals, can be imported and has the attribute named."""
    names = {span.partition("(")[0] for span in spans() if re.match(r"[A-Z]\w+[a-z]", span)}
    missing = [name for name in sorted(names) if not is_there(name)]
    assert missing == []


def test_methods_of_the_hook_are_listed_in_order() -> None:
    """The table of the hook's life has just the methods of the hook."""
    public = {name: value for name, value in vars(ah.SessionRunHook).items() if name[0] != "_"}
    methods = [name for name, value in public.items() if callable(value)]
    assert re.findall(r"^\| `(\w+)\(\w*(?:, \w+)?\)` \|", TEXT, re.MULTILINE) == methods


def test_every_reason_is_listed() -> None:
    """The table of ends has just the reasons that there are."""
    reasons = re.findall(r"\| (?:yes|no) \| `([^`]+)` \|$", TEXT, re.MULTILINE)
    assert sorted(reasons) == sorted(ah.EndReason)


def is_there(name: str) -> bool:
    """Tells whether a dotted name leads to something."""
    first, *rest = name.partition("[")[0].split(".")
    found: object = KNOWN.get(first)
    for attribute in rest:
        found = getattr(found, attribute, None)
    return found is not None
