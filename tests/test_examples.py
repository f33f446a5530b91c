"""The examples run as processes on both event loops, and do what they say."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import airportsdata
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
PIPELINE = EXAMPLES / "pipeline.py"
SERVICE = EXAMPLES / "service.py"
TRAINING = EXAMPLES / "training.py"
AIRPORTS = airportsdata.load("ICAO")
COUNTRIES = len({airport["country"] for airport in AIRPORTS.values()})
RUNS = -(-len(AIRPORTS) // 100)
ALL = (
    f"{len(AIRPORTS)} airports read, {len(AIRPORTS)} stored, {len(AIRPORTS)} different, "
    f"in {COUNTRIES} countries\n"
)

# Runs the pipeline in which the connection is lost at another run than usual.
LOSE_AT = "import anyio, pipeline, sys; anyio.run(pipeline.main, sys.argv[1], int(sys.argv[2]))"

# Runs the service, one caller of which sends a signal.
STOP_SERVICE = """
import os, signal, sys, anyio, service

async def call(session, answers, first, call=service.call):
    if first == 50:
        os.kill(os.getpid(), signal.Signals[sys.argv[2]])
    await call(session, answers, first)

service.call = call
anyio.run(service.main, backend=sys.argv[1])
"""

on_both_loops = pytest.mark.parametrize("backend", ["asyncio", "trio"])
by_both_signals = pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])


def start(*args: object) -> subprocess.Popen[str]:
    """Starts Python in the folder of the examples; what is not closed there is an error."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", *map(str, args)],
        cwd=EXAMPLES,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(process: subprocess.Popen[str]) -> str:
    """Waits for a process, which has to end well and without a word of complaint."""
    with process:
        printed, complaints = process.communicate()
    assert complaints == ""
    assert process.returncode == 0
    return printed


@on_both_loops
def test_pipeline_survives_the_loss_of_its_connection(backend: str) -> None:
    """All airports are stored once, over two connections, and the statistics say so."""
    assert output_of(start(PIPELINE, "--backend", backend)) == f"connected\nconnected\n{ALL}"


@pytest.mark.parametrize(("lose_at", "connections"), [(1, 2), (RUNS, 2), (0, 1)])
def test_pipeline_loses_no_row_whenever_it_is_disturbed(
    tmp_path: Path, lose_at: int, connections: int
) -> None:
    """A loss in the first run or in the last one changes nothing, and neither does none."""
    printed = output_of(start("-c", LOSE_AT, tmp_path / "airports.db", lose_at))
    assert printed == "connected\n" * connections + ALL


@on_both_loops
@by_both_signals
def test_pipeline_stops_on_request(tmp_path: Path, backend: str, name: str) -> None:
    """A signal ends it between two runs, cleanly; started again, it stores what was missing."""
    file = tmp_path / "airports.db"
    pipeline = start(PIPELINE, "--backend", backend, "--database", file)
    assert pipeline.stdout is not None
    assert pipeline.stdout.readline() == "connected\n"
    with closing(holding_up(file)) as database:
        pipeline.send_signal(signal.Signals[name])
        database.rollback()
    printed = output_of(pipeline)
    found = re.search(r"^(\d+) airports read, (\d+) stored, (\d+) different", printed, re.MULTILINE)
    assert found is not None, printed
    read, stored, different = map(int, found.groups())
    assert 0 < read == stored == different < len(AIRPORTS)
    assert output_of(start(PIPELINE, "--database", file)).endswith(ALL)


@on_both_loops
def test_service_recovers_once_for_all_callers(backend: str) -> None:
    """All callers get their answers, over as few connections as the backend allows."""
    printed = output_of(start(SERVICE, "--backend", backend))
    assert printed == "connected\n" * 3 + "10000 answers, 10000 of them right\n"


@on_both_loops
@by_both_signals
def test_service_stops_on_request(backend: str, name: str) -> None:
    """A signal lets the callers under way finish, and no further one begin."""
    printed = output_of(start("-c", STOP_SERVICE, backend, name))
    found = re.fullmatch(r"connected\n(\d+) answers, (\d+) of them right\n", printed)
    assert found is not None, printed
    answers, right = map(int, found.groups())
    assert 0 < answers == right < 4000


@on_both_loops
def test_training_stops_when_it_gets_no_better(backend: str) -> None:
    """It evaluates as it goes, stops two evaluations after the lowest loss, and reads digits."""
    printed = output_of(start(TRAINING, "--backend", backend))
    *evaluations, why, result = printed.splitlines()
    pattern = r"validation at step (\d+): loss = ([\d.e-]+), accuracy = [\d.]+"
    found = [re.fullmatch(pattern, line) for line in evaluations]
    losses = {int(each[1]): float(each[2]) for each in found if each is not None}
    steps = max(losses)
    assert list(losses) == list(range(200, steps + 1, 200)), printed
    assert 1000 <= steps < 200 * -(-1197 // 32)
    assert min(losses, key=lambda step: losses[step]) <= steps - 400
    assert why.startswith(f"at step {steps} validation/loss has not decreased from "), printed
    accuracy = re.fullmatch(rf"{steps} steps, ([\d.]+)% of the test images .*", result)
    assert accuracy is not None, printed
    assert float(accuracy[1]) > 95


@on_both_loops
def test_training_goes_on_where_it_was_killed(tmp_path: Path, backend: str) -> None:
    """Killed after some evaluations, it goes on as if nothing had been, to the same end."""
    training = start(TRAINING, "--backend", backend, tmp_path)
    assert training.stdout is not None
    with training:
        before = [training.stdout.readline() for _ in range(3)]
        training.kill()
    went_on = output_of(start(TRAINING, "--backend", backend, tmp_path))
    restored, *after = went_on.splitlines(keepends=True)
    undisturbed = output_of(start(TRAINING)).splitlines(keepends=True)
    assert before == undisturbed[:3]
    step = re.fullmatch(r"restored from checkpoint .*-(\d+)\n", restored)
    assert step is not None, restored
    # The checkpoint before the last one is there for certain: the last one waited for it.
    assert int(step[1]) >= 400
    assert after == undisturbed[int(step[1]) // 200 :]


def test_pipeline_is_short() -> None:
    """The main example has at most 100 lines."""
    assert len(PIPELINE.read_text().splitlines()) <= 100


@pytest.mark.timeout(300)
def test_examples_pass_mypy() -> None:
    """The examples are clean under mypy's strict mode."""
    command = [sys.executable, "-m", "mypy", "--strict", str(EXAMPLES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def holding_up(file: Path) -> sqlite3.Connection:
    """Returns a connection that keeps others from writing; there are airports by then."""
    database = sqlite3.connect(file, timeout=30, isolation_level="IMMEDIATE")
    while True:
        database.execute("DELETE FROM airport WHERE icao IS NULL")
        if database.execute("SELECT count(*) FROM airport").fetchone() != (0,):
            return database
        database.rollback()
