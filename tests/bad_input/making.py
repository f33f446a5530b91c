"""Bad input to what makes ops, graphs, sources and resources."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import asynchooks as ah
from tests.bad_input.world import Row, World


async def waits(row: Any) -> Any:
    return row


def blocks() -> None:
    return None


def counts() -> Iterator[int]:
    yield 1


async def streams() -> AsyncIterator[int]:
    yield 1


def waits_for(op: Any) -> Any:
    return op


async def connects() -> Any:
    return None


@contextmanager
def plain_manager() -> Iterator[None]:
    yield


def loop() -> list[Any]:
    """Returns a list that contains itself."""
    items: list[Any] = []
    items.append({"again": (items,)})
    return items


def name_rows(what: str, make: Any) -> list[Row]:
    """Returns the rows of a function that makes something with a name."""
    return [
        Row(f"{what} with an empty name", lambda w: make(w, ""), ValueError, ("name", "empty")),
        Row(f"{what} with a number for a name", lambda w: make(w, 0), TypeError, ("name", "0")),
    ]


def depend_on(w: World, ops: Any) -> None:
    with ah.control_dependencies(ops):
        w.op()


def add_when_final(w: World) -> None:
    w.draft.finalize()
    w.op()


def add_while_live(w: World) -> None:
    with w.graph.as_default():
        ah.placeholder("late")


def use(w: World, op: ah.Op[Any]) -> Any:
    """Runs an op of the draft."""

    async def enter() -> None:
        async with ah.Session(w.draft) as session:
            await session.run(op)

    return enter()


OPS = [
    Row("op of a number", lambda w: ah.op(3), TypeError, ("op", "function", "3")),
    Row("op of a generator", lambda w: ah.op(counts), TypeError, ("'counts'", "from_iterable")),
    Row("op of an async generator", lambda w: ah.op(streams), TypeError, ("'streams'", "yields")),
    Row(
        "async op in a thread",
        lambda w: ah.op(thread=True)(waits),
        TypeError,
        ("'waits'", "async", "thread"),
    ),
    *name_rows("op", lambda w, name: ah.op(name=name)(blocks)),
    *name_rows("op options", lambda w, name: ah.op(blocks).options(name=name)),
    Row("op with too few arguments", lambda w: ah.op(waits)(), TypeError, ("waits()", "'row'")),
    Row("op with too many arguments", lambda w: ah.op(blocks)(1), TypeError, ("blocks()", "many")),
    Row("op with a wrong keyword", lambda w: ah.op(waits)(r=1), TypeError, ("waits()", "row")),
    Row(
        "op of two graphs",
        lambda w: w.op("y", w.x, [w.foreign]),
        ValueError,
        ("'foreign'", "another graph", "as_default"),
    ),
    Row(
        "op with itself nested in its arguments",
        lambda w: ah.op(waits)(loop()),
        ValueError,
        ("list", "contains itself"),
    ),
    Row(
        "control dependencies of an op that are no list",
        lambda w: ah.op(control_dependencies=w.x)(blocks),
        TypeError,
        ("control dependencies", "list", "'x'"),
    ),
    Row(
        "control dependency of an op on a name",
        lambda w: ah.op(blocks).options(control_dependencies=["x"]),
        TypeError,
        ("control dependencies", "ops", "'x'"),
    ),
    Row(
        "control dependency of another graph",
        lambda w: ah.op(control_dependencies=[w.foreign])(waits)(w.x),
        ValueError,
        ("another graph",),
    ),
    Row(
        "block of control dependencies of another graph",
        lambda w: depend_on(w, [w.foreign]),
        ValueError,
        ("'foreign'", "another graph"),
    ),
    Row(
        "block of a control dependency that is no list",
        lambda w: depend_on(w, w.op("before")),
        TypeError,
        ("control dependencies", "list"),
    ),
    Row("op as a condition", lambda w: bool(w.x), TypeError, ("'x'", "only in a run")),
    Row("group of a name", lambda w: ah.group("x"), TypeError, ("group", "ops", "'x'")),
    Row("group of two graphs", lambda w: ah.group(w.x, w.foreign), ValueError, ("another graph",)),
    *name_rows("placeholder", lambda w, name: ah.placeholder(name)),
    *name_rows("constant", lambda w, name: ah.constant(1, name)),
    *name_rows("group", lambda w, name: ah.group(name=name)),
    *name_rows("no_op", lambda w, name: ah.no_op(name)),
]

GRAPHS = [
    Row(
        "op added to a final graph",
        add_when_final,
        ah.GraphFinalizedError,
        ("'y'", "final", "begin()"),
    ),
    Row(
        "op added to the graph of a live session",
        add_while_live,
        ah.GraphFinalizedError,
        ("'late'", "final", "before the session"),
    ),
    Row(
        "unknown name looked up",
        lambda w: w.graph.get_operation_by_name("q"),
        ValueError,
        ("'q'", "'x'"),
    ),
    Row(
        "number looked up as a name",
        lambda w: w.graph.get_operation_by_name(3),
        TypeError,
        ("3", "name"),
    ),
    Row(
        "global step of what is no graph",
        lambda w: ah.get_or_create_global_step(3),
        TypeError,
        ("graph", "3"),
    ),
    Row(
        "global step looked up in what is no graph",
        lambda w: ah.get_global_step("g"),
        TypeError,
        ("graph", "'g'"),
    ),
]

VARIABLES = [
    *name_rows("variable", lambda w, name: ah.Variable(1, name)),
    *name_rows("assignment", lambda w, name: ah.Variable(1).assign(2, name)),
    *name_rows("addition", lambda w, name: ah.Variable(1).assign_add(2, name)),
    *name_rows("variable to get or make", lambda w, name: ah.get_variable(name, 1)),
    Row(
        "value of another graph assigned",
        lambda w: w.v.assign(w.foreign),
        ValueError,
        ("'foreign'", "another graph"),
    ),
    Row(
        "value of another graph added",
        lambda w: w.v.assign_add({"by": [w.foreign]}),
        ValueError,
        ("'foreign'", "another graph"),
    ),
    Row(
        "variable wanted where another op has the name",
        lambda w: (w.op("taken"), ah.get_variable("taken", 1)),
        TypeError,
        ("'taken'", "no variable"),
    ),
]

SOURCES = [
    Row("source of a number", lambda w: ah.from_iterable(3), TypeError, ("iterable", "3")),
    Row(
        "source of an async function",
        lambda w: ah.from_iterable(connects),
        TypeError,
        ("iterable", "connects"),
    ),
    Row(
        "source of a function that takes arguments",
        lambda w: ah.from_iterable(lambda row: [row]),
        TypeError,
        ("source", "'row'"),
    ),
    Row(
        "source of a function that gives no iterable",
        lambda w: use(w, ah.from_iterable(blocks).get_next()),
        TypeError,
        ("source 'blocks'", "iterable", "None"),
    ),
    *name_rows("source", lambda w, name: ah.from_iterable([1], name)),
    *name_rows("op of a source", lambda w, name: ah.from_iterable([1]).get_next(name)),
]

RESOURCES = [
    Row("resource of a number", lambda w: ah.resource(3), TypeError, ("resource", "3")),
    Row(
        "resource of an async function",
        lambda w: ah.resource(connects),
        TypeError,
        ("resource", "connects", "async context manager"),
    ),
    Row(
        "resource of a function that gives no context manager",
        lambda w: use(w, ah.resource(blocks)),
        TypeError,
        ("resource 'blocks'", "async context manager", "None"),
    ),
    Row(
        "resource that is a plain context manager",
        lambda w: use(w, ah.resource(plain_manager)),
        TypeError,
        ("resource 'plain_manager'", "async context manager"),
    ),
    Row(
        "resource with too many arguments",
        lambda w: ah.resource(plain_manager, 1),
        TypeError,
        ("plain_manager()", "too many"),
    ),
    Row(
        "resource that takes an op",
        lambda w: ah.resource(waits_for, [w.op()]),
        TypeError,
        ("resource", "'y'"),
    ),
    *name_rows("resource", lambda w, name: ah.resource(plain_manager, name=name)),
]


ROWS = [*OPS, *GRAPHS, *VARIABLES, *SOURCES, *RESOURCES]
