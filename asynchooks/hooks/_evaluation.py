"""Evaluation while the session goes on."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from asynchooks._closing import logger
from asynchooks._coordinator import Coordinator
from asynchooks._errors import is_end_of_input
from asynchooks._fetches import parse_feeds
from asynchooks._graph import Op, get_default_graph, is_op
from asynchooks._hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from asynchooks._lifecycle import SessionEnd
from asynchooks._ops import check_call, is_async
from asynchooks._requests import check_fetches
from asynchooks._session import Session
from asynchooks._variables import get_or_create_global_step
from asynchooks.hooks._timers import SecondOrStepTimer, check_period


class Evaluation(NamedTuple):
    """What one evaluation gave.

    Attributes:
        step: the global step that was evaluated.
        values: the values of the fetches in their nesting, or what the function returned.
    """

    step: int
    values: Any


class EvaluationHook(SessionRunHook):
    """Evaluates every so many global steps or seconds, and at a clean end.

    It does so after a run, which returns when the evaluation is done; other runs go on meanwhile,
    and none of them starts a second one. A line such as ``evaluation at step 200: accuracy = 0.9``
    goes to the logger ``asynchooks`` at level INFO, its parts are attributes of the record:
    `evaluation`, the name, `global_step` and `values`. What the evaluation raises leaves the run;
    the end of input does so as a `RuntimeError`, since it is not that of the session.

    Carries over ``tf.estimator.experimental.InMemoryEvaluatorHook``; differences: it evaluates in
    the session's own graph, whose variables have their committed values; global steps are counted,
    not iterations; nothing is evaluated before the first run, nor at the end what has just been.
    """

    def __init__(
        self,
        evaluate: Any,
        every_n_steps: int | None = None,
        every_n_secs: float | None = None,
        *,
        feed_dict: Any = None,
        at_end: bool = True,
        name: str = "evaluation",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Makes the hook; exactly one of the periods is given.

        Args:
            evaluate: what to evaluate in one raw run, nested as in `Session.run`; or an async
                function that is called with the raw session, and makes as many raw runs as it
                wants, between which others may commit. Raw runs call no hooks and do not count as
                steps; what they assign is committed.
            every_n_steps: global steps between two evaluations, from 1; the first one comes as many
                after the step at which the session starts.
            every_n_secs: seconds from the end of one evaluation, or the session's start, to the
                next, from 0.
            feed_dict: values by op or name; goes with fetches.
            at_end: whether the last step is evaluated at a clean end, unless it was before.
            name: what the evaluation is called in lines and messages.
            clock: tells the time in seconds.

        Raises:
            ValueError: none or both of the periods are given, or one is out of range, or the name
                is empty, or there are feeds for a function.
            TypeError: an argument is of another kind.
        """
        check_period("EvaluationHook", every_n_secs=every_n_secs, every_n_steps=every_n_steps)
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps, clock=clock)
        self._fetches, self._function = _parsed(evaluate)
        if self._function is not None and feed_dict is not None:
            raise ValueError("feed_dict is for fetches; the evaluating function gives feeds itself")
        if not isinstance(name, str):
            raise TypeError(f"the name of an evaluation is to be a string, not {name!r}")
        if not name:
            raise ValueError("the name of an evaluation is empty; leave it out for 'evaluation'")
        self._feed_dict = feed_dict
        self._at_end = at_end
        self._name = name
        self._results: list[Evaluation] = []
        self._evaluating = False
        self._active = False

    @property
    def name(self) -> str:
        """What the evaluation is called."""
        return self._name

    @property
    def active(self) -> bool:
        """Whether a session is using the hook."""
        return self._active

    @property
    def results(self) -> Sequence[Evaluation]:
        """All evaluations of the session, of the last session after its end; oldest first."""
        return self._results

    async def begin(self) -> None:
        """Forgets an earlier session, and checks the names in fetches and feeds."""
        self._timer.reset()
        self._results = []
        graph = get_default_graph()
        self._global_step: Op[int] = get_or_create_global_step()
        if self._function is None:
            check_fetches(graph, self._fetches)
            parse_feeds(graph, self._feed_dict)
        self._active = True

    async def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Starts to count when the first generation starts."""
        if self._timer.last_triggered_step() is None:
            self._timer.update_last_triggered_step(await session.run(self._global_step))

    async def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the global step at the run's start."""
        return SessionRunArgs(self._global_step)

    async def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Evaluates if it is due and not being done."""
        # Runs rarely add more than one: only where that is due the committed step is worth a look.
        if not self._due(run_values.results + 1):
            return
        session = run_context.session
        if self._due(await session.run(self._global_step)):
            await self._evaluate(session)

    async def end(self, session: Session) -> None:
        """Evaluates the last step if that is asked for and was not done."""
        if not self._at_end:
            return
        step = await session.run(self._global_step)
        if not self._results or self._results[-1].step != step:
            await self._evaluate(session)

    async def close(self, session_end: SessionEnd) -> None:
        """Ends the use of the hook; the results stay."""
        self._active = False

    def _due(self, step: int) -> bool:
        return not self._evaluating and self._timer.should_trigger_for_step(step)

    async def _evaluate(self, session: Session) -> None:
        self._evaluating = True
        try:
            result = await self._result(session)
        except Exception as error:
            if not is_end_of_input(error):
                raise
            raise RuntimeError(
                f"{self._name} met the end of its input; give it data that can be read each time"
            ) from error
        finally:
            self._evaluating = False
        self._timer.update_last_triggered_step(result.step)
        self._results.append(result)
        fields = {"evaluation": self._name, "global_step": result.step, "values": result.values}
        logger.info(
            "%s at step %d: %s", self._name, result.step, _shown(result.values), extra=fields
        )

    async def _result(self, session: Session) -> Evaluation:
        if self._function is None:
            fetches = self._global_step, self._fetches
            return Evaluation(*await session.run(fetches, self._feed_dict))
        return Evaluation(await session.run(self._global_step), await self._function(session))


_Function = Callable[[Session], Awaitable[Any]]


def _parsed(evaluate: Any) -> tuple[Any, _Function | None]:
    if evaluate is None:
        raise TypeError("evaluate is to be fetches, or an async function of the raw session")
    if not callable(evaluate) or is_op(evaluate) or _can_be_called(evaluate):
        return evaluate, None
    if not _can_be_called(evaluate, None) or not is_async(evaluate):
        raise TypeError(
            "a function to evaluate is to be async and take the raw session, or to take nothing, "
            f"unlike {evaluate!r}"
        )
    return None, cast("_Function", evaluate)


def _can_be_called(function: Callable[..., Any], *args: Any) -> bool:
    try:
        check_call(function, *args)
    except TypeError:
        return False
    return True


def _shown(values: object) -> str:
    if isinstance(values, Mapping):
        items = cast("Mapping[object, object]", values).items()
        return ", ".join(f"{tag} = {_shown(value)}" for tag, value in items)
    return f"{values:g}" if isinstance(values, float) else str(values)
