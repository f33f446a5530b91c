"""A small model of a hook that tells how many steps are made per second."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass
class RateModel:
    """What one hook tells.

    Attributes:
        spec: the hook, as the scenario has it.
        divides_by_zero: whether a rate is told while the clock stands still, as in TensorFlow.
        mark: the step and the time of the last trigger.
        start: those from which the next rate counts.
    """

    spec: dict[str, Any]
    divides_by_zero: bool = False
    mark: tuple[int, float] | None = None
    start: tuple[int, float] = (0, 0.0)

    def told(self, stale: int, step: int, now: float) -> float | None:
        """Returns the rate that is told after a run, None if none is.

        Args:
            stale: the global step at the run's start.
            step: the global step after it.
            now: the time.
        """
        if not (self._is_due(stale + 1, now) and self._is_due(step, now)):
            return None
        first, self.mark = self.mark is None, (step, now)
        steps, secs = step - self.start[0], now - self.start[1]
        if first or self.divides_by_zero or secs > 0:
            self.start = self.mark
        if first or (secs <= 0 and not self.divides_by_zero):
            return None
        return round(steps / secs, 6) if secs else math.inf

    def _is_due(self, step: int, now: float) -> bool:
        if self.mark is None or step == self.mark[0]:
            return self.mark is None
        secs, steps = self.spec.get("every_n_secs"), self.spec.get("every_n_steps", 100)
        if secs is not None:
            due: bool = now >= self.mark[1] + secs
            return due
        return bool(step >= self.mark[0] + steps)
