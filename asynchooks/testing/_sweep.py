"""A fault at each point of a program, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from asynchooks.testing._faults import Fault
from asynchooks.testing._trial import Outcome, Trial


class Sweep:
    """Gives trials with a fault at point 1, 2, 3, ... until one ends before its point.

    Iterate over it, make everything from scratch for each trial, and run each once. The last
    trial is undisturbed: what it shows of the program must be right too. A second iteration
    starts anew.

    Attributes:
        fault: what is done at each point.
        outcomes: how the disturbed trials ended, one for each point.
        undisturbed: how the last trial ended; None until then.
    """

    def __init__(self, fault: Fault, *, limit: int = 10_000, timeout: float = 10.0) -> None:
        """Plans a sweep.

        Args:
            fault: what to do at each point.
            limit: the number of points at which a program counts as endless.
            timeout: seconds after which a trial counts as hanging.
        """
        self.fault = fault
        self.outcomes: list[Outcome[object]] = []
        self.undisturbed: Outcome[object] | None = None
        self._limit = limit
        self._timeout = timeout

    @property
    def points(self) -> int:
        """The number of points swept so far."""
        return len(self.outcomes)

    def __iter__(self) -> Iterator[Trial]:
        """Gives the trials.

        Raises:
            RuntimeError: if a trial was not run, or if there are more points than the limit.
        """
        self.outcomes, self.undisturbed = [], None
        while self.undisturbed is None:
            trial = Trial(self.fault, self.points + 1, timeout=self._timeout)
            yield trial
            self._record(trial)

    def _record(self, trial: Trial) -> None:
        outcome = trial.outcome
        if outcome is None:
            raise RuntimeError(f"this trial was not run: {trial}")
        if not outcome.struck:
            self.undisturbed = outcome
        elif self.points == self._limit:
            raise RuntimeError(f"more than {self._limit} points: {trial}")
        else:
            self.outcomes.append(outcome)
