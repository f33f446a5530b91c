"""A watch on the loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from asynchooks._closing import logger
from asynchooks._errors import NanLossDuringTrainingError
from asynchooks._graph import Op, OpKind, get_default_graph
from asynchooks._hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from asynchooks._state import Transaction


class NanTensorHook(SessionRunHook):
    """Fails, or requests a stop, when the loss of a run is NaN or infinite.

    Such a run changes no variable, so that no checkpoint, evaluation or later run ever sees what it
    would have assigned, wherever in the list this hook stands; the items that it took from sources
    stay taken. What it cannot undo is an earlier run whose own loss was finite, but which assigned
    what makes this one NaN. Carries over ``tf.compat.v1.train.NanTensorHook``; differences:
    infinity counts too, and variables are not changed.
    """

    def __init__(self, loss_tensor: Op[Any] | str, fail_on_nan_loss: bool = True) -> None:
        """Makes the hook.

        Args:
            loss_tensor: an op or the name of one, evaluated in each run; its value is a number, a
                numpy array or what behaves like one, or lists and tuples of them at any depth.
            fail_on_nan_loss: whether the run raises `NanLossDuringTrainingError`; if not, a stop is
                requested and a warning logged.

        Raises:
            TypeError: `loss_tensor` is neither op nor name.
        """
        if not isinstance(loss_tensor, Op | str):
            raise TypeError(f"loss_tensor is to be an op or the name of one, not {loss_tensor!r}")
        self._loss_tensor = loss_tensor
        self._fails = fail_on_nan_loss

    async def begin(self) -> None:
        """Finds the loss; the graph is not changed."""
        graph = get_default_graph()
        loss = graph.resolve(self._loss_tensor, "watch")
        self._name = loss.name
        self._watched = Op[_Watched](
            graph, f"{loss.name}/watched", OpKind.INTERNAL, _watch, inputs=(loss,), stateful=True
        )

    async def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the loss."""
        return SessionRunArgs(self._watched)

    async def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Raises `NanLossDuringTrainingError`, or requests a stop, if the loss is not finite."""
        watched: _Watched = run_values.results
        if watched.finite:
            return
        error = NanLossDuringTrainingError(self._name, watched.loss)
        if self._fails:
            raise error
        logger.warning("%s; a stop is requested", error)
        run_context.request_stop()


class _Watched(NamedTuple):
    loss: Any
    finite: bool


def _watch(transaction: Transaction, loss: Any) -> _Watched:
    finite = _is_finite(loss)
    if not finite:
        transaction.change_nothing()
    return _Watched(loss, finite)


def _is_finite(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_finite, cast("Sequence[Any]", value)))
    if isinstance(value, int):
        return True  # also if it is too large for a float
    if hasattr(value, "all"):
        # An array: this makes no copy as a list, and no warning about what is NaN.
        return bool((abs(value) < math.inf).all())
    if isinstance(value, complex):
        value = abs(value)
    try:
        return math.isfinite(value)
    except TypeError:
        raise TypeError(
            "a loss is to be a number, an array of numbers, or lists of them, not "
            f"{type(value).__name__} {value!r}"
        ) from None
