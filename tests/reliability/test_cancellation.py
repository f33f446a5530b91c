"""A session that is cancelled, at every point of its life, keeps its promises."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest

from asynchooks.testing import Cancel, CancelKind, PointKind
from tests.reliability.conftest import DEBUG, Count
from tests.reliability.programs import close_amid_runs, drain, leave, stop
from tests.reliability.sweeping import Program, sweep

HOOK_CALLS = {
    "begin": 1,
    "after_create_session": 2,
    "before_run": 5,
    "after_run": 3,
    "on_run_error": 2,
    "end": 1,
    "close": 1,
}
CALLS = Counter(
    {f"{hook}.{method}": times for hook in "ABC" for method, times in HOOK_CALLS.items()}
    | {f"{name}.{method}": 2 for name in ("pool", "connection") for method in ("open", "release")}
    | {"creator.create": 2, "recovery.back_off": 1, "beat.task": 2, "beat.farewell": 2}
    | {"numbers.source": 3, "letters.source": 4}
    | {"read.op": 4, "store.op": 4, "spell.op": 5, "join.op": 3}
)
"""Three rows, the second one twice, and the run that finds no fourth one."""


async def sweep_cancelled(kind: CancelKind, at: PointKind, program: Program, count: Count) -> None:
    swept, found = await sweep(program, Cancel(kind, at))
    assert found == []
    count(swept)


@pytest.mark.parametrize("program", [drain, stop, close_amid_runs])
@pytest.mark.parametrize("at", get_args(PointKind))
@pytest.mark.parametrize("kind", get_args(CancelKind))
async def test_a_session_keeps_its_promises_wherever_it_is_cancelled(
    kind: CancelKind, at: PointKind, program: Program, count: Count
) -> None:
    """Hooks and resources are closed, runs are whole or never were, the cancellation leaves."""
    await sweep_cancelled(kind, at, program, count)


@pytest.mark.parametrize("anyio_backend", [DEBUG], ids=["asyncio debug"], indirect=True)
@pytest.mark.parametrize("at", get_args(PointKind))
@pytest.mark.parametrize("kind", get_args(CancelKind))
async def test_debug_mode_makes_no_difference(
    kind: CancelKind, at: PointKind, count: Count
) -> None:
    """The same holds where asyncio checks more and does some things in another way."""
    await sweep_cancelled(kind, at, leave, count)


@pytest.mark.native
@pytest.mark.parametrize("program", [drain, close_amid_runs])
@pytest.mark.parametrize("at", get_args(PointKind))
async def test_a_session_outlasts_a_caller_that_cancels_again_and_again(
    at: PointKind, program: Program, count: Count
) -> None:
    """Native cancels that break every wait from one point on still let everything be closed."""
    swept, found = await sweep(program, Cancel("native", at, forever=True))
    assert found == []
    count(swept)


async def test_every_stage_of_a_session_is_swept() -> None:
    """The points lie in all kinds of user code, those of the second generation included."""
    at_entries, _ = await sweep(drain, Cancel(at="entry"))
    assert Counter(call for outcome in at_entries.outcomes if (call := outcome.where)) == CALLS
    at_suspensions, _ = await sweep(drain, Cancel(at="suspension"))
    methods = {str(outcome.where).rpartition(".")[2] for outcome in at_suspensions.outcomes}
    # The caller suspends once for a whole recovery, which goes on in a task of its own.
    assert methods >= set(HOOK_CALLS) - {"after_create_session"} | {"op"}
