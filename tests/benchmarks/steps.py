"""What a step of one trivial async op costs, without hooks and with them."""

from __future__ import annotations

from tests.benchmarks.effort import LOOPS, Effort
from tests.benchmarks.measuring import Timing, measure_on
from tests.benchmarks.rows import Row, timed
from tests.benchmarks.section import Section
from tests.benchmarks.step_contenders import steps

GROUP = "step"
NAMES = (
    "control: the same loop twice",
    "0 hooks",
    "0 hooks, beside a loop over no hooks",
    "the check for cancellation alone",
    "0 hooks without the check",
    "1 hook",
    "10 hooks",
    "10 hooks, beside pluggy",
    "10 hooks that override nothing",
    "10 hooks, each asks for 1 fetch",
    "10 hooks, each asks for an op of its own",
    "10 hooks, each asks for 1 fetch, beside TensorFlow",
    "what recovery adds",
)
CONTROL = NAMES[0]
ON_TRIO = 1.3
# in us
_PLUGGY = 13.0
_TENSORFLOW = 208.0
_RECOVERY = 0.2


def measured(effort: Effort) -> list[Row]:
    """Measures steps on both event loops."""
    taken = measure_on(LOOPS, steps, rounds=effort.rounds, seconds=effort.seconds)
    return [
        *_asyncio_rows(taken["asyncio"]),
        *_trio_rows(taken["trio"], taken["asyncio"]),
    ]


def _asyncio_rows(taken: dict[str, Timing]) -> list[Row]:
    hand, hand_10 = taken["by hand"], taken["by hand, 10 hooks"]
    none, absent = taken["ours, 0 hooks"], taken["ours, 10 absent"]
    asking = taken["ours, 10 fetches"]
    return [
        _control(taken, "asyncio"),
        _row("0 hooks", none, hand, 12),
        _row("0 hooks, beside a loop over no hooks", none, taken["by hand, 0 hooks"], None),
        _row("the check for cancellation alone", taken["the check"], hand, None),
        _rest(none, taken["the check"], hand),
        _row("1 hook", taken["ours, 1 hooks"], taken["by hand, 1 hooks"], 7),
        _row("10 hooks", taken["ours, 10 hooks"], hand_10, 2.5),
        _beside_pluggy(taken),
        _row("10 hooks that override nothing", absent, none, 1.2, limit_is="ours, 0 hooks"),
        _row("10 hooks, each asks for 1 fetch", asking, hand_10, 7),
        _row(
            "10 hooks, each asks for an op of its own", taken["ours, 10 own fetches"], hand_10, None
        ),
        _row(
            "10 hooks, each asks for 1 fetch, beside TensorFlow",
            asking,
            _TENSORFLOW,
            0.1,
            limit_is="TensorFlow's MonitoredSession, recorded",
        ),
        _recovery(taken, "asyncio"),
    ]


def _trio_rows(taken: dict[str, Timing], on_asyncio: dict[str, Timing]) -> list[Row]:
    contenders = {
        "0 hooks": "ours, 0 hooks",
        "1 hook": "ours, 1 hooks",
        "10 hooks": "ours, 10 hooks",
        "10 hooks that override nothing": "ours, 10 absent",
        "10 hooks, each asks for 1 fetch": "ours, 10 fetches",
        "10 hooks, each asks for an op of its own": "ours, 10 own fetches",
    }
    rows = [
        timed(
            GROUP, what, "trio", taken[name], on_asyncio[name], goal=ON_TRIO, limit_is="on asyncio"
        )
        for what, name in contenders.items()
    ]
    return [_control(taken, "trio"), *rows, _recovery(taken, "trio")]


def _row(
    what: str,
    ours: Timing,
    limit: Timing | float,
    goal: float | None,
    limit_is: str = "hand-written",
) -> Row:
    return timed(GROUP, what, "asyncio", ours, limit, goal=goal, limit_is=limit_is)


def _control(taken: dict[str, Timing], loop: str) -> Row:
    return timed(GROUP, CONTROL, loop, taken["by hand again"], taken["by hand"], goal=None)


def _rest(ours: Timing, check: Timing, hand: Timing) -> Row:
    value = (ours.best - check.best) * 1e6
    return Row(GROUP, "0 hooks without the check", "asyncio", value, hand.best * 1e6, "us", 5)


def _beside_pluggy(taken: dict[str, Timing]) -> Row:
    live = taken.get("pluggy")
    limit_is = "pluggy, awaited by hand" + ("" if live else ", recorded")
    return _row(
        "10 hooks, beside pluggy", taken["ours, 10 hooks"], live or _PLUGGY, 1, limit_is=limit_is
    )


def _recovery(taken: dict[str, Timing], loop: str) -> Row:
    # The difference of two figures that are nearly the same: it may come out below zero.
    value = (taken["ours, 0 hooks"].best - taken["ours, no recovery"].best) * 1e6
    return Row(GROUP, "what recovery adds", loop, value, _RECOVERY, "us", 1, "allowed")


SECTION = Section(GROUP, NAMES, measured)
