"""The checks that every test goes through find what they are for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PLANTED = """
import os, tempfile, threading, time
import anyio, pytest
from asynchooks import _backend

release = threading.Event()

async def sleep():
    await anyio.sleep(60)

async def test_task():
    import contextvars
    _backend.spawn_host_task(sleep, "straggler", contextvars.copy_context())

async def test_thread_in_a_loop():
    threading.Thread(target=release.wait, daemon=True, name="straggler").start()

def test_thread():
    threading.Thread(target=release.wait, daemon=True, name="straggler").start()

async def test_descriptor():
    os.open("/dev/null", os.O_RDONLY)

def test_temporary_file():
    os.close(tempfile.mkstemp()[0])

async def test_blocking_call(anyio_backend):
    time.sleep(0.001)
    assert anyio_backend == "trio"

async def test_clean():
    with tempfile.TemporaryFile():
        await anyio.to_thread.run_sync(int)

@pytest.mark.asyncio
async def test_clean_native():
    await anyio.sleep(0)
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest says of tests that misbehave, run with the checks of this folder."""
    file = tmp_path_factory.mktemp("planted") / "test_planted.py"
    file.write_text(PLANTED)
    plugins = ["-p", "tests.conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "-rA", "-c", "pyproject.toml", str(file)],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"COLUMNS": "300"},  # of which pytest's summary makes use
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("test_task[asyncio]", "task 'straggler'"),
        ("test_task[trio]", "task 'straggler'"),
        ("test_thread", "left behind: thread 'straggler'"),
        ("test_thread_in_a_loop[asyncio]", "left behind: thread 'straggler'"),
        ("test_thread_in_a_loop[trio]", "left behind: thread 'straggler'"),
        ("test_descriptor[asyncio]", "left behind: descriptor"),
        ("test_descriptor[trio]", "left behind: descriptor"),
        ("test_temporary_file", "left behind: temporary file 'tmp"),
        ("test_blocking_call[asyncio]", "Blocking call to time.sleep"),
    ],
)
def test_planted_leak_is_found(report: str, test: str, found: str) -> None:
    """A test that leaves something behind, or blocks the loop, fails with the name of it."""
    lines = re.findall(r"^(?:ERROR|FAILED) \S*::(.*)$", report, re.MULTILINE)
    assert [line for line in lines if line.startswith(f"{test} ") and found in line], report


def test_clean_test_passes(report: str) -> None:
    """A test that cleans up passes on both loops, and natively, whatever others left behind."""
    passed = set(re.findall(r"^PASSED \S*::(test_clean.*)$", report, re.MULTILINE))
    assert passed == {"test_clean[asyncio]", "test_clean[trio]", "test_clean_native"}, report
