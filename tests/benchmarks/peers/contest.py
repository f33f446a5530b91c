"""One job done by a peer and by us, in turns: proved first, then measured."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from copy import copy
from functools import partial
from importlib import import_module
from time import perf_counter

from tests.benchmarks import proof
from tests.benchmarks.effort import Effort
from tests.benchmarks.measuring import Contender, Work, measure
from tests.benchmarks.peers.jobs import Job, Unable
from tests.benchmarks.peers.registry import Peer
from tests.benchmarks.peers.rows import PeerRow
from tests.benchmarks.peers.tally import Tally

_SECONDS_OF_A_JOB = 1.2


def contest(peer: Peer, effort: Effort) -> Iterator[PeerRow]:
    """Yields the rows of one peer, each when it is measured.

    Args:
        peer: one that is installed.
        effort: how much is measured.
    """
    try:
        module = import_module(peer.module)
    except Exception as error:
        yield PeerRow("all", peer.title, note=_failed(error))
        return
    for job in module.jobs(effort):
        if isinstance(job, Unable):
            yield PeerRow(job.work, peer.title, note=f"cannot: {job.why}")
            continue
        try:
            yield asyncio.run(_row(job, peer.title, effort))
        except Exception as error:
            yield PeerRow(job.work, peer.title, note=_failed(error))


async def _row(job: Job, title: str, effort: Effort) -> PeerRow:
    tallies = Tally(), Tally()
    async with job.theirs(tallies[0]) as theirs, job.ours(tallies[1]) as ours:
        both = Contender("the peer", theirs), Contender("asynchooks", ours)
        taken = [await _proved(each, job, tally) for each, tally in zip(both, tallies, strict=True)]
        a_round = sum(max(seconds, effort.seconds) for seconds in taken)
        rounds = min(effort.rounds, max(2, int(_SECONDS_OF_A_JOB / a_round)))
        timings = await measure(both, rounds=rounds, seconds=effort.seconds)
    value, our_value = (timings[each.name].best * 1e6 / job.per for each in both)
    fewer = f"best of {rounds} rounds" if rounds < effort.rounds else ""
    note = "; ".join(filter(None, (job.note, fewer)))
    return PeerRow(job.work, title, value, our_value, note)


async def _proved(contender: Contender, job: Job, tally: Tally) -> float:
    start = perf_counter()
    once = partial(_once, contender.work, tally)
    await proof.gives(contender.name, (job.result, job.tally), once)
    return perf_counter() - start


async def _once(work: Work, tally: Tally) -> tuple[object, Tally]:
    result = await work(1)
    return result, copy(tally)


def _failed(error: Exception) -> str:
    kind = "wrong" if isinstance(error, AssertionError) else f"failed: {type(error).__name__}"
    text = f"{kind}: {error}"
    return text if len(text) <= 160 else f"{text[:157]}..."
