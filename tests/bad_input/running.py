"""Bad input to runs: fetches, feeds, options and step functions."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import asynchooks as ah
from tests.bad_input.world import Row, World


class Pair(NamedTuple):
    """A named tuple to fetch."""

    left: Any
    right: Any


@dataclass
class Record:
    """A dataclass to fetch."""

    value: Any


@dataclass
class Sized:
    """A dataclass that cannot be made anew from its fields."""

    value: Any
    size: int = field(init=False, default=1)


async def takes(row: Any) -> Any:
    return row


async def streams() -> AsyncIterator[int]:
    yield 1


def counts() -> Iterator[int]:
    yield 1


async def no_step() -> None: ...


async def two_steps(context: Any, more: Any) -> None: ...


def plain_step(context: Any) -> int:
    return 3


async def stream_step(context: Any) -> AsyncIterator[int]:
    yield 1


def endless(kind: str) -> Any:
    """Returns fetches that contain themselves."""
    items: list[Any] = []
    made: dict[str, Any] = {
        "list": items,
        "dict": {"again": items},
        "tuple": (items,),
        "named tuple": Pair(items, items),
        "dataclass": Record(items),
    }
    items.append(made[kind])
    return made[kind]


def deep(op: Any) -> Any:
    """Returns an op in more lists than Python can follow."""
    for _ in range(10_000):
        op = [op]
    return op


def fetch(what: str, make: Any, error: type[Exception], *words: str) -> Row:
    """Returns a row that fetches what `make` makes in a world, deep in a structure."""
    return Row(
        f"fetch of {what}", lambda w: w.session.run({"a": [w.x, make(w)]}, {w.p: 7}), error, words
    )


def feed(what: str, make: Any, error: type[Exception], *words: str) -> Row:
    """Returns a row that feeds what `make` makes in a world."""
    return Row(f"feed of {what}", lambda w: w.session.run(w.x, make(w)), error, words)


FETCHES = [
    fetch("None", lambda w: None, TypeError, "cannot fetch None", "op", "name"),
    fetch("a number", lambda w: 3, TypeError, "cannot fetch 3", "op", "name"),
    fetch("a coroutine", lambda w: takes(1), TypeError, "cannot fetch", "instead of calling it"),
    fetch("bytes", lambda w: b"x", TypeError, "cannot fetch b'x'"),
    fetch("a set", lambda w: {w.x}, TypeError, "cannot fetch {<Op 'x'>}"),
    fetch("a class", lambda w: Record, TypeError, "cannot fetch", "Record"),
    fetch("an unknown name", lambda w: "q", ValueError, "'q'", "'x'"),
    fetch("an empty name", lambda w: "", ValueError, "''", "'x'"),
    fetch("another graph's op", lambda w: w.foreign, ValueError, "'foreign'", "another graph"),
    fetch("a callable that needs arguments", lambda w: takes, TypeError, "takes", "'row'"),
    fetch("a generator function", lambda w: counts, TypeError, "'counts'", "from_iterable"),
    fetch("an async generator function", lambda w: streams, TypeError, "'streams'"),
    fetch("an op function", lambda w: ah.op(no_step), TypeError, "'no_step'", "call it"),
    fetch("a source", lambda w: ah.from_iterable([1]), TypeError, "Source", "get_next()"),
    *(
        fetch(
            f"a {kind} that contains itself",
            lambda w, kind=kind: endless(kind),
            ValueError,
            "fetch",
            "contains itself",
        )
        for kind in ("list", "dict", "tuple", "named tuple", "dataclass")
    ),
    fetch("an op that is nested too deep", lambda w: deep(w.x), ValueError, "fetch", "nested"),
    fetch("a dataclass with more fields than arguments", lambda w: Sized(w.x), TypeError, "Sized"),
    Row("fetch of nothing but None", lambda w: w.session.run(None), TypeError, ("None",)),
    Row("fetch of None by the raw session", lambda w: w.raw.run([None]), TypeError, ("None",)),
    Row(
        "unknown name for the raw session",
        lambda w: w.raw.run([w.x, "q"]),
        ValueError,
        ("'q'", "'x'"),
    ),
    Row(
        "placeholder that is not fed",
        lambda w: w.raw.run([w.v, w.x]),
        ah.InvalidArgumentError,
        ("'p'", "not fed", "feed_dict"),
    ),
    Row(
        "placeholder that nobody feeds",
        lambda w: w.session.run(w.x),
        ah.InvalidArgumentError,
        ("'p'", "not fed"),
        ran=("before_run", "on_run_error"),
    ),
]

FEEDS = [
    feed("a number", lambda w: {3: 1}, TypeError, "cannot feed 3", "op", "name"),
    feed("None", lambda w: {None: 1}, TypeError, "cannot feed None"),
    feed("a source", lambda w: {ah.from_iterable([1]): 1}, TypeError, "cannot feed", "Source"),
    feed("an unknown name", lambda w: {"q": 1}, ValueError, "'q'", "'p'"),
    feed("another graph's op", lambda w: {w.foreign: 1}, ValueError, "'foreign'", "another graph"),
    feed("one op twice", lambda w: {w.p: 1, "p": 1}, ValueError, "'p'", "twice", "name"),
    feed("a list", lambda w: [(w.p, 1)], TypeError, "feed_dict", "dict", "[(<Op 'p'>, 1)]"),
    feed("an op", lambda w: w.p, TypeError, "feed_dict", "dict", "'p'"),
    Row("feed of a list to the raw session", lambda w: w.raw.run(w.x, [1]), TypeError, ("dict",)),
    Row("feed of 0 to the raw session", lambda w: w.raw.run(w.x, {0: 1}), TypeError, ("feed 0",)),
]

OPTIONS = [
    Row(
        "options that are a dict",
        lambda w: w.session.run(w.x, {w.p: 7}, {"timeout": 1}),
        TypeError,
        ("RunOptions", "'timeout'"),
    ),
    Row(
        "options that are a number for the raw session",
        lambda w: w.raw.run(w.x, {w.p: 7}, 3),
        TypeError,
        ("RunOptions", "3"),
    ),
    *(
        Row(
            f"timeout {timeout!r}",
            lambda w, timeout=timeout: ah.RunOptions(timeout=timeout),
            error,
            ("RunOptions.timeout", "seconds", repr(timeout)),
        )
        for timeout, error in [
            (-1, ValueError),
            (math.nan, ValueError),
            (math.inf, ValueError),
            ("1", TypeError),
            (True, TypeError),
        ]
    ),
    Row(
        "retry that is no bool",
        lambda w: ah.RunOptions(retry=None),
        TypeError,
        ("RunOptions.retry", "None"),
    ),
    Row(
        "trace level that is no int",
        lambda w: ah.RunOptions(trace_level="full"),
        TypeError,
        ("RunOptions.trace_level", "'full'"),
    ),
    Row(
        "trace level that is negative",
        lambda w: ah.RunOptions(trace_level=-1),
        ValueError,
        ("RunOptions.trace_level", "-1"),
    ),
]


def run_in_step(w: World, *args: Any) -> Any:
    """Runs with hooks from inside a step function."""

    async def step(context: ah.StepContext) -> Any:
        return await context.run_with_hooks(*args)

    return w.session.run_step_fn(step)


STEP_FUNCTIONS = [
    Row("step function that is a number", lambda w: w.session.run_step_fn(3), TypeError, ("3",)),
    *(
        Row(
            f"step function that takes {what}",
            lambda w, step=step: w.session.run_step_fn(step),
            ValueError,
            ("one argument", "step context", repr(step.__name__)),
        )
        for what, step in [("nothing", no_step), ("two arguments", two_steps)]
    ),
    Row(
        "step function that returns no awaitable",
        lambda w: w.session.run_step_fn(plain_step),
        TypeError,
        ("'plain_step'", "3", "awaitable"),
    ),
    Row(
        "step function that is an async generator",
        lambda w: w.session.run_step_fn(stream_step),
        TypeError,
        ("'stream_step'", "awaitable"),
    ),
    Row("None in a step", lambda w: run_in_step(w, None), TypeError, ("cannot fetch None",)),
    Row("unknown feed in a step", lambda w: run_in_step(w, "x", {"q": 1}), ValueError, ("'q'",)),
    Row("options in a step", lambda w: run_in_step(w, "v", None, 3), TypeError, ("RunOptions",)),
]

ROWS = [*FETCHES, *FEEDS, *OPTIONS, *STEP_FUNCTIONS]
