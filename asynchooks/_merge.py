"""What the caller and the hooks ask of one run, put together and taken apart again."""

from __future__ import annotations

from typing import Any

from asynchooks._errors import FeedConflictError, note_once
from asynchooks._fetches import parse_feeds, parse_fetches
from asynchooks._graph import Graph, Op
from asynchooks._hook import SessionRunArgs
from asynchooks._options import check_options


class Merge:
    """The union of fetches and feeds, and the merged options, of one attempt.

    Attributes:
        fetches: the caller's fetches, then those that were added, in order.
        feeds: the values by op; None if nothing is fed.
        options: the merged options; None if nobody asks for any.
        places: where the results of each hook that fetches something stand, by its number.
    """

    __slots__ = ("_feeders", "_graph", "_original", "feeds", "fetches", "options", "places")

    def __init__(self, graph: Graph, original: SessionRunArgs, increment: Op[int] | None) -> None:
        """Starts with what the caller asks for.

        Args:
            graph: the graph that is run.
            original: what the caller asks for.
            increment: an op to evaluate as well, if any.
        """
        self._graph = graph
        self._original = original
        self.fetches = [original.fetches] if increment is None else [original.fetches, increment]
        self.options = original.options
        self.places: dict[int, int] = {}
        self.feeds: dict[Op[Any], Any] | None = None
        self._feeders: dict[Op[Any], str] = {}

    def add(self, hook: int, party: str, requested: object) -> None:
        """Adds what a hook asks for.

        Args:
            hook: its number.
            party: what messages call it.
            requested: what its `before_run` returned.

        Raises:
            TypeError: that is neither `SessionRunArgs` nor None, or holds what cannot be fed.
            ValueError: an op or name that is fed is not of this graph.
            FeedConflictError: another hook feeds the same op.
        """
        if not isinstance(requested, SessionRunArgs):
            raise TypeError(
                f"before_run of {party} is to return SessionRunArgs or None, not {requested!r}"
            )
        fetches, feed_dict, options = requested
        if feed_dict is not None or options is not None:
            self._add_inputs(party, requested)
        if fetches is not None:
            self.places[hook] = len(self.fetches)
            self.fetches.append(fetches)

    def add_caller_feeds(self) -> None:
        """Adds the feeds of the caller.

        Raises:
            FeedConflictError: a hook feeds the same op.
        """
        if self._original.feed_dict is not None:
            self._add_feeds("the caller", self._original.feed_dict)

    def culprit(self) -> int | None:
        """Returns the number of the hook that fetches what cannot be fetched, if one does."""
        for hook, place in self.places.items():
            try:
                parse_fetches(self._graph, self.fetches[place])
            except (TypeError, ValueError):
                return hook
        return None

    def _add_inputs(self, party: str, requested: SessionRunArgs) -> None:
        try:
            self._add_feeds(party, requested.feed_dict)
            check_options(requested.options)
        except (TypeError, ValueError) as error:
            note_once(error, f"asked for by {party}")
            raise
        if requested.options is not None:
            self.options = requested.options.merged(self.options)

    def _add_feeds(self, party: str, feed_dict: object) -> None:
        feeds = self.feeds = self.feeds or {}
        for op, value in parse_feeds(self._graph, feed_dict).items():
            first = self._feeders.setdefault(op, party)
            if first != party:
                raise FeedConflictError(op.name, (first, party))
            feeds[op] = value
