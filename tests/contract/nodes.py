"""The nodes of a scenario's graph, each an op of its own, and their names in structures."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import asynchooks as ah

Node = dict[str, Any]
Ops = dict[str, ah.Op[Any]]


class Nodes:
    """The graph of a scenario; a node's name in the scenario is the key of its op here."""

    def __init__(self, graph: ah.Graph) -> None:
        self.graph = graph
        self.ops: Ops = {}

    def add(self, name: str, node: Node) -> None:
        """Adds the op of one node."""
        with self.graph.as_default():
            self.ops[name] = BUILDERS[node["op"]](name, node, self.ops)

    def fetches(self, structure: Any) -> Any:
        """Puts ops in the place of names; a name that no node has stays what it is."""
        return mapped(structure, lambda name: self.ops.get(name, name))

    def feeds(self, feeds: dict[str, Any] | None) -> dict[Any, Any] | None:
        """Puts ops in the place of the names that are fed."""
        if feeds is None:
            return None
        return {self.ops.get(name, name): decoded(value) for name, value in feeds.items()}

    def names(self, structure: Any) -> Any:
        """Puts names in the place of ops."""
        by_op = {op: name for name, op in self.ops.items()}
        return mapped(structure, lambda op: by_op.get(op, op))

    def fed_names(self, feeds: Mapping[Any, Any]) -> dict[str, Any]:
        """Puts names in the place of the ops that are fed."""
        return {self.names(op): encoded(value) for op, value in feeds.items()}


def mapped(structure: Any, leaf: Callable[[Any], Any]) -> Any:
    """Applies `leaf` to what is no list and no dict."""
    if isinstance(structure, list):
        return [mapped(each, leaf) for each in structure]
    if isinstance(structure, dict):
        return {key: mapped(each, leaf) for key, each in structure.items()}
    return leaf(structure)


def decoded(value: Any) -> Any:
    """Returns the value that JSON stands for."""
    return mapped(value, lambda each: float(each) if isinstance(each, str) else each)


def encoded(value: Any) -> Any:
    """Returns what stands for a value in a trace."""
    return mapped(value, _encoded_leaf)


def _encoded_leaf(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    return value


def elementwise(function: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Applies `function` to numbers, or to the elements of vectors of numbers."""
    if isinstance(x, list) or isinstance(y, list):
        length = len(x if isinstance(x, list) else y)
        xs, ys = (each if isinstance(each, list) else [each] * length for each in (x, y))
        return [elementwise(function, *pair) for pair in zip(xs, ys, strict=True)]
    return function(x, y)


@ah.op
def combined(function: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Gives the sum or the product of two nodes."""
    return elementwise(function, x, y)


def _combination(function: Callable[[Any, Any], Any]) -> Callable[[str, Node, Ops], ah.Op[Any]]:
    def build(name: str, node: Node, ops: Ops) -> ah.Op[Any]:
        return combined.options(name=name)(function, ops[node["x"]], ops[node["y"]])

    return build


def _global_step(name: str, node: Node, ops: Ops) -> ah.Op[Any]:
    step: ah.Variable[Any] = ah.Variable(node["init"], name)
    step.graph.add_to_collection("global_step", step)
    return step


def _assign_add(name: str, node: Node, ops: Ops, value: Any) -> ah.Op[Any]:
    variable = ops[node["var"]]
    assert isinstance(variable, ah.Variable)
    return variable.assign_add(value, name)


BUILDERS: dict[str, Callable[[str, Node, Ops], ah.Op[Any]]] = {
    "const": lambda name, node, ops: ah.constant(decoded(node["value"]), name),
    "placeholder": lambda name, node, ops: ah.placeholder(name),
    "add": _combination(operator.add),
    "mul": _combination(operator.mul),
    "global_step": _global_step,
    "var": lambda name, node, ops: ah.Variable(decoded(node["init"]), name),
    "inc": lambda name, node, ops: _assign_add(name, node, ops, node.get("by", 1)),
    "assign_add": lambda name, node, ops: _assign_add(name, node, ops, ops[node["value"]]),
    "iterator": lambda name, node, ops: ah.from_iterable(decoded(node["values"])).get_next(name),
    "noop": lambda name, node, ops: ah.no_op(name),
}
