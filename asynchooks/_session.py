"""The raw session: runs fetches on a graph, one transaction each."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, TypeVar, overload

import anyio

from asynchooks._backend import raise_if_cancelled
from asynchooks._closing import conclude, run_all
from asynchooks._errors import DeadlineExceededError
from asynchooks._executor import execute
from asynchooks._fetches import parse_feeds
from asynchooks._graph import Graph, Op, chosen_graph
from asynchooks._lifecycle import Lifecycle, SessionPhase
from asynchooks._options import RunOptions, check_options
from asynchooks._pace import Pace
from asynchooks._requests import compile_request
from asynchooks._resources import OpenResources
from asynchooks._state import SessionState, Transaction

T = TypeVar("T")


class Session:
    """Runs ops of a graph, without hooks and without recovery.

    Hooks get to see it as `run_context.session`; used alone it is entered with ``async with``.
    Carries over ``tf.compat.v1.Session``.
    """

    def __init__(self, graph: Graph | None = None, state: SessionState | None = None) -> None:
        """Makes a session that is not open yet.

        Args:
            graph: None takes the default graph.
            state: the values of variables and the positions in sources to go on with; None starts
                afresh.

        Raises:
            TypeError: an argument is of another kind.
        """
        if state is not None and not isinstance(state, SessionState):
            raise TypeError(f"state is to be a SessionState or None, not {state!r}")
        self._graph = chosen_graph(graph)
        self._owns_state = state is None
        self._state = state if state is not None else SessionState()
        self._lifecycle = Lifecycle()
        self._resources = OpenResources()
        self._pace: Pace | None = None

    @property
    def graph(self) -> Graph:
        """The graph that is run."""
        return self._graph

    @property
    def state(self) -> SessionState:
        """The values of variables and the positions in sources that it works on."""
        return self._state

    @property
    def closed(self) -> bool:
        """Whether the session was left."""
        return self._lifecycle.is_over

    async def __aenter__(self) -> Session:
        """Opens the graph's resources."""
        self._lifecycle.move(SessionPhase.OPENING)
        try:
            self._pace = Pace()
            await self._resources.open(self._graph)
        except BaseException:
            self._lifecycle.move(SessionPhase.CLOSING)
            self._lifecycle.move(SessionPhase.CLOSED)
            raise
        self._lifecycle.move(SessionPhase.OPEN)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Closes the graph's resources."""
        self._lifecycle.move(SessionPhase.CLOSING)
        leaving = await self._resources.close(exc)
        if self._owns_state:
            closing = [("closing the sources", self._state.aclose)]
            leaving = conclude(leaving, await run_all(closing, math.inf))
        self._lifecycle.move(SessionPhase.CLOSED)
        if leaving is not None and leaving is not exc:
            raise leaving

    @overload
    async def run(
        self, fetches: Op[T], feed_dict: Any = None, options: RunOptions | None = None
    ) -> T: ...
    @overload
    async def run(
        self,
        fetches: Callable[[], Awaitable[T]],
        feed_dict: Any = None,
        options: RunOptions | None = None,
    ) -> T: ...
    @overload
    async def run(
        self, fetches: Any, feed_dict: Any = None, options: RunOptions | None = None
    ) -> Any: ...
    async def run(
        self, fetches: Any, feed_dict: Any = None, options: RunOptions | None = None
    ) -> Any:
        """Evaluates ops in one transaction and returns their values.

        It is a cancellation point also where nothing in it suspends. A run that fails or is
        cancelled leaves no trace: no variable is assigned, and items go back to their sources.

        Args:
            fetches: an op, the name of one, a zero-argument callable (an op of its own, awaited if
                it returns an awaitable), or tuples, lists, dicts, named tuples and dataclasses of
                them at any depth.
            feed_dict: values by op, or name of an op, that replace those ops in this run.
            options: only the timeout and the run metadata matter here.

        Returns:
            The values, in the nesting of `fetches`.

        Raises:
            TypeError: something in the fetches or feeds cannot be fetched or fed.
            ValueError: an op or name is not of this graph.
            InvalidArgumentError: a placeholder is needed and not fed.
            DeadlineExceededError: the timeout passed.
            SessionClosedError: the session was left.
            BaseException: what an op raised; a group if several did. Inputs that end together
                raise one error.
        """
        pace = self._open_pace()
        feeds = _NO_FEEDS if feed_dict is None else parse_feeds(self._graph, feed_dict)
        check_options(options)
        request = compile_request(self._graph, fetches, tuple(feeds), options)
        await pace.checkpoint()
        counter = pace.counter()
        cancellations = counter()
        plan = request.plan
        transaction = Transaction(self._state, self._resources.values) if plan.stateful else None
        evaluation = execute(plan, feeds.values(), transaction, pace, counter)
        try:
            if options is not None and options.timeout is not None:
                evaluation = _within(options.timeout, evaluation)
            result = request.build(await evaluation)
            if counter() > cancellations or pace.is_scope_cancelled():
                # It came too late for the ops, or one of them has swallowed it.
                await raise_if_cancelled(cancellations)
            if transaction is not None:
                transaction.commit()
        except BaseException as error:
            if transaction is not None:
                transaction.rollback()
            if isinstance(error, Exception):
                # A cancellation that came meanwhile leaves, with this error as its context.
                await raise_if_cancelled(cancellations)
            raise
        return result

    def yield_soon(self) -> None:
        """Has the next run let other tasks run before it evaluates anything."""
        self._open_pace().turn_ends = 0.0

    def _open_pace(self) -> Pace:
        self._lifecycle.require_open()
        assert self._pace is not None
        return self._pace


async def _within(limit: float, evaluation: Awaitable[list[Any]]) -> list[Any]:
    values: list[Any] = []
    with anyio.move_on_after(limit) as scope:
        values = await evaluation
    if scope.cancel_called:
        raise DeadlineExceededError(limit)
    return values


_NO_FEEDS: dict[Op[Any], Any] = {}
