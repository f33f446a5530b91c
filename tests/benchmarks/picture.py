"""The picture of what runs cost: by number of ops, and by number of hooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Lines = Mapping[str, Mapping[int, float]]
"""For each line's name, microseconds by what is counted below."""

# Okabe and Ito's palette, in which the colour-blind tell the lines apart too; so do the markers.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vPX"


def draw(file: str, *, sizes: Lines, hooks: Lines) -> None:
    """Draws what graphs cost beside what hooks cost, as a PNG.

    Args:
        file: the path of the picture.
        sizes: for each line, microseconds per op by number of ops.
        hooks: for each line, microseconds per run by number of hooks.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    figure = Figure(figsize=(12, 5), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_lines(left, sizes)
    left.set(title="What an op costs in a graph", xlabel="ops in the graph", ylabel="us per op")
    left.set(xscale="log", yscale="log")
    left.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    _draw_lines(right, hooks)
    right.set(
        title="What a run of one op costs", xlabel="hooks", ylabel="us per run", ylim=(0, None)
    )
    right.set_xticks(sorted({count for line in hooks.values() for count in line}))
    for axis in (left.xaxis, left.yaxis):
        axis.set_major_formatter("{x:,g}")
    figure.savefig(file, format="png")


def _draw_lines(axes: Axes, lines: Lines) -> None:
    for place, (name, costs) in enumerate(lines.items()):
        counts = sorted(costs)
        axes.plot(
            counts,
            [costs[count] for count in counts],
            label=name,
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=5,
        )
    axes.grid(which="major", color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if lines:
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, -0.14), ncols=2)
