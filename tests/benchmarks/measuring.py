"""Contenders measured side by side, in interleaved rounds."""

from __future__ import annotations

import gc
import statistics
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from time import perf_counter

import anyio

Work = Callable[[int], Awaitable[object]]
"""Does the same thing as often as it is told."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do the work of a row.

    Attributes:
        name: what tables call it.
        work: does it as often as it is told.
        check: raises `AssertionError` unless the work is really done; awaited once, before the
            first round.
    """

    name: str
    work: Work
    check: Callable[[], Awaitable[None]] | None = None


Bench = Callable[[str], AbstractAsyncContextManager[Sequence[Contender]]]
"""Sets up the contenders on an event loop of that name, for the time of one round."""


@dataclass(frozen=True, slots=True)
class Timing:
    """What one contender took.

    Attributes:
        seconds: per repetition, for each round.
    """

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """Seconds per repetition in the best round: what the work takes if nothing disturbs it."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """Seconds per repetition in the middle round."""
        return statistics.median(self.seconds)

    @property
    def noise(self) -> float:
        """How far the middle round lies above the best one, as a share of the best."""
        return self.median / self.best - 1


class _Rounds:
    """The rounds of some contenders: how often each repeats its work, and what it took."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._repetitions: dict[str, int] = {}
        self._taken: defaultdict[str, list[float]] = defaultdict(list)

    async def prepare(self, contenders: Sequence[Contender]) -> None:
        for each in contenders:
            if each.name not in self._repetitions:
                if each.check is not None:
                    await each.check()
                self._repetitions[each.name] = await _calibrated(each.work, self._seconds)
            elif self._repetitions[each.name] > 1:  # what takes long needs no warming up
                await each.work(1)

    async def play(self, contenders: Sequence[Contender]) -> None:
        for each in contenders:
            gc.collect()
            count = self._repetitions[each.name]
            self._taken[each.name].append(await _timed(each.work, count) / count)

    def timings(self) -> dict[str, Timing]:
        return {name: Timing(tuple(seconds)) for name, seconds in self._taken.items()}


async def measure(
    contenders: Sequence[Contender], *, rounds: int = 7, seconds: float = 0.02
) -> dict[str, Timing]:
    """Measures contenders in turn, round after round.

    Args:
        contenders: one or more, of different names.
        rounds: how often each one's turn comes.
        seconds: how long each turn is to last, about.

    Returns:
        What each took, by name.
    """
    played = _Rounds(seconds)
    await played.prepare(contenders)
    for _ in range(rounds):
        await played.play(contenders)
    return played.timings()


def measure_on(
    loops: Sequence[str], bench: Bench, *, rounds: int = 7, seconds: float = 0.02
) -> dict[str, dict[str, Timing]]:
    """Measures contenders on several event loops; each round visits each loop anew.

    Args:
        loops: names of event loops, as `anyio.run` takes them.
        bench: sets up the contenders.
        rounds: how often each contender's turn comes on each loop.
        seconds: how long each turn is to last, about.

    Returns:
        What each took, by loop and name.
    """
    played = {loop: _Rounds(seconds) for loop in loops}
    for _ in range(rounds):
        for loop in loops:
            anyio.run(_visit, bench, loop, played[loop], backend=loop)
    return {loop: rounds_of.timings() for loop, rounds_of in played.items()}


async def _visit(bench: Bench, loop: str, rounds: _Rounds) -> None:
    async with bench(loop) as contenders:
        await rounds.prepare(contenders)
        await rounds.play(contenders)


async def _calibrated(work: Work, seconds: float) -> int:
    count = 1
    while (taken := await _timed(work, count)) < seconds / 2:
        count = max(2 * count, int(count * seconds / max(taken, 1e-7) / 2))
    return max(1, int(count * seconds / taken))


async def _timed(work: Work, count: int) -> float:
    start = perf_counter()
    await work(count)
    return perf_counter() - start
