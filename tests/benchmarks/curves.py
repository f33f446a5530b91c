"""The figures of the picture: cost against size, and against the number of hooks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from tests.benchmarks.effort import Effort
from tests.benchmarks.graph_contenders import repeated, session_on, straight_line, task_group
from tests.benchmarks.graphs import BESIDE_TASKS
from tests.benchmarks.measuring import Bench, Contender, measure_on
from tests.benchmarks.shapes import SHAPES, Shape, graph_of, inline
from tests.benchmarks.step_contenders import hooked

Curves = dict[str, dict[int, float]]

_LOOP = "asyncio"
_HOOKS = (0, 1, 2, 5, 10, 20)
_BESIDE = "layered"
"""The shape of what is not ours; its cost hardly depends on the shape."""


def by_size(effort: Effort) -> Curves:
    """Returns the cost of an op, in us, by the number of ops, for each line of the picture."""
    curves: Curves = {}
    for size in _sizes(effort):
        for name in BESIDE_TASKS:
            shape = SHAPES[name](size)
            bench = _bench(shape, with_others=name == _BESIDE)
            taken = measure_on([_LOOP], bench, rounds=effort.few_rounds, seconds=effort.seconds)
            for line, timing in taken[_LOOP].items():
                curves.setdefault(line, {})[shape.size] = timing.best / shape.size * 1e6
    return curves


def by_hooks(effort: Effort) -> Curves:
    """Returns the cost of a step, in us, by the number of hooks, for each line of the picture."""
    bench = partial(hooked, _HOOKS)
    taken = measure_on([_LOOP], bench, rounds=effort.rounds, seconds=effort.seconds)[_LOOP]
    return {
        line: {count: taken[f"{line}, {count} hooks"].best * 1e6 for count in _HOOKS}
        for line in ("ours", "by hand")
    }


def _sizes(effort: Effort) -> Sequence[int]:
    return sorted({100, effort.ops, 10 * effort.ops, effort.many_ops})


def _bench(shape: Shape, *, with_others: bool) -> Bench:
    functions = inline()
    graph, fetches = graph_of(shape, functions)
    others: list[Contender] = []
    if with_others:
        others = [
            repeated(f"by hand, {shape.name}", shape, straight_line(shape, functions)),
            repeated(f"asyncio.TaskGroup, {shape.name}", shape, task_group(shape, functions)),
        ]

    @asynccontextmanager
    async def bench(loop: str) -> AsyncGenerator[list[Contender]]:
        async with session_on(f"ours, {shape.name}", shape, graph, fetches) as ours:
            yield [ours, *others]

    return bench
