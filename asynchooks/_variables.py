"""Variables: named state that runs read and assign; the global step is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from asynchooks._graph import Graph, Op, OpKind, chosen_graph, chosen_name, get_default_graph
from asynchooks._ops import new_op, ops_in
from asynchooks._state import Change, SessionState, Transaction

T = TypeVar("T")

GLOBAL_STEP = "global_step"
"""The name of the global step, and of the collection that holds it."""

VARIABLES = "variables"
"""The collection that holds all variables of a graph."""


class Variable(Op[T]):
    """Named state, kept across generations of a session; as an op, its value at the run's start.

    Values are treated as immutable: a run assigns new ones, and commits all of its assignments or
    none. Carries over ``tf.Variable``.
    """

    __slots__ = ("assigned", "initial_value")

    def __init__(self, initial_value: T, name: str | None = None) -> None:
        """Adds a variable to the default graph.

        Args:
            initial_value: its value in a session until a run assigns another.
            name: None takes "variable".

        Raises:
            GraphFinalizedError: the graph is final.
        """
        graph = get_default_graph()
        unique = graph.unique_name(chosen_name(name, "variable"))
        super().__init__(graph, unique, OpKind.INTERNAL, self._read, stateful=True)
        self.initial_value: T = initial_value
        self.assigned: bool = False
        graph.add(self)
        graph.add_to_collection(VARIABLES, self)

    def assign(self, value: T | Op[T], name: str | None = None) -> Op[T]:
        """Makes an op that sets the variable and gives the new value.

        Args:
            value: a value, an op, or nested lists, tuples and dicts with ops in them.
            name: None takes the variable's name with "/assign".
        """
        return self._assignment(value, chosen_name(name, f"{self.name}/assign"), _setting)

    def assign_add(self, value: T | Op[T], name: str | None = None) -> Op[T]:
        """Makes an op that adds to the variable and gives the new value.

        Those of overlapping runs add up: the addition is repeated on what is committed by the time
        of the commit.

        Args:
            value: what to add with ``+``: a value or an op.
            name: None takes the variable's name with "/assign_add".
        """
        return self._assignment(value, chosen_name(name, f"{self.name}/assign_add"), _adding)

    def _assignment(self, value: Any, name: str, changing: Callable[[Any], Change]) -> Op[T]:
        inputs, build = ops_in(value)
        self.graph.check_member(self)
        for op in inputs:
            self.graph.check_member(op)

        def call(transaction: Transaction, *values: Any) -> Any:
            return self.change(transaction, changing(build(values)))

        made = new_op(self.graph, name, OpKind.INTERNAL, call, inputs=inputs, stateful=True)
        self.assigned = True
        return made

    def change(self, transaction: Transaction, change: Change) -> Any:
        """Plans a change within a run and returns the value that it gives there."""
        return transaction.change(self, self.initial_value, change)

    def committed(self, state: SessionState) -> T:
        """Returns the value that a session has now, outside of any run."""
        value: T = state.values.get(self, self.initial_value)
        return value

    def _read(self, transaction: Transaction) -> Any:
        return transaction.read(self, self.initial_value)


def get_variable(name: str, initial_value: T) -> Variable[T]:
    """Returns the default graph's variable of that name, made if it is not there yet.

    For hooks' `begin`, which may be called again on the same graph.

    Args:
        name: the variable's name.
        initial_value: used only where the variable is made.

    Raises:
        TypeError: the name is that of an op that is no variable.
    """
    found = get_default_graph().find(chosen_name(name, ""))
    if found is None:
        return Variable(initial_value, name)
    if not isinstance(found, Variable):
        raise TypeError(f"op {name!r} is no variable; choose another name")
    return found


def get_global_step(graph: Graph | None = None) -> Variable[int] | None:
    """Returns the graph's global step, or None.

    Args:
        graph: None takes the default graph.
    """
    steps = chosen_graph(graph).get_collection(GLOBAL_STEP)
    return steps[0] if steps else None


def get_or_create_global_step(graph: Graph | None = None) -> Variable[int]:
    """Returns the graph's global step, which is made with value 0 if it is not there yet.

    If no op of the graph assigns it, each run that a `MonitoredSession` commits adds one.

    Args:
        graph: None takes the default graph.
    """
    graph = chosen_graph(graph)
    step = get_global_step(graph)
    if step is None:
        with graph.as_default():
            step = Variable(0, GLOBAL_STEP)
        graph.add_to_collection(GLOBAL_STEP, step)
    return step


def global_step_increment(graph: Graph) -> Op[int] | None:
    """Makes an op, not added to `graph`, that counts a run; None if the graph does."""
    step = get_global_step(graph)
    if step is None or step.assigned:
        return None

    def call(transaction: Transaction) -> Any:
        return step.change(transaction, _adding(1))

    return Op[int](graph, "global_step/increment", OpKind.INTERNAL, call, stateful=True)


def _setting(value: Any) -> Change:
    return lambda _: value


def _adding(value: Any) -> Change:
    return lambda old: old + value
