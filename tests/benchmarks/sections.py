"""All sections of the table, in its order."""

from __future__ import annotations

import gc
import sys

from tests.benchmarks import callers, graphs, growth, memory, steps, turns, waiting
from tests.benchmarks.effort import Effort
from tests.benchmarks.rows import Row

SECTIONS = (
    steps.SECTION,
    graphs.SECTION,
    waiting.SECTION,
    growth.SECTION,
    memory.SECTION,
    callers.SECTION,
    turns.SECTION,
)


def measured(effort: Effort, only: str = "") -> list[Row]:
    """Measures the rows whose group or name contains a text; says on stderr how far it is.

    Args:
        effort: how much is measured.
        only: the text; every row contains the empty one.
    """
    rows: list[Row] = []
    for section in SECTIONS:
        if section.mentions(only):
            print(f"measuring: {section.group} ...", file=sys.stderr)
            rows += section.measure(effort)
            gc.collect()  # a heap that is large slows down what is measured next
    return [row for row in rows if only in row.group or only in row.what]
