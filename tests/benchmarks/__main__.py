"""The command: `python -m tests.benchmarks`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from tests.benchmarks import curves, sections, table
from tests.benchmarks.effort import QUICK, Effort
from tests.benchmarks.machine import facts
from tests.benchmarks.rows import Row

if TYPE_CHECKING:
    from tests.benchmarks.peers import PeerRow


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, prints the tables, and writes what is asked for; a missed goal is no failure."""
    start = perf_counter()
    options = _parsed(arguments)
    effort = _effort(options)
    print(table.machine_text(facts()), "\n", sep="")
    if options.quick:
        print("quick: sizes are smaller than the names of rows say, and figures mean nothing\n")
    rows = sections.measured(effort, options.only)
    print(table.table_text(rows), table.summary_text(rows), sep="\n\n")
    peers = _peers(effort, quick=options.quick) if options.peers else []
    drawn = _draw(options.picture, effort) if options.picture else {}
    seconds = perf_counter() - start
    print(f"\ntook {seconds:.0f} s")
    if options.json:
        _write(options.json, effort, rows, peers, drawn | {"seconds": seconds})


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="Measures what asynchooks costs, beside hand-written code.",
    )
    parser.add_argument("--peers", action="store_true", help="add the peers that are installed")
    parser.add_argument("--json", metavar="FILE", help="keep everything as JSON")
    parser.add_argument("--picture", metavar="FILE", help="draw cost against size, as PNG")
    parser.add_argument("--only", metavar="TEXT", default="", help="rows that contain the text")
    parser.add_argument("--rounds", metavar="N", type=_count, help="7 if not given")
    parser.add_argument(
        "--quick", action="store_true", help="show that it works; figures mean nothing"
    )
    options = parser.parse_args(arguments)
    if options.picture and find_spec("matplotlib") is None:
        parser.error("the picture needs matplotlib")
    return options


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError("there is to be at least one round")
    return count


def _effort(options: argparse.Namespace) -> Effort:
    effort = QUICK if options.quick else Effort()
    return replace(effort, rounds=options.rounds) if options.rounds else effort


def _peers(effort: Effort, *, quick: bool) -> list[PeerRow]:
    from tests.benchmarks.peers import compare

    rows = compare(rounds=effort.rounds, quick=quick)
    print("", table.peers_text(rows), sep="\n")
    return rows


def _draw(file: str, effort: Effort) -> dict[str, object]:
    from tests.benchmarks.picture import draw

    sizes, hooks = curves.by_size(effort), curves.by_hooks(effort)
    draw(file, sizes=sizes, hooks=hooks)
    return {"us per op by ops": sizes, "us per run by hooks": hooks}


def _write(
    file: str,
    effort: Effort,
    rows: list[Row],
    peers: list[PeerRow],
    others: dict[str, object],
) -> None:
    kept = {
        "machine": facts(),
        "effort": asdict(effort),
        "rows": [row.as_json() for row in rows],
        "peers": [row.as_json() for row in peers],
        **others,
    }
    Path(file).write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
