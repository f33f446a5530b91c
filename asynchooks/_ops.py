"""Making ops: the decorator, placeholders, constants and groups."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

from asynchooks._errors import OutOfRangeError
from asynchooks._graph import (
    Graph,
    Op,
    OpKind,
    checked_ops,
    chosen_name,
    control_inputs_of,
    get_default_graph,
    graph_of,
    is_op,
)
from asynchooks._structure import Build, Constant, compile_arguments, leaf_at

T = TypeVar("T")


class OpFunction(Generic[T]):
    """A function that makes an op of each call; see `op`.

    Attributes:
        __wrapped__: the plain function.
        kind: how its ops get their values.
        name: the name of its ops, which is made unique.
        control_inputs: what its ops are evaluated after.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        kind: OpKind,
        name: str,
        control_inputs: tuple[Op[Any], ...],
    ) -> None:
        """Is called by `op`."""
        self.__wrapped__ = fn
        self.kind = kind
        self.name = name
        self.control_inputs = control_inputs

    def __repr__(self) -> str:
        return f"<OpFunction {self.name!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Op[T]:
        """Makes an op that applies the function to `args` and `kwargs` in each run.

        Args:
            *args: values, ops, or lists, tuples and dicts in which ops stand at any depth.
            **kwargs: likewise.

        Raises:
            TypeError: the function cannot be called with such arguments.
            ValueError: the ops among the arguments are of several graphs.
            GraphFinalizedError: the graph is final.
        """
        self._check_call(args, kwargs)
        inputs, call = _applied(self.__wrapped__, args, kwargs)
        graph = graph_of((*inputs, *self.control_inputs))
        controls = control_inputs_of(graph, self.control_inputs)
        return new_op(graph, self.name, self.kind, call, inputs=inputs, control_inputs=controls)

    def _check_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if (kwargs or len(args) not in self._positional) and self._signature is not None:
            _check_bind(self.__wrapped__, self._signature, args, kwargs)

    @cached_property
    def _signature(self) -> inspect.Signature | None:
        # To read it takes longer than all else about making an op.
        return _signature_of(self.__wrapped__)

    @cached_property
    def _positional(self) -> range:
        # Most calls can be checked without being bound, which takes some us.
        return _positional_counts(self._signature) if self._signature is not None else range(0)

    def __get__(self, instance: object, owner: type | None = None) -> OpFunction[T]:
        """Binds a decorated method to its instance."""
        if instance is None:
            return self
        bound = self.__wrapped__.__get__(instance, owner)
        return OpFunction(bound, self.kind, self.name, self.control_inputs)

    def options(
        self, *, name: str | None = None, control_dependencies: Iterable[Op[Any]] = ()
    ) -> OpFunction[T]:
        """Returns the same function with other options.

        Args:
            name: the name of the ops that it makes; None keeps the name.
            control_dependencies: ops that are evaluated before those that it makes.
        """
        controls = self.control_inputs + checked_ops(control_dependencies, "control dependencies")
        name = chosen_name(name, self.name)
        return OpFunction(self.__wrapped__, self.kind, name, controls)


@overload
def op(fn: Callable[..., Awaitable[T]], /) -> OpFunction[T]: ...
@overload
def op(fn: Callable[..., T], /) -> OpFunction[T]: ...
@overload
def op(
    *, name: str | None = None, thread: bool = False, control_dependencies: Iterable[Op[Any]] = ()
) -> OpDecorator: ...
def op(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    thread: bool = False,
    control_dependencies: Iterable[Op[Any]] = (),
) -> Any:
    """Makes a function one whose calls are ops: nothing runs until a session runs the op.

    In a run an async function is awaited, a plain one is called in place, so it must not block;
    one that blocks is given to a worker thread with ``thread=True``. An awaitable that a plain
    function returns is awaited too, but no other op is started before it.

    An op sees the context variables of the caller of the run. What it sets itself may or may not
    be seen by ops that start after it, since those share tasks; what one op has for another goes
    through its value.

    Args:
        fn: the function, when the decorator is used without parentheses.
        name: the name of the ops that it makes; None takes the function's.
        thread: whether the function, a plain one, runs in a worker thread.
        control_dependencies: ops that are evaluated before those that it makes.

    Raises:
        TypeError: `fn` is not callable, or an async function is to run in a thread.
    """
    if name is not None:
        chosen_name(name, "")
    decorate = OpDecorator(name, thread, checked_ops(control_dependencies, "control dependencies"))
    return decorate if fn is None else decorate(fn)


@dataclass(frozen=True)
class OpDecorator:
    """What `op` with options returns; takes the function."""

    name: str | None
    thread: bool
    control_inputs: tuple[Op[Any], ...]

    @overload
    def __call__(self, fn: Callable[..., Awaitable[T]], /) -> OpFunction[T]: ...
    @overload
    def __call__(self, fn: Callable[..., T], /) -> OpFunction[T]: ...
    def __call__(self, fn: Callable[..., Any], /) -> OpFunction[Any]:
        """Makes the function one whose calls are ops."""
        kind = _kind_of(fn, self.thread)
        return OpFunction[Any](fn, kind, self.name or name_of(fn), self.control_inputs)


def placeholder(name: str | None = None) -> Op[Any]:
    """Makes an op that has a value only where it is fed.

    A run that needs it and does not feed it raises `InvalidArgumentError` before any op has run.

    Args:
        name: None takes "placeholder".
    """
    return new_op(get_default_graph(), chosen_name(name, "placeholder"), OpKind.PLACEHOLDER)


def constant(value: T, name: str | None = None) -> Op[T]:
    """Makes an op whose value is always `value`.

    Args:
        value: any object; it is not copied.
        name: None takes "constant".
    """
    graph = get_default_graph()
    return new_op(graph, chosen_name(name, "constant"), OpKind.INTERNAL, lambda: value)


def group(*ops: Op[Any], name: str | None = None) -> Op[None]:
    """Makes an op whose value is None and that is evaluated after all of `ops`.

    Args:
        *ops: ops of one graph.
        name: None takes "group".
    """
    checked = checked_ops(ops, "the members of a group")
    graph = graph_of(checked)
    controls = control_inputs_of(graph, checked)
    return new_op(
        graph, chosen_name(name, "group"), OpKind.INTERNAL, _nothing, control_inputs=controls
    )


def no_op(name: str | None = None) -> Op[None]:
    """Makes an op that does nothing: something to hang control dependencies on.

    Args:
        name: None takes "no_op".
    """
    return group(name=chosen_name(name, "no_op"))


def new_op(
    graph: Graph,
    name: str,
    kind: OpKind,
    call: Callable[..., Any] | None = None,
    *,
    inputs: tuple[Op[Any], ...] = (),
    control_inputs: tuple[Op[Any], ...] | None = None,
    stateful: bool = False,
) -> Op[Any]:
    """Makes an op and adds it to `graph`."""
    if control_inputs is None:
        control_inputs = control_inputs_of(graph)
    made: Op[Any] = Op(
        graph,
        graph.unique_name(name),
        kind,
        call,
        inputs=inputs,
        control_inputs=control_inputs,
        stateful=stateful,
    )
    graph.add(made)
    return made


def ops_in(structure: object) -> tuple[tuple[Op[Any], ...], Build]:
    """Finds the ops in nested lists, tuples and dicts.

    Returns:
        The ops, each once, and what builds the structure from their values.
    """
    found: dict[Op[Any], int] = {}

    def leaf(value: object) -> Build:
        if is_op(value):
            return leaf_at(found.setdefault(value, len(found)))
        return Constant(value)

    build = compile_arguments(structure, leaf)
    return tuple(found), build


def call_op(graph: Graph, fn: Callable[[], Any]) -> Op[Any]:
    """Makes an op of a zero-argument callable without adding it to `graph`."""
    return Op[Any](graph, name_of(fn), OpKind.ASYNC, _awaitable_or_value(fn))


def name_of(fn: Callable[..., Any]) -> str:
    """Returns the name that ops made of `fn` get."""
    return getattr(fn, "__name__", None) or type(fn).__name__


def is_async(fn: Callable[..., Any]) -> bool:
    """Tells whether a call of `fn` is to be awaited, as far as can be told before it is called."""
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(
        getattr(fn, "__call__", None)  # noqa: B004
    )


def is_generator_function(fn: object) -> bool:
    """Tells whether a call of `fn` gives a generator, sync or async."""
    return inspect.isasyncgenfunction(fn) or inspect.isgeneratorfunction(fn)


def in_place(fn: Callable[..., Any], *args: Any) -> Any:
    """Calls a plain function, whose `StopIteration` a coroutine could not let through.

    Raises:
        OutOfRangeError: the function raised `StopIteration`.
    """
    try:
        return fn(*args)
    except StopIteration as stop:
        raise OutOfRangeError(f"{name_of(fn)!r} raised StopIteration") from stop


def check_call(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Checks that a function can be called with some arguments, as far as it tells.

    Raises:
        TypeError: it cannot.
    """
    signature = _signature_of(fn)
    if signature is not None:
        _check_bind(fn, signature, args, kwargs)


def check_takes_nothing(fn: Callable[..., Any], use: str) -> None:
    """Checks that a function can be called without arguments, as far as it tells.

    Args:
        fn: the function.
        use: what it is, for the message.

    Raises:
        TypeError: it cannot.
    """
    try:
        check_call(fn)
    except TypeError as error:
        raise TypeError(f"{use} takes no arguments, but {error}") from None


def _signature_of(fn: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fn)
    except ValueError:
        return None


def _positional_counts(signature: inspect.Signature) -> range:
    least = most = 0
    for parameter in signature.parameters.values():
        required = parameter.default is parameter.empty
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            most += 1
            least += required
        elif parameter.kind is parameter.VAR_POSITIONAL:
            most = sys.maxsize - 1
        elif parameter.kind is parameter.KEYWORD_ONLY and required:
            return range(0)
    return range(least, most + 1)


def _check_bind(
    fn: Callable[..., Any],
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name_of(fn)}(): {error}") from None


def _nothing() -> None:
    return None


def _kind_of(fn: Callable[..., Any], thread: bool) -> OpKind:
    if not callable(fn):
        raise TypeError(f"an op is made of a function, not of {fn!r}")
    if is_generator_function(fn):
        raise TypeError(
            f"{name_of(fn)!r} is a generator function; an op gives one value, use from_iterable() "
            "for a function that yields many"
        )
    if not is_async(fn):
        return OpKind.THREAD if thread else OpKind.PLAIN
    if thread:
        raise TypeError(f"{name_of(fn)!r} is async; only a plain function can run in a thread")
    return OpKind.ASYNC


def _awaitable_or_value(fn: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
    if is_async(fn):
        return fn

    async def call() -> Any:
        value = in_place(fn)
        return await value if inspect.isawaitable(value) else value

    return call


def _applied(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Op[Any], ...], Callable[..., Any]]:
    if not kwargs and all(map(is_op, args)) and len(set(args)) == len(args):
        return args, fn
    inputs, build = ops_in((args, kwargs))

    def apply(*values: Any) -> Any:
        built_args, built_kwargs = build(values)
        return fn(*built_args, **built_kwargs)

    return inputs, apply
