"""Where hooks that watch a metric get its values from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast

from asynchooks._graph import Op, OpKind, get_default_graph, is_op
from asynchooks._hook import SessionRunArgs
from asynchooks._session import Session
from asynchooks._state import Transaction
from asynchooks._variables import get_or_create_global_step
from asynchooks.hooks._evaluation import EvaluationHook

T = TypeVar("T")

Metric = Op[Any] | str | EvaluationHook
"""An op, the name of one, or what evaluates the metric."""

Observe = Callable[[Transaction, float, int], T]
"""Takes in a value and its global step, within a run."""


class WatchedMetric(Generic[T]):
    """Has a function observe each value of a metric.

    Values of an op are observed within the run that computes them, so what the function changes is
    committed with it; those of evaluations are in raw runs of their own.

    Attributes:
        name: what the metric is called.
    """

    def __init__(self, owner: str, metric: Metric, metric_name: str | None) -> None:
        """Checks the arguments.

        Args:
            owner: who watches, for messages.
            metric: where the values come from.
            metric_name: which one is meant, where evaluations give a dict.

        Raises:
            TypeError: an argument is of another kind.
            ValueError: there is a `metric_name` for an op.
        """
        if metric_name is not None and not isinstance(metric_name, str):
            raise TypeError(f"metric_name is to be a string, not {metric_name!r}")
        self._owner = owner
        self._metric_name = metric_name
        self._evaluation: EvaluationHook | None = None
        if isinstance(metric, EvaluationHook):
            self._evaluation = metric
            self.name: str = "/".join(filter(None, [metric.name, metric_name]))
            return
        if not isinstance(metric, str) and not is_op(metric):
            raise TypeError(
                f"the metric of {owner} is to be an op, the name of one, or an EvaluationHook, not "
                f"{metric!r}"
            )
        if metric_name is not None:
            raise ValueError("metric_name is for an EvaluationHook; leave it out for an op")
        self._op = metric
        self.name = metric if isinstance(metric, str) else metric.name

    def begin(self, observe: Observe[T]) -> None:
        """Starts to watch for a session on the default graph.

        Args:
            observe: is called with each value.

        Raises:
            ValueError: the graph lacks the op, or the evaluation has not begun.
        """
        graph, step = get_default_graph(), get_or_create_global_step()
        self._seen = 0
        if self._evaluation is None:
            self._inputs: tuple[Op[Any], ...] = graph.resolve(self._op, "watch"), step
        elif not self._evaluation.active:
            raise ValueError(
                f"the EvaluationHook {self._evaluation.name!r} that {self._owner} watches is not "
                "among the hooks before it; list it first"
            )
        else:
            names = f"{self.name}/value", f"{self.name}/step"
            self._inputs = tuple(Op[Any](graph, name, OpKind.PLACEHOLDER) for name in names)

        def call(transaction: Transaction, value: object, step: int) -> T:
            return observe(transaction, self._number(value), step)

        name = f"{self.name}/observation"
        self._observing = Op[T](
            graph, name, OpKind.INTERNAL, call, inputs=self._inputs, stateful=True
        )

    def asked(self) -> SessionRunArgs | None:
        """Returns what is to be asked of a run."""
        return SessionRunArgs(self._observing) if self._evaluation is None else None

    async def observed(self, session: Session, results: T) -> list[T]:
        """Returns what the function made of the values that are new after a run.

        Args:
            session: the raw session.
            results: what the run gave for what was asked.

        Raises:
            TypeError: a value is no number.
            ValueError: an evaluation gives no value of that name.
        """
        if self._evaluation is None:
            return [results]
        observations: list[T] = []
        while self._seen < len(self._evaluation.results):
            step, values = self._evaluation.results[self._seen]
            # Before anything is awaited: another run may look for what is new, too.
            self._seen += 1
            feeds = dict(zip(self._inputs, (self._chosen(values), step), strict=True))
            observations.append(await session.run(self._observing, feeds))
        return observations

    def _chosen(self, values: object) -> object:
        if self._metric_name is None:
            return values
        if isinstance(values, Mapping) and self._metric_name in values:
            return cast("Mapping[str, object]", values)[self._metric_name]
        raise ValueError(
            f"{self._owner} watches {self._metric_name!r}, which is not among the values of the "
            f"evaluation: {values!r}"
        )

    def _number(self, value: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError):
            hint = ""
            if isinstance(value, Mapping):
                hint = "; choose one by metric_name=..."
            raise TypeError(
                f"the metric {self.name!r} of {self._owner} is to be a number, not {value!r}{hint}"
            ) from None
