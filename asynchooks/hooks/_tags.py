"""What hooks show: fetches, each under a tag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from asynchooks._graph import is_op


def tagged(name: str, tensors: object) -> dict[str, Any]:
    """Returns what is to be shown by tag.

    Args:
        name: what the argument is called, for the message.
        tensors: fetches of any nesting by tag, or a list of ops and names, whose tags are the names
            of the ops.

    Raises:
        TypeError: it is neither, or a tag is no string.
        ValueError: it is empty.
    """
    tags: dict[object, Any]
    if isinstance(tensors, Mapping):
        tags = dict(cast("Mapping[object, Any]", tensors))
    elif isinstance(tensors, Iterable) and not isinstance(tensors, str):
        tags = {_tag_of(name, each): each for each in cast("Iterable[object]", tensors)}
    else:
        raise TypeError(
            f"{name} is to be a dict of ops by tag, or a list of ops or their names, not "
            f"{tensors!r}"
        )
    if not tags:
        raise ValueError(f"{name} is empty; name what is to be shown")
    for tag in tags:
        if not isinstance(tag, str):
            raise TypeError(f"a tag in {name} is to be a string, not {tag!r}")
    return cast("dict[str, Any]", tags)


def _tag_of(name: str, tensor: object) -> str:
    if is_op(tensor):
        return tensor.name
    if isinstance(tensor, str):
        return tensor
    raise TypeError(
        f"a list of {name} is to hold ops and names of ops, not {tensor!r}; give a dict of fetches "
        "by tag for anything else"
    )
