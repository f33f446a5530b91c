"""The summaries of a graph: scalars that are written now and then, each under a tag."""

from __future__ import annotations

from typing import Any

from asynchooks._graph import Graph, Op, is_op

SUMMARIES = "summaries"
"""The name of the collection that holds the tags and their ops."""


def scalar_summary(tag: str, tensor: Op[Any]) -> Op[Any]:
    """Has `SummarySaverHook` write the value of an op under a tag.

    Carries over ``tf.compat.v1.summary.scalar``, whose result is a summary; this one is the op.

    Args:
        tag: unique in the graph of the op.
        tensor: an op whose value is a number.

    Returns:
        `tensor`.

    Raises:
        TypeError: `tag` is no string, or `tensor` is no op.
        ValueError: another op of the graph has it.
    """
    if not isinstance(tag, str):
        raise TypeError(f"the tag of a summary is to be a string, not {tag!r}")
    if not is_op(tensor):
        raise TypeError(f"the summary {tag!r} is to be of an op, not of {tensor!r}")
    taken = summaries_of(tensor.graph).get(tag)
    if taken is None:
        tensor.graph.add_to_collection(SUMMARIES, (tag, tensor))
    elif taken is not tensor:
        raise ValueError(f"{tag!r} is the summary of op {taken.name!r} already; choose another tag")
    return tensor


def summaries_of(graph: Graph) -> dict[str, Op[Any]]:
    """Returns the ops of a graph's summaries by tag."""
    return dict(graph.get_collection(SUMMARIES))
