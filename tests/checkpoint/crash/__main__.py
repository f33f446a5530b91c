"""More kills than the tests make: `python -m tests.checkpoint.crash --kills 10000`."""

from __future__ import annotations

import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from tests.checkpoint.crash.killing import kill_again_and_again
from tests.checkpoint.crash.victim import STORES


def main(arguments: Sequence[str] | None = None) -> int:
    """Kills, says what was found, and returns 1 if a promise was broken."""
    parser = ArgumentParser(prog="python -m tests.checkpoint.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=10_000)
    parser.add_argument("--store", choices=STORES, default="directory")
    parser.add_argument("--loop", choices=["asyncio", "trio"], default="asyncio")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = kill_again_and_again(
            Path(folder), options.kills, loop=options.loop, store=options.store
        )
    print(*(f"{name}: {number}" for name, number in found.items()), sep=", ")
    return int(set(found) != {"kills"})


if __name__ == "__main__":
    sys.exit(main())
