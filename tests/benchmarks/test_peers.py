"""Peers are compared at the same work, and what went wrong is told instead of a figure."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import ModuleType

import pytest

from tests.benchmarks.effort import QUICK
from tests.benchmarks.measuring import Work
from tests.benchmarks.peers import PeerRow, compare
from tests.benchmarks.peers.children import rows_of
from tests.benchmarks.peers.contest import contest
from tests.benchmarks.peers.jobs import Job, Unable, step_job
from tests.benchmarks.peers.ours import VALUE
from tests.benchmarks.peers.registry import PEERS, Peer
from tests.benchmarks.peers.sums import by_hand
from tests.benchmarks.peers.tally import Tally
from tests.benchmarks.shapes import SHAPES

FAKE = Peer("fake", "fake", ("fake-that-nobody-installs",), "fake_peer_module")


@asynccontextmanager
async def right(tally: Tally) -> AsyncGenerator[Work]:
    """Does a step with one hook."""

    async def work(count: int) -> object:
        for _ in range(count):
            tally.calls += 2
        return VALUE

    yield work


@asynccontextmanager
async def wrong_result(tally: Tally) -> AsyncGenerator[Work]:
    """Returns something else than the value of the step."""
    async with right(tally) as work:

        async def wrong(count: int) -> object:
            await work(count)
            return VALUE + 1

        yield wrong


@asynccontextmanager
async def no_hooks(tally: Tally) -> AsyncGenerator[Work]:
    """Returns the value, and calls no hook."""
    async with right(Tally()) as work:
        yield work


@asynccontextmanager
async def broken(tally: Tally) -> AsyncGenerator[Work]:
    """Cannot be set up."""
    raise ValueError("a bad start")
    yield


def rows_of_fake(monkeypatch: pytest.MonkeyPatch, *jobs: Job | Unable) -> list[PeerRow]:
    """Returns the rows of a peer that has these jobs."""
    module = ModuleType(FAKE.module)
    monkeypatch.setattr(module, "jobs", lambda effort: iter(jobs), raising=False)
    monkeypatch.setitem(sys.modules, FAKE.module, module)
    return list(contest(FAKE, QUICK))


def test_row_tells_how_many_times_ours() -> None:
    """A row divides the peer's figure by ours, and comes back from JSON as it was."""
    row = PeerRow("a job", "peer 1.0", 6.0, 2.0, "a note")
    assert row.times_ours == 3.0
    assert row.as_json()["times_ours"] == 3.0
    assert PeerRow.from_json(json.loads(json.dumps(row.as_json()))) == row


def test_row_without_figure_has_no_ratio() -> None:
    """A row that only tells why there is no figure has none of them, also as JSON."""
    row = PeerRow("all", "peer", note="not installed")
    assert row.times_ours is None
    assert json.loads(json.dumps(row.as_json()))["value"] is None


def test_right_work_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that does the work gets a figure, and so do we, for the same job."""
    [row] = rows_of_fake(monkeypatch, step_job(1, right, note="a note"))
    assert (row.work, row.peer, row.note) == ("one step, 1 hook", "fake", "a note")
    assert row.value is not None
    assert row.ours is not None
    assert min(row.value, row.ours) > 0


@pytest.mark.parametrize(
    ("work", "note"),
    [
        (wrong_result, "wrong: the peer gave (2, Tally(calls=2, fetched=0)), not (1, Tally("),
        (no_hooks, "wrong: the peer gave (1, Tally(calls=0, fetched=0)), not (1, Tally("),
        (broken, "failed: ValueError: a bad start"),
    ],
)
def test_work_not_done_gets_no_figure(
    monkeypatch: pytest.MonkeyPatch, work: object, note: str
) -> None:
    """What gives a wrong result, leaves out hooks or fails is named, and the next job is done."""
    job = step_job(1, work)  # type: ignore[arg-type]
    bad, good = rows_of_fake(monkeypatch, job, step_job(1, right))
    assert (bad.value, bad.ours) == (None, None)
    assert bad.note.startswith(note)
    assert good.value is not None


def test_what_a_peer_cannot_do_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that a peer has no means for is a row that says so."""
    rows = rows_of_fake(monkeypatch, Unable("graph", "it has hooks alone"))
    assert rows == [PeerRow("graph", "fake", note="cannot: it has hooks alone")]


def test_peer_that_cannot_be_imported_is_told() -> None:
    """An installed peer that fails to be imported is a row that says so."""
    [row] = contest(FAKE, QUICK)
    assert row.note == "failed: ModuleNotFoundError: No module named 'fake_peer_module'"


def test_peers_that_are_not_installed_are_listed() -> None:
    """Every peer of the registry that is not there has one row, which says that."""
    absent = {name: replace(peer, package="nobody_installs_this") for name, peer in PEERS.items()}
    rows = compare(rounds=1, quick=True, peers=absent)
    assert rows == [PeerRow("all", name, note="not installed") for name in PEERS]


def test_rows_before_a_crash_are_kept() -> None:
    """A process that dies in the middle leaves its rows so far, and one with its last words."""
    row = PeerRow("a job", "fake", 2.0, 1.0)
    code = f"print({json.dumps(row.as_json())!r}); raise SystemExit('out of luck')"
    assert rows_of("fake", [sys.executable, "-c", code]) == [
        row,
        PeerRow("the rest", "fake", note="failed: out of luck"),
    ]


def test_process_that_hangs_is_ended() -> None:
    """A process that takes too long is ended, and told of."""
    command = [sys.executable, "-c", "import threading; threading.Event().wait()"]
    rows = rows_of("fake", command, seconds=0.1)
    assert rows == [PeerRow("the rest", "fake", note="failed: took more than 0.1 s")]


@pytest.mark.parametrize("name", SHAPES)
def test_result_depends_on_each_op(name: str) -> None:
    """The ends of a graph have the values that a sum over all their inputs gives."""
    shape = SHAPES[name](100)
    values: list[int] = []
    for inputs in shape.inputs:
        values.append(sum(values[each] for each in inputs) + 1)
    assert by_hand(shape) == [values[end] % 1_000_003 for end in shape.ends]


@pytest.mark.parametrize("name", PEERS)
def test_installed_peer_does_its_jobs(name: str) -> None:
    """Each peer that is installed does the work that it is measured with."""
    if not PEERS[name].installed:
        pytest.skip(f"{name} is not installed")
    rows = compare(rounds=1, quick=True, peers={name: PEERS[name]})
    assert any(row.value for row in rows)
    assert [row for row in rows if row.value is None and not row.note.startswith("cannot")] == []
