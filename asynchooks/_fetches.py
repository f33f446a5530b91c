"""Fetches and feeds: nested structures of ops and names on one side, flat ops on the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from asynchooks._graph import Graph, Op
from asynchooks._ops import OpFunction, call_op, check_takes_nothing, is_generator_function, name_of
from asynchooks._sources import Source
from asynchooks._structure import Build, compile_fetches, leaf_at


@dataclass(frozen=True, slots=True)
class Fetches:
    """What a run is to evaluate.

    Attributes:
        ops: the ops, each once.
        build: makes the results, nested as the fetches were, from the values of `ops`.
    """

    ops: tuple[Op[Any], ...]
    build: Build


def parse_fetches(graph: Graph, structure: object) -> Fetches:
    """Finds the ops in fetches.

    Args:
        graph: the graph that is run.
        structure: an op, the name of one, a zero-argument callable, or tuples, lists, dicts, named
            tuples and dataclasses of them at any depth.

    Raises:
        TypeError: something in it is none of these.
        ValueError: an op is not of this graph, or a structure contains itself.
    """
    found: dict[Op[Any], int] = {}
    calls: dict[int, Op[Any]] = {}

    def leaf(value: object) -> Build:
        op = _fetched(graph, value, calls)
        return leaf_at(found.setdefault(op, len(found)))

    build = compile_fetches(structure, leaf)
    return Fetches(tuple(found), build)


def parse_feeds(graph: Graph, feed_dict: object) -> dict[Op[Any], Any]:
    """Finds the ops that are fed.

    Args:
        graph: the graph that is run.
        feed_dict: the value for each op, or name of one, that is not to be evaluated; or None.

    Raises:
        TypeError: it is no dict, or a key is neither op nor name.
        ValueError: an op is not of this graph, or is fed twice.
    """
    if feed_dict is None:
        return {}
    if not isinstance(feed_dict, Mapping):
        raise TypeError(f"a feed_dict is to be a dict of values by op, not {feed_dict!r}")
    feeds: dict[Op[Any], Any] = {}
    for key, value in cast("Mapping[object, Any]", feed_dict).items():
        op = graph.resolve(key, "feed")
        if op in feeds:
            raise ValueError(f"op {op.name!r} is fed twice in one feed_dict: as op and by name")
        feeds[op] = value
    return feeds


def _fetched(graph: Graph, value: object, calls: dict[int, Op[Any]]) -> Op[Any]:
    if isinstance(value, OpFunction):
        raise TypeError(f"cannot fetch {value!r}: call it to make an op")
    if isinstance(value, Source):
        raise TypeError(f"cannot fetch {value!r}: fetch an op made by its get_next()")
    if not callable(value) or isinstance(value, type):
        return graph.resolve(value, "fetch")
    made = calls.get(id(value))
    if made is None:
        made = calls[id(value)] = call_op(graph, _fetchable(value))
    return made


def _fetchable(fn: Callable[..., Any]) -> Callable[..., Any]:
    if is_generator_function(fn):
        raise TypeError(
            f"cannot fetch {name_of(fn)!r}: it is a generator function; make a source of it by "
            "from_iterable()"
        )
    check_takes_nothing(fn, "a callable that is fetched")
    return fn
