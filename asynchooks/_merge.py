"""What the caller and the hooks ask of one run, put together and taken apart again."""

from __future__ import annotations

from typing import Any

from asynchooks._errors import FeedConflictError, note_once
from asynchooks._fetches import parse_feeds, parse_fetches
from asynchooks._graph import Graph, Op
from asynchooks._hook import SessionRunArgs
from asynchooks._options import RunOptions, check_options


class Merge:
    """The union of fetches and feeds, and the merged options, of one attempt.

    Attributes:
        fetches: the caller's fetches, then those that were added, in order.
        feeds: the values by op.
        options: the merged options.
    """

    __slots__ = ("_caller", "_feeders", "_graph", "_parties", "feeds", "fetches", "options")

    def __init__(self, graph: Graph, caller: SessionRunArgs) -> None:
        """Starts with what the caller asks for.

        Args:
            graph: the graph that is run.
            caller: what the caller asks for.
        """
        self._graph = graph
        self._caller = caller
        self.feeds: dict[Op[Any], Any] = {}
        self._feeders: dict[Op[Any], str] = {}
        self.fetches: list[Any] = [caller.fetches]
        self._parties: list[tuple[str, Any]] = []
        self.options = caller.options or RunOptions()

    def add(self, party: str, requested: object) -> int | None:
        """Adds what a hook asks for.

        Args:
            party: what messages call it.
            requested: what its `before_run` returned.

        Returns:
            Where in the results the hook's stand; None if it fetches nothing.

        Raises:
            TypeError: that is neither `SessionRunArgs` nor None, or holds what cannot be fed.
            ValueError: an op or name that is fed is not of this graph.
            FeedConflictError: another hook feeds the same op.
        """
        if requested is None:
            return None
        if not isinstance(requested, SessionRunArgs):
            raise TypeError(
                f"before_run of {party} is to return SessionRunArgs or None, not {requested!r}"
            )
        try:
            self._add_feeds(party, requested.feed_dict)
            check_options(requested.options)
        except (TypeError, ValueError) as error:
            note_once(error, f"asked for by {party}")
            raise
        if requested.options is not None:
            self.options = self.options.merged(requested.options)
        if requested.fetches is None:
            return None
        self.fetches.append(requested.fetches)
        self._parties.append((party, requested.fetches))
        return len(self.fetches) - 1

    def name_culprit(self, error: Exception) -> None:
        """Adds a note to an error of the run if what one of the hooks fetches is the reason."""
        for party, fetches in self._parties:
            try:
                parse_fetches(self._graph, fetches)
            except (TypeError, ValueError):
                note_once(error, f"asked for by {party}")

    def add_caller_feeds(self) -> None:
        """Adds the feeds of the caller.

        Raises:
            FeedConflictError: a hook feeds the same op.
        """
        self._add_feeds("the caller", self._caller.feed_dict)

    def _add_feeds(self, party: str, feed_dict: object) -> None:
        for op, value in parse_feeds(self._graph, feed_dict).items():
            first = self._feeders.setdefault(op, party)
            if first != party:
                raise FeedConflictError(op.name, (first, party))
            self.feeds[op] = value
