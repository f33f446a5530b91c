"""The Chrome trace of a run: lanes, times and arrows."""

from __future__ import annotations

from typing import Any

import pytest

import asynchooks as ah
from asynchooks.hooks._timeline import chrome_trace


def stats(name: str, start: float, end: float, *inputs: str) -> ah.NodeExecStats:
    """Makes the times of an op, in seconds after an arbitrary origin."""
    return ah.NodeExecStats(name, inputs, 64 + start, 64 + end)


def lanes(*spans: tuple[float, float]) -> list[int]:
    """Returns the lanes of ops, in the order of their starts."""
    trace = chrome_trace([stats("op", *span) for span in spans], show_dataflow=False)
    return [each["tid"] for each in trace["traceEvents"] if each["ph"] == "X"]


def test_trace_of_two_ops() -> None:
    """Each op is a slice with its name and inputs; an arrow leads from one to the other."""
    run = [stats("a", 0.5, 0.75), stats("b", 0.75, 1.5, "a", "a", "fed")]
    event: dict[str, Any] = {"cat": "op", "pid": 1, "tid": 1}
    op, arrow = event | {"ph": "X"}, event | {"name": "a", "id": 1}
    slices = [
        event | {"ph": "M", "tid": 0, "name": "process_name", "args": {"name": "asynchooks"}},
        event | {"ph": "M", "name": "thread_name", "args": {"name": "lane 1"}},
        op | {"name": "a", "ts": 0.0, "dur": 250_000.0, "args": {"inputs": ()}},
        op
        | {"name": "b", "ts": 250_000.0, "dur": 750_000.0, "args": {"inputs": ("a", "a", "fed")}},
    ]
    arrows = [arrow | {"ph": "s", "ts": 0.0}, arrow | {"ph": "f", "ts": 250_000.0, "bp": "e"}]
    assert chrome_trace(run, show_dataflow=False) == {
        "displayTimeUnit": "ms",
        "traceEvents": slices,
    }
    assert chrome_trace(run, show_dataflow=True)["traceEvents"] == slices + arrows


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(0, 1), (1, 2), (2, 3)], [1, 1, 1]),
        ([(0, 2), (1, 3), (2, 4)], [1, 2, 1]),
        ([(0, 9), (1, 2), (3, 4)], [1, 2, 2]),
        ([(0, 1), (0, 2), (0, 3), (1, 4), (2, 4)], [1, 2, 3, 1, 2]),
        ([(0, 3), (0, 3), (0, 1), (2, 3), (3, 4)], [1, 2, 3, 1, 1]),
        ([(1, 1), (1, 1), (1, 2)], [1, 1, 1]),
    ],
)
def test_ops_that_overlap_stand_in_different_lanes(
    spans: list[tuple[float, float]], expected: list[int]
) -> None:
    """An op takes the first lane that is free when it starts, so there are as few as can be."""
    assert lanes(*spans) == expected


def test_ops_of_a_lane_do_not_touch_by_rounding() -> None:
    """An op that starts when the one before it ends starts at its end, to the nanosecond."""
    run = [stats("a", 0, 1.4e-9), stats("b", 1.4e-9, 2.8e-9), stats("c", 2.8e-9, 4.2e-9)]
    events = chrome_trace(run, show_dataflow=False)["traceEvents"][2:]
    assert [(each["ts"], each["dur"]) for each in events] == [
        (0, 0.001),
        (0.001, 0.002),
        (0.003, 0.001),
    ]


def test_arrows_have_numbers_of_their_own() -> None:
    """Each arrow has an id, which both of its ends carry."""
    run = [stats("a", 0, 1), stats("b", 0, 1), stats("c", 1, 2, "a", "b")]
    events = chrome_trace(run, show_dataflow=True)["traceEvents"]
    arrows = [(each["ph"], each["name"], each["id"]) for each in events if "id" in each]
    assert arrows == [("s", "a", 1), ("f", "a", 1), ("s", "b", 2), ("f", "b", 2)]


def test_trace_of_no_op() -> None:
    """A run in which nothing was evaluated is a trace without slices."""
    [process] = chrome_trace([], show_dataflow=True)["traceEvents"]
    assert process["name"] == "process_name"
