"""A kill -9 at any moment loses no checkpoint that was acknowledged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkpoint.crash.__main__ import main
from tests.checkpoint.crash.killing import kill_again_and_again


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_no_kill_breaks_a_checkpoint(tmp_path: Path, loop: str) -> None:
    """A process killed in the middle of its commits is gone on from at its last, a hundred times.

    The checkpoint found is the last that was acknowledged, or the one that had begun; no other
    file is left once the next commit has returned.
    """
    assert kill_again_and_again(tmp_path, 100, loop=loop) == {"kills": 100}


def test_planted_writer_in_place_is_caught(tmp_path: Path) -> None:
    """A store that writes under the final name is caught with a torn file."""
    found = kill_again_and_again(tmp_path, 16, store="in place")
    assert found["torn"] > 0, found


@pytest.mark.parametrize(("store", "code"), [("directory", 0), ("in place", 1)])
def test_more_kills_can_be_asked_for(
    capsys: pytest.CaptureFixture[str], store: str, code: int
) -> None:
    """`python -m tests.checkpoint.crash` says what it found, and fails if a promise is broken."""
    assert main(["--kills", "16", "--store", store]) == code
    assert capsys.readouterr().out.startswith("kills: 16\n" if code == 0 else "kills: 16, torn: ")
