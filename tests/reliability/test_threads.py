"""Ops in worker threads: what was started there has ended when the run has."""

from __future__ import annotations

import time
from typing import Any, get_args

import pytest
from anyio.lowlevel import checkpoint

import asynchooks as ah
from asynchooks.testing import Cancel, CancelKind, Fail, Fault, Sweep, Trial
from tests.reliability.conftest import Count


class Works:
    """A session with one op, which works in a thread, and a variable that counts its runs."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.under_way = 0
        with ah.Graph().as_default() as self.graph:
            self.count = ah.Variable(0)
            self.counted = self.count.assign_add(ah.op(thread=True)(self._work)())

    def _work(self) -> int:
        self.under_way += 1
        try:
            self.trial.enter("work.op")
            time.sleep(0.001)
            return 1
        finally:
            self.under_way -= 1

    async def run(self) -> list[Any]:
        async with ah.MonitoredSession(self.graph) as session:
            counts = []
            for _ in range(2):
                counts.append(await session.run(self.counted))
                assert not self.under_way
        await checkpoint()
        return counts


async def sweep_works(fault: Fault, count: Count) -> None:
    sweep = Sweep(fault)
    for trial in sweep:
        works = Works(trial)
        outcome = await trial.run(works.run)
        assert not works.under_way, trial
        assert outcome.cancelled == (outcome.struck and not trial.raised), trial
        assert outcome.error is (trial.raised[0] if trial.raised else None), trial
        assert outcome.stray_cancels == 0, trial
        assert outcome.struck or outcome.value == [1, 2], trial
    count(sweep)


@pytest.mark.parametrize("kind", get_args(CancelKind))
async def test_no_thread_works_on_after_a_cancelled_run(kind: CancelKind, count: Count) -> None:
    """A cancelled run waits for its thread, and then leaves with the cancellation."""
    await sweep_works(Cancel(kind), count)


async def test_an_error_in_a_thread_is_the_callers(count: Count) -> None:
    """What a thread raises leaves the run as it is."""
    await sweep_works(Fail(ValueError), count)
