"""A run in the Chrome trace format, which Perfetto and ``chrome://tracing`` show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

from asynchooks._run_metadata import NodeExecStats

Event = dict[str, Any]

_PROCESS = 1


def chrome_trace(step_stats: Iterable[NodeExecStats], *, show_dataflow: bool) -> dict[str, Any]:
    """Returns what is to be written as JSON.

    Times are microseconds since the first op started. What is a thread there is a lane here: ops
    that overlap stand in different ones, whatever thread they ran in.

    Args:
        step_stats: the ops of one run.
        show_dataflow: whether arrows lead from each op to those that took its value.
    """
    stats = sorted(step_stats, key=lambda each: (each.start, each.end))
    lanes = _lanes(stats)
    origin = stats[0].start if stats else 0.0
    ops = [_op(each, lane, origin) for each, lane in zip(stats, lanes, strict=True)]
    # Arrows come last, as each of their ends belongs to an op that is there already.
    events = [*_names(max(lanes, default=0)), *ops, *(_arrows(ops) if show_dataflow else ())]
    return {"displayTimeUnit": "ms", "traceEvents": events}


def _lanes(stats: Sequence[NodeExecStats]) -> list[int]:
    lanes: list[int] = []
    busy: list[tuple[float, int]] = []
    free: list[int] = []
    for each in stats:
        while busy and busy[0][0] <= each.start:
            heappush(free, heappop(busy)[1])
        lane = heappop(free) if free else len(busy) + 1
        heappush(busy, (each.end, lane))
        lanes.append(lane)
    return lanes


def _names(lanes: int) -> list[Event]:
    process = _event("M", "process_name", 0, args={"name": "asynchooks"})
    numbers = range(1, lanes + 1)
    return [
        process,
        *(_event("M", "thread_name", each, args={"name": f"lane {each}"}) for each in numbers),
    ]


def _op(stats: NodeExecStats, lane: int, origin: float) -> Event:
    # Rounded so that no op seems to reach into the next one of its lane, which Perfetto drops then.
    start, end = (round(1e9 * (each - origin)) for each in (stats.start, stats.end))
    times = {"ts": start / 1000, "dur": (end - start) / 1000}
    return _event("X", stats.node_name, lane, **times, args={"inputs": stats.inputs})


def _arrows(ops: list[Event]) -> list[Event]:
    arrows: list[Event] = []
    producers = {each["name"]: each for each in ops}
    for consumer in ops:
        for name in dict.fromkeys(consumer["args"]["inputs"]):
            if name in producers:
                producer, number = producers[name], len(arrows) // 2 + 1
                # What an end belongs to is told by its time, which has to be that of a start.
                arrows += [
                    _event("s", name, producer["tid"], ts=producer["ts"], id=number),
                    _event("f", name, consumer["tid"], ts=consumer["ts"], id=number, bp="e"),
                ]
    return arrows


def _event(phase: str, name: str, lane: int, **more: Any) -> Event:
    return {"ph": phase, "name": name, "cat": "op", "pid": _PROCESS, "tid": lane, **more}
