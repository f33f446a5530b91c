"""The picture is drawn."""

from __future__ import annotations

import importlib.util
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SIZES = {
    "asynchooks, chain": {100: 0.4, 1_000: 0.35, 10_000: 0.36, 100_000: 0.4},
    "by hand, chain": {100: 0.14, 1_000: 0.13, 10_000: 0.13, 100_000: 0.14},
}
HOOKS = {"asynchooks": {0: 0.4, 1: 0.9, 10: 2.9}, "by hand": {0: 0.16, 1: 0.37, 10: 2.2}}


@pytest.mark.parametrize(("sizes", "hooks"), [(SIZES, HOOKS), ({}, {})], ids=["lines", "nothing"])
def test_picture_is_a_png(
    tmp_path: Path, sizes: dict[str, dict[int, float]], hooks: dict[str, dict[int, float]]
) -> None:
    """What is drawn is a PNG, wide enough for two panels side by side."""
    if importlib.util.find_spec("matplotlib") is None:
        pytest.skip("matplotlib is not installed")
    file = tmp_path / "costs.png"
    # In a process of its own, since matplotlib keeps the files of its fonts open.
    code = (
        "from tests.benchmarks.picture import draw;"
        f"draw({str(file)!r}, sizes={sizes!r}, hooks={hooks!r})"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, check=True)
    header = file.read_bytes()[:24]
    width, height = struct.unpack(">II", header[16:])
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    assert 1_000 <= width <= 2_000
    assert 400 <= height <= 1_000
