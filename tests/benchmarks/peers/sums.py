"""What the ops of a graph compute, so that its result shows that each of them had its part."""

from __future__ import annotations

from tests.benchmarks.shapes import Shape


def combine(*inputs: int) -> int:
    """Returns what an op makes of its inputs: their sum and one more, kept small."""
    return (sum(inputs) + 1) % 1_000_003


def by_hand(shape: Shape) -> list[int]:
    """Returns the values of the ends of a graph, computed in a plain loop."""
    values: list[int] = []
    for inputs in shape.inputs:
        values.append(combine(*[values[each] for each in inputs]))
    return [values[end] for end in shape.ends]
