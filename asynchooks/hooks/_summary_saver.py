"""Writing of summaries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from asynchooks._coordinator import Coordinator
from asynchooks._graph import Op, get_default_graph, is_op
from asynchooks._hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from asynchooks._lifecycle import SessionEnd
from asynchooks._requests import check_fetches
from asynchooks._session import Session
from asynchooks._variables import get_or_create_global_step
from asynchooks.hooks._summaries import summaries_of
from asynchooks.hooks._summary_writer import ScalarOutput, WriterOrFactory
from asynchooks.hooks._tags import tagged
from asynchooks.hooks._timers import SecondOrStepTimer, check_period


class SummarySaverHook(SessionRunHook):
    """Writes scalars every so many global steps, or every so many seconds.

    Those of the first run are written, then those that are due, each under the global step that its
    run has led to; at a clean end the writer is flushed. Carries over
    ``tf.compat.v1.train.SummarySaverHook``; differences: a summary is a number under a tag; the
    writer is given by the caller, there is no directory to name; without `summary_op` the graph's
    summaries are written, there is no scaffold; no start of a session is written.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        *,
        summary_writer: WriterOrFactory,
        summary_op: Op[Any] | str | Mapping[str, Any] | Iterable[Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Makes the hook; exactly one of the first two arguments is given.

        Args:
            save_steps: global steps between two writes, from 1.
            save_secs: seconds between two writes, from 0.
            summary_writer: gets the scalars, and stays open; or a function that makes a writer for
                each session, which is closed with the session, however that ends.
            summary_op: ops by tag; or an op, the name of one, or a list of these, whose tags are
                the names of the ops; None takes those of `scalar_summary`.
            clock: tells the time in seconds.

        Raises:
            ValueError: none or both of the periods are given, or one is out of range, or
                `summary_op` is empty.
            TypeError: an argument is of another kind.
        """
        check_period("SummarySaverHook", save_secs=save_secs, save_steps=save_steps)
        self._timer = SecondOrStepTimer(save_secs, save_steps, clock=clock)
        self._output = ScalarOutput(summary_writer)
        single = isinstance(summary_op, str) or is_op(summary_op)
        given = [summary_op] if single else summary_op
        self._given = None if given is None else tagged("summary_op", given)
        self._summaries: dict[str, Any] = {}
        self._next_step: int | None = None

    async def begin(self) -> None:
        """Starts anew, checks the names of the summaries, and opens the writer."""
        self._timer.reset()
        self._next_step = None
        self._global_step: Op[int] = get_or_create_global_step()
        if self._given is not None:
            check_fetches(get_default_graph(), self._given)
        await self._output.open()

    async def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Finds the summaries, also those that other hooks have added in their `begin`."""
        self._summaries = summaries_of(session.graph) if self._given is None else self._given

    async def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the global step, and for the summaries if they are due."""
        next_step = self._next_step
        due = next_step is None or self._timer.should_trigger_for_step(next_step)
        return SessionRunArgs((self._global_step, self._summaries if due else {}))

    async def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes the summaries, unless another run that started meanwhile has done so."""
        step, scalars = run_values.results
        if not scalars:
            # It has led to step + 1, if it has added one as most runs do.
            self._next_step = step + 2
            return
        step = await run_context.session.run(self._global_step)
        self._next_step = step + 1
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            await self._output.add(scalars, step)

    async def end(self, session: Session) -> None:
        """Has the writer write out what it has."""
        await self._output.flush()

    async def close(self, session_end: SessionEnd) -> None:
        """Closes the writer if the hook has made it."""
        await self._output.close()
