"""The shapes of graphs that are measured, and the functions that their ops call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import trio

import asynchooks as ah

Function = Callable[..., Awaitable[int]]
Pause = Callable[[], Awaitable[object]]
Fetches = tuple[ah.Op[int], ...]

FEW = 3
"""Of how many values an op adds to the first one; of more it tells how many."""
_WIDTH = 50


@dataclass(frozen=True, slots=True)
class Shape:
    """What depends on what.

    Attributes:
        name: what tables call it.
        inputs: of each op, those whose values it takes; all of them come before it.
        ends: the ops whose values are wanted.
    """

    name: str
    inputs: tuple[tuple[int, ...], ...]
    ends: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many ops there are."""
        return len(self.inputs)

    def expected(self) -> tuple[int, ...]:
        """Returns the values of `ends`, for the functions of this module."""
        values: list[int] = []
        for inputs in self.inputs:
            if len(inputs) > FEW:
                values.append(len(inputs))
            else:
                values.append(values[inputs[0]] + 1 if inputs else 0)
        return tuple(values[end] for end in self.ends)


def chain(size: int) -> Shape:
    """Returns a line in which each op takes the value of the one before."""
    return Shape("chain", ((), *((op,) for op in range(size - 1))), (size - 1,))


def fan_out(size: int) -> Shape:
    """Returns one op, many that take its value, and one that takes theirs."""
    middle = size - 2
    inputs = ((), *((0,) for _ in range(middle)), tuple(range(1, middle + 1)))
    return Shape("fan-out + join", inputs, (size - 1,))


def layered(size: int) -> Shape:
    """Returns layers of 50 ops, each of which takes 3 values of the layer before."""
    inputs = [()] * _WIDTH + [
        tuple(layer + (column + shift) % _WIDTH for shift in (0, 7, 13))
        for layer in range(0, size - _WIDTH, _WIDTH)
        for column in range(_WIDTH)
    ]
    return Shape("layered", tuple(inputs), tuple(range(size - _WIDTH, size)))


def diamonds(size: int) -> Shape:
    """Returns a line of diamonds: an op, two that take its value, one that takes theirs, ..."""
    inputs: list[tuple[int, ...]] = [()]
    for top in range(0, size - 3, 3):
        inputs += [(top,), (top,), (top + 1, top + 2)]
    return Shape("diamonds", tuple(inputs), (len(inputs) - 1,))


SHAPES: dict[str, Callable[[int], Shape]] = {
    "chain": chain,
    "fan-out + join": fan_out,
    "layered": layered,
    "diamonds": diamonds,
}
"""Makes each shape, by its name, of about so many ops."""


@dataclass(frozen=True, slots=True)
class Functions:
    """What the ops call: an op's value is that of its first input, and one more.

    Attributes:
        few: the functions of as many values as their place tells.
        many: the function of more values; returns how many.
    """

    few: tuple[Function, ...]
    many: Function

    def taking(self, count: int) -> Function:
        """Returns the function that takes `count` values."""
        return self.few[count] if count < len(self.few) else self.many


def inline() -> Functions:
    """Returns functions that do not suspend."""

    async def source() -> int:
        return 0

    async def one(a: int) -> int:
        return a + 1

    async def two(a: int, b: int) -> int:
        return a + 1

    async def three(a: int, b: int, c: int) -> int:
        return a + 1

    async def many(*values: int) -> int:
        return len(values)

    return Functions((source, one, two, three), many)


def pausing(pause: Pause) -> Functions:
    """Returns functions that await `pause` once."""

    async def source() -> int:
        await pause()
        return 0

    async def one(a: int) -> int:
        await pause()
        return a + 1

    async def two(a: int, b: int) -> int:
        await pause()
        return a + 1

    async def three(a: int, b: int, c: int) -> int:
        await pause()
        return a + 1

    async def many(*values: int) -> int:
        await pause()
        return len(values)

    return Functions((source, one, two, three), many)


def suspension(loop: str) -> Pause:
    """Returns what suspends a task once, and costs least, on an event loop."""
    return partial(asyncio.sleep, 0) if loop == "asyncio" else trio.lowlevel.checkpoint


def graph_of(shape: Shape, functions: Functions) -> tuple[ah.Graph, Fetches]:
    """Builds a graph of ops, and what is to be fetched of it."""
    counts = {len(inputs) for inputs in shape.inputs}
    makers = {count: ah.op(functions.taking(count)) for count in counts}
    graph = ah.Graph()
    made: list[ah.Op[int]] = []
    with graph.as_default():
        for inputs in shape.inputs:
            made.append(makers[len(inputs)](*[made[each] for each in inputs]))
    return graph, tuple(made[end] for end in shape.ends)
