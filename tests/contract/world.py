"""What all parts of one scenario share: the trace so far, the faults, the counters, the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import asynchooks as ah
from tests.contract.naming import name_of, scripted
from tests.contract.nodes import Nodes
from tests.contract.workers import Workers

Event = dict[str, Any]


@dataclass
class Call:
    """The run or step function that the program is in.

    Attributes:
        r: its number.
        fetches: what it fetches, as the scenario writes it.
        requests: what each scripted hook fetches in addition.
    """

    r: int = -1
    fetches: Any = None
    requests: dict[int, Any] = field(default_factory=dict)


@dataclass
class World:
    """The state of a scenario that is being run."""

    scenario: dict[str, Any]
    events: list[Event] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    call: Call = field(default_factory=Call)
    workers: Workers = field(default_factory=Workers)
    open_generations: list[int] = field(default_factory=list)
    session: ah.MonitoredSession | None = None
    clock: float = 1000.0
    # Whose runs on the raw session are to be taken for what; None: the monitored session's own.
    asking: Any = None
    hooks: list[Any] = field(default_factory=list)
    # What happens once the trace is complete is no part of the scenario.
    over: bool = False

    def __post_init__(self) -> None:
        self.graph = ah.Graph()
        self.nodes = Nodes(self.graph)
        for name, node in self.scenario.get("graph", {}).items():
            self.nodes.add(name, node)
        if self.scenario.get("prefinalized"):
            self.graph.finalize()

    def now(self) -> float:
        """Tells the time by the fake clock, in seconds."""
        return self.clock

    def log(self, name: str, /, **fields: Any) -> Event:
        """Adds an event to the trace."""
        event: Event = {"e": name, **fields}
        self.events.append(event)
        return event

    @contextmanager
    def logged(self, name: str, otherwise: str = "", /, **fields: Any) -> Iterator[Event]:
        """Adds an event when the block is over, with the error that left it, if any."""
        event: Event = {"e": name, **fields}
        try:
            yield event
        except BaseException as error:
            event["error"] = name_of(error, otherwise)
            raise
        finally:
            self.events.append(event)

    def count(self, what: str) -> int:
        """Returns 0, 1, 2, ... for each `what`."""
        self.counts[what] += 1
        return self.counts[what] - 1

    def fault(self, where: str, n: int) -> dict[str, Any] | None:
        """Returns the error that the nth event of a sort is to raise."""
        if self.over:
            return None
        spec: dict[str, Any] | None = self.scenario.get("faults", {}).get(where, {}).get(str(n))
        return spec

    def raise_fault(self, where: str, n: int) -> None:
        """Raises the error that the nth event of a sort is to raise, if any."""
        if spec := self.fault(where, n):
            raise scripted(spec)

    @contextmanager
    def asked_by(self, who: Any) -> Iterator[None]:
        """Has the raw runs of the block taken for those of `who`."""
        before, self.asking = self.asking, who
        try:
            yield
        finally:
            self.asking = before

    def start_call(self, fetches: Any = None) -> Call:
        """Begins the program's next run or step function."""
        self.call = Call(self.count("r"), fetches)
        return self.call
