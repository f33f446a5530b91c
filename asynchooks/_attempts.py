"""Repeats what runs on a generation until it succeeds, or fails for good."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from asynchooks._backend import raise_if_cancelled
from asynchooks._ending import Failures
from asynchooks._errors import bare, reraise
from asynchooks._flight import Flight
from asynchooks._generations import Generations
from asynchooks._host import Generation

Work = Callable[..., Awaitable[Any]]
"""One attempt; takes the generation's session, the flight, and what `Attempts.make` was given."""


class Attempts:
    """Makes the attempts of a monitored session's runs.

    Args:
        generations: gives the live generation, and is told of lost ones.
        failures: is told where the errors were raised that leave.
    """

    def __init__(self, generations: Generations, failures: Failures) -> None:
        self._generations = generations
        self._failures = failures

    async def make(self, work: Work, *args: Any, retry: bool) -> Any:
        """Awaits `work` on the live generation, again on the next one if that one is lost.

        Args:
            work: one attempt.
            *args: what it is given as well.
            retry: whether the caller's options let it be repeated.

        Raises:
            BaseException: what `work` raised, if it is not recoverable or the work is not to be
                done again; an error that was reported to the generation takes its place.
            RecoveryError: recovery gave up.
        """
        generations = self._generations
        while True:
            generation = generations.current
            if generation is None or generation.coordinator.has_report:
                generation = await generations.live()
            flight = Flight(generation.coordinator, generation.session, retry)
            try:
                with flight:
                    return await work(generation.session, flight, *args)
                raise flight.interrupted_by()
            except Exception as error:
                # A cancellation that came meanwhile leaves, with this error as its context.
                await raise_if_cancelled(flight.cancellations)
                if not self._is_to_be_repeated(generation, flight, error):
                    reraise(bare(flight.reason(error)))
            except BaseException as error:
                self._failures.record(flight.reason(error), flight.phase)
                raise

    def _is_to_be_repeated(self, generation: Generation, flight: Flight, error: Exception) -> bool:
        reason = bare(flight.reason(error))
        self._failures.record(reason, flight.phase)
        if not self._generations.recovers(reason):
            return False
        self._generations.lose(generation, reason, flight.phase)
        return flight.retry and flight.reason(error) is not flight.after_run_error
