"""The tables as text."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tests.benchmarks.rows import Row
from tests.benchmarks.steps import CONTROL

if TYPE_CHECKING:
    from tests.benchmarks.peers import PeerRow

_HEAD = (
    "group",
    "what",
    "loop",
    "limit",
    "ours",
    "unit",
    "ratio",
    "goal",
    "verdict",
    "noise",
    "limit is",
)
_FIGURES = {"limit", "ours", "ratio", "goal", "noise"}
_PEER_HEAD = ("work", "peer", "peer's", "ours", "unit", "times ours", "note")
_PEER_FIGURES = {"peer's", "ours", "times ours"}


def machine_text(facts: Mapping[str, str]) -> str:
    """Returns the facts of the machine, one in a line."""
    return "\n".join(f"{name}: {fact}" for name, fact in facts.items())


def table_text(rows: Sequence[Row]) -> str:
    """Returns the table of our own rows."""
    return _aligned(_HEAD, [_cells(row) for row in rows], _FIGURES)


def peers_text(rows: Sequence[PeerRow]) -> str:
    """Returns the table of the peers."""
    cells = [
        (
            row.work,
            row.peer,
            _figure(row.value),
            _figure(row.ours),
            row.unit,
            _figure(row.times_ours),
            row.note,
        )
        for row in rows
    ]
    return _aligned(_PEER_HEAD, cells, _PEER_FIGURES)


def summary_text(rows: Sequence[Row]) -> str:
    """Returns how many goals were reached, which were not, and how noisy the machine was."""
    verdicts = [row.reached for row in rows if row.reached is not None]
    lines = [f"goals reached: {sum(verdicts)} of {len(verdicts)}"]
    lines += [
        f"  missed: {row.group}: {row.what} ({row.loop}): {_ratio(row)}, goal {_goal(row)}"
        for row in rows
        if row.reached is False
    ]
    noises = [row.noise for row in rows if row.noise is not None]
    if noises:
        share = statistics.median(noises)
        lines.append(f"noise: the middle round is {share:.0%} above the best (median of the rows)")
    lines += [
        f"control ({row.loop}): the same loop against itself {row.ratio:.2f}, to be 1.00"
        for row in rows
        if row.what == CONTROL
    ]
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    noise = "" if row.noise is None else f"{row.noise:.0%}"
    figures = (_figure(row.limit), _figure(row.value), row.unit, _ratio(row), _goal(row))
    return (row.group, row.what, row.loop, *figures, row.verdict, noise, row.limit_is)


def _goal(row: Row) -> str:
    if row.goal is None:
        return ""
    return f"{'>=' if row.at_least else '<='} {row.goal:g}"


def _ratio(row: Row) -> str:
    return f"{row.ratio:.2f}"


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    if float(value).is_integer() and abs(value) < 100_000:
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def _aligned(head: tuple[str, ...], lines: Iterable[tuple[str, ...]], figures: set[str]) -> str:
    table = [head, *lines]
    widths = [max(len(line[column]) for line in table) for column in range(len(head))]
    right = [name in figures for name in head]
    aligned = [
        "  ".join(
            cell.rjust(width) if is_figure else cell.ljust(width)
            for cell, width, is_figure in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in table
    ]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([aligned[0], rule, *aligned[1:]])
