"""Proof that a run can fail, and be cancelled, in the middle of a large graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter

import anyio

import asynchooks as ah
from tests.benchmarks import proof
from tests.benchmarks.shapes import FEW, Fetches, Shape

_SECONDS = 0.005


class Fuse:
    """A value that does something when one has been added to it often enough.

    Args:
        length: how often.
        burn: what it does.
    """

    def __init__(self, length: int, burn: Callable[[], None]) -> None:
        self.left = length
        self._burn = burn

    def __add__(self, other: int) -> Fuse:
        """Returns itself, shorter by one."""
        self.left -= 1
        if not self.left:
            self._burn()
        return self


async def check_large_graph(shape: Shape, graph: ah.Graph, fetches: Fetches) -> None:
    """Fails a run in the middle, cancels another one, and lets a third one pass.

    Raises:
        AssertionError: one of them did not end as it should.
    """
    first = graph.get_operations()[0]
    middle = max(1, _additions(shape) // 2)
    async with ah.Session(graph) as session:
        try:
            await session.run(fetches, {first: Fuse(middle, _fail)})
        except ZeroDivisionError:
            pass
        else:
            raise AssertionError("an op failed, and the run did not")
        with anyio.CancelScope() as scope:
            await session.run(fetches, {first: Fuse(middle, partial(_cancel, scope))})
        assert scope.cancelled_caught, "a run was not cancelled"
        proof.same("the run after these", await session.run(fetches), shape.expected())


def _fail() -> None:
    raise ZeroDivisionError


def _cancel(scope: anyio.CancelScope) -> None:
    scope.cancel()
    # So long that the run lets other tasks run next, which on asyncio brings the cancellation.
    end = perf_counter() + _SECONDS
    while perf_counter() < end:
        pass


def _additions(shape: Shape) -> int:
    follows = [True]
    for inputs in shape.inputs[1:]:
        follows.append(0 < len(inputs) <= FEW and follows[inputs[0]])
    return sum(follows) - 1
