"""A small model of a graph: its nodes, and the state that all generations of a session share."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

from tests.contract.nodes import decoded, elementwise, mapped


class NotGivenError(Exception):
    """A run fails."""


class GraphModel:
    """The variables and sources of one session, which all of its generations work on."""

    def __init__(self, nodes: dict[str, Any]) -> None:
        self.nodes = nodes
        self.values: dict[str, Any] = {}
        # Whether the last run has assigned nothing because of a loss.
        self.guarded = False
        self.taken: dict[str, int] = {}

    def run(
        self,
        fetches: Any,
        feeds: dict[str, Any],
        *,
        keeps_failed: bool,
        losses: Iterable[str] = (),
    ) -> Any:
        """Runs one transaction, which assigns nothing if one of `losses` is not finite.

        Raises:
            NotGivenError: the run fails; it leaves no trace unless `keeps_failed` says so.
        """
        run = _Run(self, feeds)
        try:
            results = mapped(fetches, run.value)
            self.guarded = not all(is_finite(run.value(name)) for name in losses)
        except NotGivenError:
            if keeps_failed:
                self.values, self.taken = run.assigned, run.taken
            raise
        self.taken = run.taken
        if not self.guarded:
            self.values = run.assigned
        return results

    def step(self) -> int:
        """Returns the global step."""
        for name, node in self.nodes.items():
            if node["op"] == "global_step":
                step: int = self.values.get(name, node["init"])
                return step
        return 0

    def count_run(self) -> None:
        """Adds one to the global step, if the graph has one, no node assigns it and it may."""
        if self.guarded:
            return
        for name, node in self.nodes.items():
            assigned = any(each.get("var") == name for each in self.nodes.values())
            if node["op"] == "global_step" and not assigned:
                self.values[name] = self.values.get(name, node["init"]) + 1


class _Run:
    def __init__(self, state: GraphModel, feeds: dict[str, Any]) -> None:
        self.nodes = state.nodes
        self.read = state.values
        self.assigned = dict(state.values)
        self.taken = dict(state.taken)
        self.known: dict[str, Any] = {name: decoded(value) for name, value in feeds.items()}

    def value(self, name: str) -> Any:
        if name not in self.known:
            if name not in self.nodes:
                raise NotGivenError(name)
            node = self.nodes[name]
            self.known[name] = getattr(self, f"_{node['op']}")(name, node)
        return self.known[name]

    def _const(self, name: str, node: dict[str, Any]) -> Any:
        return decoded(node["value"])

    def _placeholder(self, name: str, node: dict[str, Any]) -> Any:
        raise NotGivenError(name)

    def _add(self, name: str, node: dict[str, Any]) -> Any:
        return elementwise(operator.add, self.value(node["x"]), self.value(node["y"]))

    def _mul(self, name: str, node: dict[str, Any]) -> Any:
        return elementwise(operator.mul, self.value(node["x"]), self.value(node["y"]))

    def _var(self, name: str, node: dict[str, Any]) -> Any:
        return self.read.get(name, decoded(node["init"]))

    _global_step = _var

    def _inc(self, name: str, node: dict[str, Any]) -> Any:
        return self._added(node["var"], node.get("by", 1))

    def _assign_add(self, name: str, node: dict[str, Any]) -> Any:
        return self._added(node["var"], self.value(node["value"]))

    def _added(self, variable: str, by: Any) -> Any:
        old = self.assigned.get(variable, decoded(self.nodes[variable]["init"]))
        self.assigned[variable] = old + by
        return old + by

    def _iterator(self, name: str, node: dict[str, Any]) -> Any:
        at = self.taken.get(name, 0)
        if at >= len(node["values"]):
            raise NotGivenError(name)
        self.taken[name] = at + 1
        return decoded(node["values"][at])

    def _noop(self, name: str, node: dict[str, Any]) -> None:
        return None


def is_finite(value: Any) -> bool:
    """Tells whether a number, or each in nested lists of numbers, is neither NaN nor infinite."""
    return all(map(is_finite, value)) if isinstance(value, list) else math.isfinite(value)


def is_nan(value: Any) -> bool:
    """Tells whether a number, or one in nested lists of numbers, is NaN."""
    return any(map(is_nan, value)) if isinstance(value, list) else math.isnan(value)
