"""A monitored session with the hooks that a training loop wants."""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import Enum

from asynchooks._creator import ChiefSessionCreator
from asynchooks._graph import Graph
from asynchooks._hook import SessionRunHook
from asynchooks._hook_calls import checked_hooks
from asynchooks._monitored import MonitoredSession
from asynchooks._recovery import Recovery
from asynchooks.checkpoint import CheckpointStore, Saver
from asynchooks.hooks import (
    CheckpointSaverHook,
    StepCounterHook,
    SummarySaverHook,
    WriterOrFactory,
)


class Default(Enum):
    """The period that TensorFlow takes where the caller says nothing."""

    USE_DEFAULT = "the default"


USE_DEFAULT = Default.USE_DEFAULT


def MonitoredTrainingSession(  # noqa: N802 (it is TensorFlow's name)
    graph: Graph | None = None,
    checkpoint_dir: str | os.PathLike[str] | CheckpointStore | None = None,
    hooks: Iterable[SessionRunHook] = (),
    *,
    saver: Saver | None = None,
    save_checkpoint_secs: float | Default | None = USE_DEFAULT,
    save_checkpoint_steps: int | Default | None = USE_DEFAULT,
    summary_writer: WriterOrFactory | None = None,
    save_summaries_steps: int | Default | None = USE_DEFAULT,
    save_summaries_secs: float | Default | None = USE_DEFAULT,
    log_step_count_steps: int | None = 100,
    recovery: Recovery | None = Recovery(),  # noqa: B008 (it is frozen)
    stop_grace_period_secs: float = 120.0,
    close_timeout: float = 120.0,
) -> MonitoredSession:
    """Makes a `MonitoredSession` that restores, saves, counts its steps and writes summaries.

    The hooks given come first, then a `StepCounterHook`, a `SummarySaverHook` and, last of all, a
    `CheckpointSaverHook`, each as far as what it needs is given. Carries over
    ``tf.compat.v1.train.MonitoredTrainingSession``; differences: summaries go to a writer, there is
    no directory to name; there is one process, so no master, no chief and no waiting for one; there
    is no scaffold, and no configuration of a TensorFlow session.

    Args:
        graph: as in `MonitoredSession`.
        checkpoint_dir: a directory or a store, where the newest checkpoint is restored from and
            checkpoints are saved; None for neither.
        hooks: as in `MonitoredSession`.
        saver: says how many checkpoints are kept; None makes a `Saver` with its defaults.
        save_checkpoint_secs: seconds between two checkpoints. If neither this nor
            `save_checkpoint_steps` is given it is 600; if both are None nothing is saved.
        save_checkpoint_steps: global steps between two checkpoints.
        summary_writer: gets the rate of steps and the graph's summaries; see `SummarySaverHook`.
        save_summaries_steps: global steps between two writes of summaries. If neither this nor
            `save_summaries_secs` is given it is 100; if both are None none are written.
        save_summaries_secs: seconds between two writes of summaries.
        log_step_count_steps: global steps between two lines of the `StepCounterHook`; None or 0 for
            none.
        recovery: as in `MonitoredSession`.
        stop_grace_period_secs: seconds that background tasks get at a clean end; `stop_grace` of
            `MonitoredSession`.
        close_timeout: as in `MonitoredSession`.

    Raises:
        TypeError: an argument is of another kind.
        ValueError: both periods of one kind are given, or one is out of range.
    """
    added: list[SessionRunHook] = []
    if log_step_count_steps:
        added.append(StepCounterHook(log_step_count_steps, None, summary_writer))
    if summary_writer is not None:
        steps, secs = _periods(save_summaries_steps, save_summaries_secs, 100, None)
        if steps is not None or secs is not None:
            added.append(SummarySaverHook(steps, secs, summary_writer=summary_writer))
    if checkpoint_dir is not None:
        steps, secs = _periods(save_checkpoint_steps, save_checkpoint_secs, None, 600.0)
        if steps is not None or secs is not None:
            added.append(CheckpointSaverHook(checkpoint_dir, secs, steps, saver))
    return MonitoredSession(
        graph,
        [*checked_hooks(hooks), *added],
        session_creator=ChiefSessionCreator(checkpoint_dir),
        recovery=recovery,
        stop_grace=stop_grace_period_secs,
        close_timeout=close_timeout,
    )


def _periods(
    steps: int | Default | None,
    secs: float | Default | None,
    default_steps: int | None,
    default_secs: float | None,
) -> tuple[int | None, float | None]:
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default_steps, default_secs
    return (
        None if isinstance(steps, Default) else steps,
        None if isinstance(secs, Default) else secs,
    )
