"""Options of one run."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

from asynchooks._run_metadata import RunMetadata


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of one run; those of the caller and of hooks are merged.

    Carries over ``tf.compat.v1.RunOptions``.

    Attributes:
        timeout: seconds that evaluating the ops may take, then `DeadlineExceededError` is raised;
            None is no limit. The largest one that somebody asks for counts.
        retry: whether the run is repeated after the session was recovered. It is not if somebody
            says so: then the session is recovered and this run's error raised.
        trace_level: how much of the run observers are to record, from 0; the largest one counts.
        run_metadata: takes down when each op was evaluated, which makes the run slower; None takes
            down nothing. Those of all who ask are filled.
    """

    timeout: float | None = None
    retry: bool = True
    trace_level: int = 0
    run_metadata: RunMetadata | None = None

    def __post_init__(self) -> None:
        """Checks the values."""
        if self.timeout is not None:
            check_seconds("RunOptions.timeout", self.timeout)
        if not isinstance(self.retry, bool):
            raise TypeError(f"RunOptions.retry is to be a bool, not {self.retry!r}")
        if isinstance(self.trace_level, bool) or not isinstance(self.trace_level, int):
            raise TypeError(f"RunOptions.trace_level is to be an int, not {self.trace_level!r}")
        if self.trace_level < 0:
            raise ValueError(f"RunOptions.trace_level is to be from 0, not {self.trace_level!r}")
        if self.run_metadata is not None and not isinstance(self.run_metadata, RunMetadata):
            raise TypeError(
                f"RunOptions.run_metadata is to be a RunMetadata or None, not {self.run_metadata!r}"
            )

    def merged(self, other: RunOptions | None) -> RunOptions:
        """Returns what both together ask for."""
        if other is None:
            return self
        timeouts = [each for each in (self.timeout, other.timeout) if each is not None]
        metadata = [each.run_metadata for each in (self, other) if each.run_metadata is not None]
        return RunOptions(
            timeout=max(timeouts, default=None),
            retry=self.retry and other.retry,
            trace_level=max(self.trace_level, other.trace_level),
            run_metadata=RunMetadata(tuple(metadata)) if metadata else None,
        )


def check_options(options: object) -> None:
    """Raises `TypeError` if `options` are neither `RunOptions` nor None."""
    if options is not None and not isinstance(options, RunOptions):
        raise TypeError(f"options are to be RunOptions or None, not {options!r}")


def check_seconds(name: str, value: object, *, infinite: bool = False) -> None:
    """Checks a time span.

    Args:
        name: what it is called, for the message.
        value: the time span.
        infinite: whether it may be ``math.inf``.

    Raises:
        TypeError: it is no number.
        ValueError: it is negative, NaN, or infinite where it may not be.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is to be a number of seconds, not {value!r}")
    if not 0 <= value <= (math.inf if infinite else sys.float_info.max):
        raise ValueError(f"{name} is to be a number of seconds from 0, not {value!r}")
