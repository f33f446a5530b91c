"""Runs scenario files: ``python -m tests.contract [--backend asyncio|trio] FILE...``."""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.contract.rules import RULES
from tests.contract.scenarios import load
from tests.contract.verdicts import EXPECTED, Verdict, judge, record, recorded

BACKENDS = ("asyncio", "trio")


def main(arguments: Sequence[str]) -> int:
    """Runs the files; returns 1 if a scenario is not explained."""
    parser = argparse.ArgumentParser(prog="tests.contract", description="Run scenario files.")
    parser.add_argument("--backend", choices=BACKENDS, action="append", help="default: both")
    parser.add_argument(
        "--record", action="store_true", help=f"write {EXPECTED.name}: what differs by rule"
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    expected = {} if options.record else recorded()
    lines = [line for file in options.files for line in load(file)]
    failed = False
    for backend in options.backend or BACKENDS:
        verdicts = [judge(line, backend, expected) for line in lines]
        print(report(backend, verdicts))
        failed = failed or any(verdict.complaint for verdict in verdicts)
        if options.record:
            record(verdicts)
    return int(failed)


def report(backend: str, verdicts: Sequence[Verdict]) -> str:
    """Returns what the tool prints about one event loop."""
    by_rule = Counter(rule.id for verdict in verdicts for rule in verdict.rules)
    reasons = Counter(verdict.unsupported for verdict in verdicts if verdict.unsupported)
    explained = [verdict for verdict in verdicts if verdict.rules and not verdict.complaint]
    unexplained = [verdict for verdict in verdicts if verdict.complaint]
    lines = [
        f"on {backend}:",
        f"  matching: {sum(verdict.matches for verdict in verdicts)}",
        f"  different by rule: {len(explained)}",
        *(f"    {by_rule[r.id]:4} {r.id}: {r.sentence}" for r in RULES if by_rule[r.id]),
        f"  unexplained: {len(unexplained)}",
        *(f"    {verdict.line['id']}: {verdict.complaint}" for verdict in unexplained),
        f"  not supported yet: {sum(reasons.values())}",
        *(f"    {count:4} {reason}" for reason, count in reasons.most_common()),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    logging.disable()
    sys.exit(main(sys.argv[1:]))
