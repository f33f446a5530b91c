"""A program swept with a fault, and everything checked after each trial."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from anyio.lowlevel import checkpoint

from asynchooks._errors import leaves
from asynchooks.testing import Fault, Sweep, Trial
from tests.reliability.oracle import Leftovers, violations
from tests.reliability.world import World

Program = Callable[[World], Awaitable[list[Any]]]


async def sweep(
    program: Program, fault: Fault, is_point: Callable[[str], bool] = lambda _: True
) -> tuple[Sweep, list[str]]:
    """Disturbs the program at each point; returns what was swept and what was found wrong."""
    trials = Sweep(fault)
    found: list[str] = []
    for trial in trials:
        found += await one(program, trial, is_point)
    return trials, found


async def finds(program: Program, fault: Fault) -> bool:
    """Tells whether a sweep finds anything wrong, and ends it as soon as it does."""
    for trial in Sweep(fault):
        if await one(program, trial):
            return True
    return False


async def one(
    program: Program, trial: Trial, is_point: Callable[[str], bool] = lambda _: True
) -> list[str]:
    """Runs one trial; returns what was found wrong."""
    leftovers = Leftovers()
    world = World(trial, is_point)
    with listening(world):
        outcome = await trial.run(program, world)
    await checkpoint()  # a host task that has said its last word ends in the next turn
    found = [*leftovers.found(), *await violations(world, outcome)]
    return [f"{trial}: {each}" for each in found]


def numbered(kind: Callable[[str], BaseException]) -> Callable[[], BaseException]:
    """Returns a function that makes errors of a kind with texts of their own."""
    numbers = count(1)

    def make() -> BaseException:
        return kind(f"fault {next(numbers)}")

    make.__name__ = kind.__name__
    return make


@contextmanager
def listening(world: World) -> Iterator[None]:
    """Takes in what is logged; a warning about a step that took too long is a broken promise."""

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info and record.exc_info[1]:
                world.logged.extend(leaves(record.exc_info[1]))
            elif "did not" in record.msg:
                world.broken.append(record.getMessage())

    ear, logger = Ear(), logging.getLogger("asynchooks")
    logger.addHandler(ear)
    try:
        yield
    finally:
        logger.removeHandler(ear)
