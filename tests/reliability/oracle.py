"""What must be true of a session however it was disturbed; each function yields what is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import asynchooks as ah
from asynchooks._errors import is_end_of_input
from asynchooks.testing import Outcome
from tests import leaks
from tests.reliability import expected
from tests.reliability.world import ROWS, World
from tests.testing.oracle import breakable, closing


async def violations(world: World, outcome: Outcome[Any]) -> list[str]:
    """Returns a sentence for each promise that was not kept in a trial that is over."""
    found = [
        *world.broken,
        *closing(world.journal, world.trial),
        *pairing(world),
        *resources(world),
        *ends(world),
        *expected.ending(world, outcome),
        *results(outcome),
    ]
    found += await closed(world)
    found += await transaction(world, outcome)
    return found


def pairing(world: World) -> Iterator[str]:
    """What was entered has ended; each `before_run` was answered."""
    for method in ("op", "source", "task"):
        entered = Counter(world.journal.calls(method))
        ended = Counter(
            [*world.journal.calls(method, "done"), *world.journal.calls(method, "broken")]
        )
        if entered != ended:
            yield f"{method}s entered {entered}, ended {ended}"
    if world.owed:
        yield f"never told how a run ended: {[hook for hook, _ in world.owed]}"


def resources(world: World) -> Iterator[str]:
    """Each resource that was opened was closed, to the end unless the fault broke that."""
    journal = world.journal
    opened, released = Counter(journal.calls("open", "done")), Counter(journal.calls("release"))
    if opened != released or world.alive or world.beating:
        yield f"opened {opened}, closed {released}, alive {world.alive}, tasks {world.beating}"
    broken = journal.calls("release", "broken")
    if len(broken) > breakable(world.trial):
        yield f"closing resources was broken: {broken}"


def ends(world: World) -> Iterator[str]:
    """All hooks are told one reason, which fits; `end` is called for all or none, and cleanly."""
    journal = world.journal
    if len({id(end) for end in world.ends}) > 1:
        yield f"hooks were told {world.ends}"
    ended = journal.calls("end")
    if ended not in ([], ["A", "B", "C"]):
        yield f"end of {ended} only"
    if len(journal.calls("end", "broken")) > breakable(world.trial):
        yield f"end was broken: {journal.calls('end', 'broken')}"
    for end in world.ends[:1]:
        yield from expected.reason(end, bool(ended))


def results(outcome: Outcome[Any]) -> Iterator[str]:
    """What the caller got, row by row, is right."""
    for number, result in enumerate(outcome.value or [], 1):
        rows = tuple(ROWS[:number])
        if result != {"row": rows[-1:], "rows": rows, "n": number}:
            yield f"run {number} gave {result}"


async def closed(world: World) -> list[str]:
    """The session says that it is closed, and its graph can be added to."""
    begun = len(world.journal.events)
    with pytest.raises(ah.SessionClosedError):
        await world.session.run(world.fetches)
    found = ["a closed session called user code"] if len(world.journal.events) != begun else []
    return found + (["the graph is still final"] if world.graph.finalized else [])


async def transaction(world: World, outcome: Outcome[Any]) -> list[str]:
    """The rows that were committed are those that `after_run` heard of; the rest is still there."""
    rows, count, rest = await autopsy(world)
    heard = world.journal.calls("after_run").count("A")
    told = len(outcome.value or [])
    found: list[str] = []
    if rows != tuple(ROWS[:count]):
        found.append(f"committed {rows} in {count} runs")
    if rows + tuple(rest) != tuple(ROWS) and not expected.sources_ended(world):
        found.append(f"committed {rows}, left in the sources {rest}")
    if heard != count:
        found.append(f"{count} runs were committed, after_run was called for {heard}")
    told_late = "after_run" in (outcome.where or "") and told == count - 1
    if outcome.completed and told != count and not told_late:
        found.append(f"{count} runs were committed, the caller got {told}")
    return found


async def autopsy(world: World) -> tuple[Any, int, list[Any]]:
    """Returns the committed rows and their number, and what the sources still hold."""
    rest: list[Any] = []
    async with ah.Session(world.graph, world.state) as raw:
        rows, count = await raw.run([world.rows, world.count])
        with suppress(ah.OutOfRangeError):
            while True:
                try:
                    rest.append(await raw.run((world.number, world.letter)))
                except BaseException as error:
                    # A source that was failed says so once, and then goes on where it was.
                    if error not in world.trial.raised or is_end_of_input(error):
                        raise
    return rows, count, rest


class Leftovers:
    """The tasks and threads before a trial, to be compared afterwards.

    Descriptors are compared once for the whole sweep, by what every test goes through: looking
    at them blocks the event loop.
    """

    def __init__(self) -> None:
        self.tasks, self.threads = leaks.tasks(), leaks.threads()

    def found(self) -> list[str]:
        """Names what there is more of."""
        left = leaks.more(self.tasks, leaks.tasks()) + leaks.more(self.threads, leaks.threads())
        return [f"left behind: {what}" for what in left]
