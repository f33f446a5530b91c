"""Nested structures: taken apart into leaves once, rebuilt from values many times."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, cast

Build = Callable[[Sequence[Any]], Any]
"""Makes a structure out of the values of its leaves."""

Leaf = Callable[[object], Build]
"""Says how to build what stands at a leaf."""


class Constant:
    """Builds the same object from whatever values."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __call__(self, values: Sequence[Any]) -> Any:
        """Returns the object."""
        return self.value


def leaf_at(index: int) -> Build:
    """Builds the value that stands at `index`."""
    return itemgetter(index)


def compile_fetches(structure: object, leaf: Leaf) -> Build:
    """Takes tuples, lists, dicts, named tuples and dataclasses apart.

    Args:
        structure: nested at will; a structure that contains itself raises `ValueError`.
        leaf: is called with each object that is no container, in order.

    Returns:
        What builds a structure of the same nesting from the values of the leaves.
    """
    return _compiled(_Compiler("cannot fetch", leaf, _fetch_parts), structure)


def compile_arguments(structure: object, leaf: Leaf) -> Build:
    """Takes tuples, lists, dicts and named tuples apart.

    Parts in which `leaf` finds only constants are kept as the objects they are.
    """
    compiler = _Compiler("cannot pass", leaf, _container_parts, keep_constants=True)
    return _compiled(compiler, structure)


@dataclasses.dataclass(slots=True)
class _Parts:
    children: Sequence[object]
    join: Callable[[list[Any]], Any]


@dataclasses.dataclass(slots=True)
class _Compiler:
    use: str
    leaf: Leaf
    parts: Callable[[object], _Parts | None]
    keep_constants: bool = False
    open: set[int] = dataclasses.field(default_factory=set[int])

    def compile(self, structure: object) -> Build:
        parts = self.parts(structure)
        if parts is None:
            return self.leaf(structure)
        builds = self._children(structure, parts.children)
        if self.keep_constants and all(isinstance(build, Constant) for build in builds):
            return Constant(structure)
        join = parts.join
        return lambda values: join([build(values) for build in builds])

    def _children(self, structure: object, children: Sequence[object]) -> list[Build]:
        if id(structure) in self.open:
            raise ValueError(f"{self.use} a {type(structure).__name__} that contains itself")
        self.open.add(id(structure))
        try:
            return [self.compile(child) for child in children]
        finally:
            self.open.discard(id(structure))


def _compiled(compiler: _Compiler, structure: object) -> Build:
    try:
        return compiler.compile(structure)
    except RecursionError:
        message = f"{compiler.use} a {type(structure).__name__} that is nested that deep"
        raise ValueError(message) from None


def _container_parts(structure: object) -> _Parts | None:
    if isinstance(structure, list):
        return _Parts(cast("list[object]", structure), list)
    if isinstance(structure, tuple):
        make = getattr(cast("object", structure), "_make", tuple)
        return _Parts(cast("tuple[object, ...]", structure), make)
    if isinstance(structure, Mapping):
        return _mapping_parts(cast("Mapping[object, object]", structure))
    return None


def _mapping_parts(mapping: Mapping[object, object]) -> _Parts:
    keys = tuple(mapping)
    return _Parts(tuple(mapping.values()), lambda values: dict(zip(keys, values, strict=True)))


def _fetch_parts(structure: object) -> _Parts | None:
    if dataclasses.is_dataclass(structure) and not isinstance(structure, type):
        return _dataclass_parts(structure)
    return _container_parts(structure)


def _dataclass_parts(instance: Any) -> _Parts:
    fields = dataclasses.fields(instance)
    if not all(field.init for field in fields) or _has_init_vars(instance):
        raise TypeError(
            f"cannot fetch a {type(instance).__name__}: the fields of a dataclass that is fetched "
            "are to be just the arguments of its constructor"
        )
    names = tuple(field.name for field in fields)
    children = tuple(getattr(instance, name) for name in names)

    def join(values: list[Any]) -> Any:
        return dataclasses.replace(instance, **dict(zip(names, values, strict=True)))

    return _Parts(children, join)


def _has_init_vars(instance: Any) -> bool:
    parameters = inspect.signature(instance.__class__).parameters
    return bool(set(parameters) - {field.name for field in dataclasses.fields(instance)})
