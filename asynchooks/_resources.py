"""Resources: what has a life as long as one generation of a session."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, TypeVar, cast

from asynchooks._closing import conclude, protect_unwinding
from asynchooks._errors import note_once
from asynchooks._graph import Graph, Op, OpKind, chosen_name, graph_of
from asynchooks._ops import check_call, is_async, name_of, ops_in
from asynchooks._state import Transaction
from asynchooks._structure import Build

T = TypeVar("T")


class Resource(Op[T]):
    """An op whose value is what the running generation has opened."""

    __slots__ = ("_build", "_factory", "_needs")

    def __init__(
        self,
        graph: Graph,
        name: str,
        factory: Callable[..., Any],
        needs: tuple[Op[Any], ...],
        build: Build,
    ) -> None:
        super().__init__(graph, graph.unique_name(name), OpKind.INTERNAL, self._live, stateful=True)
        self._factory = factory
        self._needs = needs
        self._build = build
        graph.add(self)

    def open(self, opened: dict[Op[Any], Any]) -> AbstractAsyncContextManager[T]:
        """Calls the factory.

        Args:
            opened: the resources that are open by now.
        """
        args, kwargs = self._build([opened[need] for need in self._needs])
        manager = self._factory(*args, **kwargs)
        if not isinstance(manager, AbstractAsyncContextManager):
            raise TypeError(
                f"the factory of resource {self.name!r} is to return an async context manager, "
                f"not {manager!r}"
            )
        return cast("AbstractAsyncContextManager[T]", manager)

    def _live(self, transaction: Transaction) -> Any:
        return transaction.resources[self]


def resource(
    factory: Callable[..., AbstractAsyncContextManager[T]],
    *args: Any,
    name: str | None = None,
    **kwargs: Any,
) -> Op[T]:
    """Makes an op for something with a life: a connection, a pool, a client.

    It is opened when a generation of the session is created, in the order in which the graph's
    resources were made, and closed when the generation ends; both happen in one task. An op that
    takes it, or a hook that fetches it, gets the live one.

    Args:
        factory: called once for each generation; returns an async context manager.
        *args: its arguments: values or other resources, which it gets opened, also nested.
        name: None takes the factory's name.
        **kwargs: likewise.

    Raises:
        TypeError: `factory` is not callable, is async, cannot be called with such arguments, or an
            op among them is no resource.
    """
    if not callable(factory) or is_async(factory):
        raise TypeError(
            "a resource is made of a function that returns an async context manager (an "
            f"@asynccontextmanager, say), not of {factory!r}"
        )
    check_call(factory, *args, **kwargs)
    needs, build = ops_in((args, kwargs))
    for need in needs:
        if not isinstance(need, Resource):
            raise TypeError(f"a resource can take values and resources, but {need!r} is neither")
    return Resource(graph_of(needs), chosen_name(name, name_of(factory)), factory, needs, build)


class OpenResources:
    """The resources of one generation.

    Attributes:
        values: what was opened, by op.
    """

    def __init__(self) -> None:
        self.values: dict[Op[Any], Any] = {}
        self._managers: list[AbstractAsyncContextManager[Any]] = []

    async def open(self, graph: Graph) -> None:
        """Opens the graph's resources in order; if one fails, those that are open are closed."""
        try:
            for op in graph.get_operations():
                if isinstance(op, Resource):
                    await self._open(op)
        except BaseException as error:
            protect_unwinding()
            leaving = await self.close(error)
            if leaving is error:
                raise
            raise leaving or error from error

    async def _open(self, op: Resource[Any]) -> None:
        try:
            manager = op.open(self.values)
            self.values[op] = await manager.__aenter__()
        except Exception as error:
            note_once(error, f"raised by resource {op.name!r}")
            raise
        self._managers.append(manager)

    async def close(self, error: BaseException | None) -> BaseException | None:
        """Closes everything, in reverse order, whatever fails.

        Args:
            error: what makes them close, if it is an error.

        Returns:
            The error that is to leave, if any.
        """
        errors: list[BaseException] = []
        while self._managers:
            manager = self._managers.pop()
            try:
                await manager.__aexit__(type(error) if error else None, error, _traceback(error))
            except BaseException as other:
                if other is not error:
                    errors.append(other)
        return conclude(error, errors)


def _traceback(error: BaseException | None) -> TracebackType | None:
    return error.__traceback__ if error is not None else None
