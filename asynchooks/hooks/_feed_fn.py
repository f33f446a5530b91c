"""Feeds from a function."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from asynchooks._hook import SessionRunArgs, SessionRunContext, SessionRunHook
from asynchooks._ops import check_takes_nothing, in_place


class FeedFnHook(SessionRunHook):
    """Feeds each run with what a function returns.

    The function is called for each attempt, so a repeated run gets the next feeds: what must not
    be lost comes from a source (`from_iterable`). Carries over ``tf.compat.v1.train.FeedFnHook``.
    """

    def __init__(self, feed_fn: Callable[[], dict[Any, Any] | Awaitable[dict[Any, Any]]]) -> None:
        """Makes the hook.

        Args:
            feed_fn: takes nothing and returns values by op or name, or an awaitable of them.
                ``StopIteration``, or another end of the input, ends the loop of runs normally.

        Raises:
            TypeError: `feed_fn` is not callable, or needs arguments.
        """
        if not callable(feed_fn):
            raise TypeError(f"feed_fn is to be a function that returns feeds, not {feed_fn!r}")
        check_takes_nothing(feed_fn, "feed_fn")
        self._feed_fn = feed_fn

    async def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks the function for the feeds of this attempt."""
        feeds = in_place(self._feed_fn)
        if inspect.isawaitable(feeds):
            feeds = await feeds
        return SessionRunArgs(feed_dict=feeds)
