"""The graph of ops, and the default graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Any, Generic, TypeGuard, TypeVar, cast

from asynchooks._errors import GraphFinalizedError

T_co = TypeVar("T_co", covariant=True)


class OpKind(Enum):
    """How an op gets its value."""

    PLACEHOLDER = "is fed"
    INTERNAL = "a call in place, whose value is never awaited"
    PLAIN = "a call in place"
    ASYNC = "an awaited call"
    THREAD = "a call in a worker thread"


# To read a member off its enum takes Python 3.11 as long as to await an op that does nothing.
PLACEHOLDER, INTERNAL = OpKind.PLACEHOLDER, OpKind.INTERNAL
ASYNC, THREAD = OpKind.ASYNC, OpKind.THREAD


class Op(Generic[T_co]):
    """One node of a graph: evaluated at most once in each run that needs it.

    Made by calling a function decorated with `op`, or by `placeholder`, `constant`, `Variable`,
    `resource` and `Source.get_next`. The type parameter is that of its value.

    Attributes:
        graph: the graph it belongs to.
        name: unique in its graph; can stand for the op in fetches and feeds.
        inputs: the ops whose values it takes.
        control_inputs: the ops that are evaluated before it, whose values it does not take.
    """

    __slots__ = (
        "__weakref__",
        "call",
        "control_inputs",
        "graph",
        "inputs",
        "kind",
        "name",
        "stateful",
    )

    def __init__(
        self,
        graph: Graph,
        name: str,
        kind: OpKind,
        call: Callable[..., Any] | None = None,
        *,
        inputs: tuple[Op[Any], ...] = (),
        control_inputs: tuple[Op[Any], ...] = (),
        stateful: bool = False,
    ) -> None:
        self.graph: Graph = graph
        self.name: str = name
        self.kind: OpKind = kind
        self.call: Callable[..., Any] | None = call
        self.inputs: tuple[Op[Any], ...] = inputs
        self.control_inputs: tuple[Op[Any], ...] = control_inputs
        # The call of a stateful op gets the run's transaction before its inputs.
        self.stateful: bool = stateful

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} has a value only in a run; compare with None if that is meant")


class Graph:
    """The ops that can be run; open to new ops until it is final.

    Carries over ``tf.Graph``.
    """

    def __init__(self) -> None:
        self._ops: dict[str, Op[Any]] = {}
        self._names: dict[str, int] = {}
        self._collections: dict[str, list[Any]] = {}
        self._finalized = False
        self._holders = 0
        # What the floors above have compiled of it.
        self.compiled: dict[object, Any] = {}

    @property
    def finalized(self) -> bool:
        """Whether ops can no longer be added; true while a session is entered on the graph."""
        return self._finalized or self._holders > 0

    def finalize(self) -> None:
        """Makes the graph final: adding an op raises `GraphFinalizedError` from now on."""
        self._finalized = True

    def hold_final(self) -> None:
        """Makes the graph final until `release_final`; each live session does."""
        self._holders += 1

    def release_final(self) -> None:
        """Ends one `hold_final`."""
        self._holders -= 1

    @contextmanager
    def as_default(self) -> Generator[Graph]:
        """Makes this the default graph of the block, for ops that take no op of another graph."""
        token = _default_graph.set(self)
        try:
            yield self
        finally:
            _default_graph.reset(token)

    def get_operations(self) -> list[Op[Any]]:
        """Returns the ops in the order in which they were added."""
        return list(self._ops.values())

    def get_operation_by_name(self, name: str) -> Op[Any]:
        """Returns the op of that name.

        Raises:
            TypeError: `name` is no string.
            ValueError: the graph has no such op.
        """
        if not isinstance(name, str):
            raise TypeError(f"the name of an op is a string, not {name!r}")
        try:
            return self._ops[name]
        except KeyError:
            message = f"the graph has no op named {name!r}; it has {self._some_names()}"
            raise ValueError(message) from None

    def find(self, name: str) -> Op[Any] | None:
        """Returns the op of that name, or None."""
        return self._ops.get(name)

    def add_to_collection(self, name: str, value: object) -> None:
        """Appends `value` to the collection `name`, which is made if it is new."""
        self._collections.setdefault(name, []).append(value)

    def get_collection(self, name: str) -> list[Any]:
        """Returns a copy of the collection `name`; an unknown one is empty."""
        return list(self._collections.get(name, ()))

    def control_dependencies(self, ops: Iterable[Op[Any]]) -> AbstractContextManager[None]:
        """Ops made in the block are evaluated after `ops` in each run that needs them.

        Args:
            ops: ops of this graph.
        """
        return _control_dependencies(self, ops)

    def unique_name(self, name: str) -> str:
        """Returns `name`, or `name_1`, `name_2`, ... if it is taken.

        Raises:
            GraphFinalizedError: the graph is final.
        """
        if self.finalized:
            raise GraphFinalizedError(name)
        unique = name
        while unique in self._ops:
            self._names[name] = self._names.get(name, 0) + 1
            unique = f"{name}_{self._names[name]}"
        return unique

    def add(self, op: Op[Any]) -> None:
        """Adds an op that was made with a name out of `unique_name`."""
        self._ops[op.name] = op

    def check_member(self, op: Op[Any]) -> Op[Any]:
        """Returns `op` if it is one of this graph.

        Raises:
            ValueError: `op` belongs to another graph.
        """
        if op.graph is not self:
            raise ValueError(
                f"op {op.name!r} belongs to another graph; make it inside this graph's as_default()"
            )
        return op

    def resolve(self, op_or_name: object, use: str) -> Op[Any]:
        """Returns the op that is meant by an op of this graph or by the name of one.

        Args:
            op_or_name: what stands for the op.
            use: what it is wanted for, for the message.

        Raises:
            TypeError: it is neither.
            ValueError: no such op in this graph.
        """
        if is_op(op_or_name):
            return self.check_member(op_or_name)
        if isinstance(op_or_name, str):
            return self.get_operation_by_name(op_or_name)
        hint = ""
        if inspect.iscoroutine(op_or_name):
            op_or_name.close()
            hint = "; give the async function instead of calling it"
        raise TypeError(f"cannot {use} {op_or_name!r}: expected an op or the name of one{hint}")

    def _some_names(self) -> str:
        names = [repr(name) for name in list(self._ops)[:20]]
        if len(self._ops) > len(names):
            names.append("...")
        return ", ".join(names) or "no ops"


_default_graph: ContextVar[Graph] = ContextVar("asynchooks_default_graph", default=Graph())  # noqa: B039
_control_inputs: ContextVar[tuple[Op[Any], ...]] = ContextVar("asynchooks_control", default=())


def get_default_graph() -> Graph:
    """Returns the graph of the innermost `Graph.as_default` block, or else the process's own."""
    return _default_graph.get()


def control_dependencies(ops: Iterable[Op[Any]]) -> AbstractContextManager[None]:
    """Ops made in the block are evaluated after `ops`; see `Graph.control_dependencies`."""
    return _control_dependencies(get_default_graph(), ops)


@contextmanager
def _control_dependencies(graph: Graph, ops: Iterable[Op[Any]]) -> Generator[None]:
    checked = checked_ops(ops, "control dependencies")
    for op in checked:
        graph.check_member(op)
    token = _control_inputs.set((*_control_inputs.get(), *checked))
    try:
        yield
    finally:
        _control_inputs.reset(token)


def is_op(value: object) -> TypeGuard[Op[Any]]:
    """Tells whether `value` is an op."""
    return isinstance(value, Op)


def checked_ops(ops: object, use: str) -> tuple[Op[Any], ...]:
    """Returns `ops` as a tuple.

    Args:
        ops: what is to be ops.
        use: what they are wanted for, for the message.

    Raises:
        TypeError: it is no iterable of ops.
    """
    if isinstance(ops, Op) or not isinstance(ops, Iterable):
        raise TypeError(f"{use} are to be a list of ops, not {ops!r}")
    checked = tuple(cast("Iterable[object]", ops))
    for op in checked:
        if not isinstance(op, Op):
            raise TypeError(f"{use} are to be ops, not {op!r}")
    return cast("tuple[Op[Any], ...]", checked)


def chosen_name(name: object, default: str) -> str:
    """Returns the name that an op is to get.

    Args:
        name: what the caller gave; None for nothing.
        default: used if nothing was given.

    Raises:
        TypeError: `name` is no string.
        ValueError: `name` is empty.
    """
    if name is None:
        return default
    if not isinstance(name, str):
        raise TypeError(f"the name of an op is to be a string, not {name!r}")
    if not name:
        raise ValueError("the name of an op is empty; leave it out to get one made")
    return name


def chosen_graph(graph: object) -> Graph:
    """Returns `graph`, or the default graph for None.

    Raises:
        TypeError: it is neither.
    """
    if graph is None:
        return get_default_graph()
    if not isinstance(graph, Graph):
        raise TypeError(f"graph is to be a Graph or None, not {graph!r}")
    return graph


def graph_of(inputs: Iterable[Op[Any]]) -> Graph:
    """Returns the graph that all `inputs` belong to, or the default graph if there are none.

    Raises:
        ValueError: they belong to several graphs.
    """
    graph: Graph | None = None
    for op in inputs:
        graph = graph or op.graph
        graph.check_member(op)
    return graph or get_default_graph()


def control_inputs_of(graph: Graph, extra: tuple[Op[Any], ...] = ()) -> tuple[Op[Any], ...]:
    """Returns what an op that is made now in `graph` comes after."""
    around = _control_inputs.get()
    if not around and not extra:
        return ()
    return tuple(dict.fromkeys((*(op for op in around if op.graph is graph), *extra)))
