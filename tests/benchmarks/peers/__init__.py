"""The peers that are installed, each beside us at the same work, in a process of its own."""

from __future__ import annotations

from tests.benchmarks.peers.children import compare
from tests.benchmarks.peers.rows import PeerRow

__all__ = ["PeerRow", "compare"]
