"""Early stopping: a stop once a metric is good enough, or has become no better for too long."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from asynchooks._closing import logger
from asynchooks._graph import Op, chosen_name
from asynchooks._hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from asynchooks._session import Session
from asynchooks._state import Transaction
from asynchooks._variables import Variable, get_or_create_global_step, get_variable
from asynchooks.hooks._metrics import Metric, WatchedMetric


def stop_if_higher_hook(
    metric: Metric, threshold: float, *, metric_name: str | None = None, min_steps: int = 0
) -> SessionRunHook:
    """Makes a hook that requests a stop once a metric is higher than a threshold.

    Why it does is logged to the logger ``asynchooks`` at level INFO, with the attributes `metric`,
    `value` and `global_step` of the record. Carries over
    ``tf.estimator.experimental.stop_if_higher_hook``; differences: the metric is an op, or comes
    from an `EvaluationHook`, instead of from files of evaluations, and each of its values is looked
    at as it comes: there is no period.

    Args:
        metric: an op or the name of one, evaluated with each run; or an `EvaluationHook`, which
            stands before this one in the list of hooks. Its values are numbers.
        threshold: the highest value that is no reason to stop.
        metric_name: which value is meant, where the evaluation gives a dict.
        min_steps: the global step before which no stop is requested.

    Raises:
        TypeError: an argument is of another kind.
        ValueError: `threshold` is NaN, `min_steps` is negative, or there is a `metric_name` for an
            op.
    """
    owner = "stop_if_higher_hook"
    return _threshold_hook(owner, _HIGHER, metric, metric_name, threshold, min_steps)


def stop_if_lower_hook(
    metric: Metric, threshold: float, *, metric_name: str | None = None, min_steps: int = 0
) -> SessionRunHook:
    """Makes a hook that requests a stop once a metric is lower than a threshold.

    Carries over ``tf.estimator.experimental.stop_if_lower_hook``; what is logged, the differences
    and the errors are those of `stop_if_higher_hook`.

    Args:
        metric: an op or the name of one, evaluated with each run; or an `EvaluationHook`, which
            stands before this one in the list of hooks. Its values are numbers.
        threshold: the lowest value that is no reason to stop.
        metric_name: which value is meant, where the evaluation gives a dict.
        min_steps: the global step before which no stop is requested.
    """
    owner = "stop_if_lower_hook"
    return _threshold_hook(owner, _LOWER, metric, metric_name, threshold, min_steps)


def stop_if_no_increase_hook(
    metric: Metric,
    max_steps_without_increase: int,
    *,
    metric_name: str | None = None,
    min_steps: int = 0,
    name: str | None = None,
) -> SessionRunHook:
    """Makes a hook that requests a stop once a metric has not increased for so many steps.

    The highest value so far and its global step are kept in a variable: they are saved with the
    session, and restored with it. A value of an op is taken in by the commit of its run, so runs
    may overlap. NaN counts as lower than any number.

    Carries over ``tf.estimator.experimental.stop_if_no_increase_hook``; what is logged and the
    differences are those of `stop_if_higher_hook`; and the values before `min_steps` count, too:
    if there has been no increase for long enough by then, the stop comes right there.

    Args:
        metric: an op or the name of one, evaluated with each run; or an `EvaluationHook`, which
            stands before this one in the list of hooks. Its values are numbers.
        max_steps_without_increase: global steps after the highest value at which the stop comes,
            from 1.
        metric_name: which value is meant, where the evaluation gives a dict.
        min_steps: the global step before which no stop is requested.
        name: that of the variable, different for each hook of a session; None makes one of the
            names of this function and of the metric.

    Raises:
        TypeError: an argument is of another kind.
        ValueError: a number of steps is out of range, `name` is empty, or there is a `metric_name`
            for an op.
    """
    owner, steps = "stop_if_no_increase_hook", max_steps_without_increase
    return _improvement_hook(owner, _HIGHER, metric, metric_name, steps, min_steps, name)


def stop_if_no_decrease_hook(
    metric: Metric,
    max_steps_without_decrease: int,
    *,
    metric_name: str | None = None,
    min_steps: int = 0,
    name: str | None = None,
) -> SessionRunHook:
    """Makes a hook that requests a stop once a metric has not decreased for so many steps.

    The lowest value so far and its global step are kept, as those of the highest one are by
    `stop_if_no_increase_hook`. NaN counts as higher than any number. Carries over
    ``tf.estimator.experimental.stop_if_no_decrease_hook``; what is logged, the differences and the
    errors are those of `stop_if_no_increase_hook`.

    Args:
        metric: an op or the name of one, evaluated with each run; or an `EvaluationHook`, which
            stands before this one in the list of hooks. Its values are numbers.
        max_steps_without_decrease: global steps after the lowest value at which the stop comes,
            from 1.
        metric_name: which value is meant, where the evaluation gives a dict.
        min_steps: the global step before which no stop is requested.
        name: that of the variable, different for each hook of a session; None makes one of the
            names of this function and of the metric.
    """
    owner, steps = "stop_if_no_decrease_hook", max_steps_without_decrease
    return _improvement_hook(owner, _LOWER, metric, metric_name, steps, min_steps, name)


class _Direction(NamedTuple):
    """Where a metric goes.

    Attributes:
        beyond: tells whether the first of two values is further there.
        comparative: the word for being there.
        change: the word for going there; with a "d" that for having gone there.
        farthest: what is never beyond any value; stands for NaN.
    """

    beyond: Callable[[float, float], bool]
    comparative: str
    change: str
    farthest: float


_HIGHER = _Direction(operator.gt, "higher", "increase", -math.inf)
_LOWER = _Direction(operator.lt, "lower", "decrease", math.inf)


class _Observation(NamedTuple):
    """What a run has seen.

    Attributes:
        value: the metric's.
        step: its global step.
        alarming: whether it is a reason to stop, for all that the run knows.
    """

    value: float
    step: int
    alarming: bool


class _Criterion(Protocol):
    """When to stop."""

    def begin(self) -> None:
        """Makes what the graph lacks."""
        ...

    def observe(self, transaction: Transaction, value: float, step: int) -> _Observation:
        """Takes in a value within a run."""
        ...

    async def reason(self, session: Session, seen: _Observation) -> str | None:
        """Returns why to stop; None if what is committed by now is no reason."""
        ...


class _Threshold:
    def __init__(self, direction: _Direction, threshold: float) -> None:
        if isinstance(threshold, bool) or not isinstance(threshold, int | float):
            raise TypeError(f"threshold is to be a number, not {threshold!r}")
        if math.isnan(threshold):
            raise ValueError("threshold is to be a number that values can pass, not NaN")
        self._direction = direction
        self._threshold = threshold

    def begin(self) -> None:
        pass

    def observe(self, transaction: Transaction, value: float, step: int) -> _Observation:
        return _Observation(value, step, self._direction.beyond(value, self._threshold))

    async def reason(self, session: Session, seen: _Observation) -> str:
        return f"is {seen.value:g}, {self._direction.comparative} than {self._threshold:g}"


_Best = tuple[float, int]
"""A value and its step, as they are saved."""


class _NoImprovement:
    def __init__(self, direction: _Direction, max_steps: int, state_name: str) -> None:
        self._direction = direction
        self._max_steps = max_steps
        self._state_name = state_name

    def begin(self) -> None:
        self._best: Variable[_Best | None] = get_variable(self._state_name, None)

    def observe(self, transaction: Transaction, value: float, step: int) -> _Observation:
        comparable = self._direction.farthest if math.isnan(value) else value
        # Repeated at the commit on what is the best by then: of runs that overlap the best counts.
        best: _Best = self._best.change(transaction, partial(self._better, (comparable, step)))
        return _Observation(value, step, step - best[1] >= self._max_steps)

    async def reason(self, session: Session, seen: _Observation) -> str | None:
        best = await session.run(self._best)
        if best is None or seen.step - best[1] < self._max_steps:
            return None
        return f"has not {self._direction.change}d from {best[0]:g} for {seen.step - best[1]} steps"

    def _better(self, new: _Best, old: _Best | None) -> _Best:
        return new if old is None or self._direction.beyond(new[0], old[0]) else old


class EarlyStoppingHook(SessionRunHook):
    """Requests a stop when there is a reason and enough steps are made."""

    def __init__(
        self,
        metric: WatchedMetric[_Observation],
        criterion: _Criterion,
        min_steps: int,
        state_name: str | None,
    ) -> None:
        """Is called by the functions above."""
        _check_steps("min_steps", min_steps, 0)
        self.state_name = state_name
        self._metric = metric
        self._criterion = criterion
        self._min_steps = min_steps

    async def begin(self) -> None:
        """Starts anew, and finds the metric."""
        self._stopped = False
        self._global_step: Op[int] = get_or_create_global_step()
        self._criterion.begin()
        self._metric.begin(self._criterion.observe)

    async def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Asks for the metric unless it comes from evaluations."""
        return self._metric.asked()

    async def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Requests the stop if a value is a reason."""
        for seen in await self._metric.observed(run_context.session, run_values.results):
            # Runs rarely add more than one: only near the minimum is the committed step worth a
            # look.
            if seen.alarming and seen.step + 1 >= self._min_steps and not self._stopped:
                await self._consider(run_context, seen)

    async def _consider(self, run_context: SessionRunContext, seen: _Observation) -> None:
        session = run_context.session
        step = await session.run(self._global_step)
        reason = await self._criterion.reason(session, seen)
        if reason is None or step < self._min_steps:
            return
        self._stopped = True
        fields = {"metric": self._metric.name, "value": seen.value, "global_step": step}
        line = "at step %d %s %s; a stop is requested"
        logger.info(line, step, self._metric.name, reason, extra=fields)
        run_context.request_stop()


def _threshold_hook(
    owner: str,
    direction: _Direction,
    metric: Metric,
    metric_name: str | None,
    threshold: float,
    min_steps: int,
) -> SessionRunHook:
    watched = WatchedMetric[_Observation](owner, metric, metric_name)
    return EarlyStoppingHook(watched, _Threshold(direction, threshold), min_steps, None)


def _improvement_hook(
    owner: str,
    direction: _Direction,
    metric: Metric,
    metric_name: str | None,
    max_steps: int,
    min_steps: int,
    name: str | None,
) -> SessionRunHook:
    _check_steps(f"max_steps_without_{direction.change}", max_steps, 1)
    watched = WatchedMetric[_Observation](owner, metric, metric_name)
    state_name = chosen_name(name, f"{owner}/{watched.name}")
    criterion = _NoImprovement(direction, max_steps, state_name)
    return EarlyStoppingHook(watched, criterion, min_steps, state_name)


def _check_steps(name: str, steps: object, least: int) -> None:
    if isinstance(steps, bool) or not isinstance(steps, int):
        raise TypeError(f"{name} is to be a number of steps, an int, not {steps!r}")
    if steps < least:
        raise ValueError(f"{name} is to be a number of steps from {least}, not {steps!r}")
