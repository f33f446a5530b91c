"""Each peer in a process of its own, since the large heap of one slows the tasks of another."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.benchmarks.peers.registry import PEERS, Peer
from tests.benchmarks.peers.rows import PeerRow

_ROOT = Path(__file__).parents[3]
_SECONDS_OF_A_PEER = 60.0


def compare(*, rounds: int, quick: bool, peers: Mapping[str, Peer] = PEERS) -> list[PeerRow]:
    """Measures the peers that are installed, one after the other.

    Args:
        rounds: how often a peer and we have our turns at each job.
        quick: whether only to show that everything can be measured.
        peers: which peers.

    Returns:
        A row for each job of each peer, and one without a figure for each that is not installed.
    """
    rows: list[PeerRow] = []
    for name, peer in peers.items():
        if not peer.installed:
            rows.append(PeerRow("all", name, note="not installed"))
            continue
        command = [sys.executable, "-m", "tests.benchmarks.peers", name, "--rounds", str(rounds)]
        rows += rows_of(peer.title, [*command, "--quick"] if quick else command)
    return rows


def rows_of(
    title: str, command: Sequence[str], seconds: float = _SECONDS_OF_A_PEER
) -> list[PeerRow]:
    """Runs a command that prints rows, and tells in a row of its own if it breaks off.

    Args:
        title: the name and version of the peer.
        command: prints each row as a line of JSON.
        seconds: how long it may take.

    Returns:
        The rows that it printed.
    """
    with subprocess.Popen(
        command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            printed, complaints = child.communicate(timeout=seconds)
            reason = (complaints.strip().splitlines() or [f"exit code {child.returncode}"])[-1]
        except subprocess.TimeoutExpired:
            child.kill()
            printed, _ = child.communicate()
            reason = f"took more than {seconds:g} s"
    rows = [PeerRow.from_json(json.loads(line)) for line in printed.splitlines()]
    if child.returncode != 0:
        rows.append(PeerRow("the rest", title, note=f"failed: {reason}"))
    return rows
