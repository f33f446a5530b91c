"""Measures one peer, and prints its rows, each as a line of JSON as soon as it is measured."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from contextlib import redirect_stdout
from dataclasses import replace

from tests.benchmarks.effort import QUICK, Effort
from tests.benchmarks.peers.contest import contest
from tests.benchmarks.peers.registry import PEERS


def main() -> None:
    """Is the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers", description=__doc__)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    effort = replace(QUICK if arguments.quick else Effort(), rounds=arguments.rounds)
    lines = sys.stdout
    with redirect_stdout(sys.stderr):  # what peers print is no row
        for row in contest(PEERS[arguments.peer], effort):
            print(json.dumps(row.as_json()), file=lines, flush=True)


if __name__ == "__main__":
    main()
