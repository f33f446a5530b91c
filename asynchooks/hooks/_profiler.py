"""Timelines of runs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from asynchooks._closing import logger
from asynchooks._graph import Op
from asynchooks._hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from asynchooks._options import RunOptions
from asynchooks._run_metadata import NodeExecStats, RunMetadata
from asynchooks._threads import in_thread
from asynchooks._variables import get_or_create_global_step
from asynchooks.hooks._timeline import chrome_trace
from asynchooks.hooks._timers import SecondOrStepTimer, check_period


class ProfilerHook(SessionRunHook):
    """Writes when each op of a run started and ended, every so many steps or seconds.

    The files are in the Chrome trace format, which https://ui.perfetto.dev opens, and are called
    ``timeline-<step>.json`` after the global step that the run has led to. The first run only
    starts the period. Runs that are not profiled are as fast as without the hook, but for the
    global step that it asks for. Of runs that overlap, the first one that ends of those that
    started when a file was due is written; its times are its own. A file that cannot be written is
    an error of the run, whose work is done; a file is there whole or not at all. Carries over
    ``tf.compat.v1.train.ProfilerHook``; differences: there are no sizes to show, so no
    `show_memory`; nothing goes to a summary writer; the global step is made if there is none.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | os.PathLike[str] = "",
        show_dataflow: bool = True,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Makes the hook; exactly one of the first two arguments is given.

        Args:
            save_steps: global steps between two files, from 1.
            save_secs: seconds between two files, from 0.
            output_dir: the directory of the files, made if it is not there; by default the current
                one.
            show_dataflow: whether arrows lead from each op to those that took its value.
            clock: tells the time in seconds.

        Raises:
            ValueError: none or both of the periods are given, or one is out of range.
            TypeError: an argument is of another kind.
        """
        check_period("ProfilerHook", save_secs=save_secs, save_steps=save_steps)
        self._timer = SecondOrStepTimer(save_secs, save_steps, clock=clock)
        if not isinstance(output_dir, str | os.PathLike):
            raise TypeError(f"output_dir is to be the path of a directory, not {output_dir!r}")
        self._directory = Path(output_dir)
        self._show_dataflow = show_dataflow
        self._next_step: int | None = None

    async def begin(self) -> None:
        """Starts anew, and makes the directory.

        Raises:
            OSError: it cannot be made.
        """
        self._timer.reset()
        self._next_step = None
        self._global_step: Op[int] = get_or_create_global_step()
        await in_thread(_make_directory, (self._directory,))

    async def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the global step, and for the times of the ops if a file is due."""
        if self._next_step is None or not self._timer.should_trigger_for_step(self._next_step):
            return SessionRunArgs(self._global_step)
        run_context.state[self] = metadata = RunMetadata()
        return SessionRunArgs(self._global_step, options=RunOptions(run_metadata=metadata))

    async def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes the file, unless another run that started meanwhile has done so."""
        step = run_values.results
        metadata = run_context.state.get(self)
        if metadata is None:
            if self._next_step is None:
                self._timer.update_last_triggered_step(step)
            # It has led to step + 1, if it has added one as most runs do.
            self._next_step = step + 2
            return
        step = await run_context.session.run(self._global_step)
        self._next_step = step + 1
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            path = self._directory / f"timeline-{step}.json"
            await in_thread(_write, (path, metadata.step_stats, self._show_dataflow))
            logger.info("the timeline of step %d is in %s", step, path)


def _make_directory(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)


def _write(path: Path, step_stats: Sequence[NodeExecStats], show_dataflow: bool) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(json.dumps(chrome_trace(step_stats, show_dataflow=show_dataflow)))
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
