"""The live generation of a session, replaced by one task when it is lost, whoever needs it."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextvars import Context
from typing import cast

import anyio

from asynchooks._backend import (
    native_cancellations,
    raise_if_natively_cancelled,
    spawn_host_task,
)
from asynchooks._closing import logger, outlast
from asynchooks._ending import Failures
from asynchooks._errors import RecoveryError, SessionClosedError, bare, reraise
from asynchooks._host import Generation
from asynchooks._lifecycle import Phase
from asynchooks._recovery import Recovery, Streak
from asynchooks._stop import StopFlag


class _Replacement:
    """One recovery, which all who need a generation wait for."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()
        self.error: BaseException | None = None

    def raise_error(self) -> None:
        if isinstance(self.error, RecoveryError):
            # Each caller raises an error of its own, with a traceback of its own.
            raise RecoveryError(self.error.attempts) from self.error.__cause__
        if self.error is not None:
            raise self.error


class Generations:
    """Gives the live generation to whoever needs one.

    Attributes:
        current: the last generation that was opened; None before the first, and when recovery
            gave up.
    """

    def __init__(
        self,
        make: Callable[[], Generation],
        recovery: Recovery | None,
        stop_flag: StopFlag,
        failures: Failures,
    ) -> None:
        """Makes no generation yet.

        Args:
            make: gives a generation that is not open yet.
            recovery: which errors lose a generation; None if none does.
            stop_flag: after a stop, one more attempt is made.
            failures: is told where attempts failed.
        """
        self.current: Generation | None = None
        self.context = Context()
        self._make = make
        self._recovery = recovery
        self._stop_flag = stop_flag
        self._failures = failures
        self._streak = Streak(recovery or Recovery())
        self._last_attempt = False
        self._replacement: _Replacement | None = None
        self._failed_in = Phase.CREATE
        self._closing = False
        self._awaiting = 0

    def recovers(self, error: BaseException) -> bool:
        """Tells whether `error` loses the generation that it happened on."""
        return self._recovery is not None and self._recovery.recovers(error)

    def is_lost(self, generation: Generation) -> bool:
        """Tells whether a recoverable error was reported to the generation."""
        error = generation.coordinator.error
        return error is not None and self.recovers(error)

    def lose(self, generation: Generation, error: BaseException, phase: Phase) -> None:
        """Declares a generation lost; a late error of an old one changes nothing.

        Args:
            generation: what the attempt ran on.
            error: how it failed.
            phase: where it failed.
        """
        if generation.coordinator.error is None:
            self._failed_in = phase
        generation.coordinator.report(error)

    def committed(self) -> None:
        """Says that a run has committed, which ends the streak of failed attempts."""
        if self._streak.broken:
            self._streak.end()
        self._last_attempt = False

    async def live(self) -> Generation:
        """Returns the live generation; makes one if there is none or the last one is lost.

        Raises:
            RecoveryError: recovery gave up.
            SessionClosedError: the session was closed meanwhile.
            BaseException: making one failed with an error that is not recoverable.
        """
        while self.current is None or self.is_lost(self.current):
            self.refuse_if_closing()
            self._awaiting += 1
            try:
                await self._replaced()
            finally:
                self._awaiting -= 1
        return self.current

    @property
    def is_awaited(self) -> bool:
        """Whether a run waits for a recovery."""
        return self._awaiting > 0

    def close(self) -> None:
        """Has `live` make no more generations."""
        self._closing = True

    def refuse_if_closing(self) -> None:
        """Raises `SessionClosedError` once the session is being closed."""
        if self._closing:
            raise SessionClosedError("the session was closed meanwhile")

    async def last(self) -> Generation:
        """Does as `live` while the session is being closed."""
        while self.current is None or self.is_lost(self.current):
            await self._replaced()
        return self.current

    async def close_replacement(self) -> RecoveryError | None:
        """Ends a recovery that is under way: who waits for it gets `SessionClosedError`.

        Returns:
            What was to be recovered from, if a recovery was under way.
        """
        self.close()
        replacement = self._replacement
        if replacement is None:
            return None
        cancellations = native_cancellations()
        replacement.scope.cancel()
        done = replacement.done
        await outlast("a recovery", done.wait, done.is_set, math.inf)
        abandoned = self._streak.error()
        self._failures.record(abandoned, self._failed_in)
        raise_if_natively_cancelled(cancellations)
        return abandoned

    async def _replaced(self) -> None:
        replacement = self._replacement
        if replacement is None:
            replacement = self._replacement = _Replacement()
            spawn_host_task(
                lambda: self._replace(replacement), "asynchooks recovery", self.context.copy()
            )
        try:
            await replacement.done.wait()
            replacement.raise_error()
        except BaseException as error:
            self._failures.record(error, self._failed_in)
            raise

    async def _replace(self, replacement: _Replacement) -> None:
        try:
            with replacement.scope:
                await self._retire()
                await self._open_next()
            if replacement.scope.cancelled_caught:
                replacement.error = SessionClosedError("the session was closed during recovery")
        except BaseException as error:
            replacement.error = error
        finally:
            self._replacement = None
            replacement.done.set()

    async def _retire(self) -> None:
        generation = self.current
        if generation is None:
            return
        error = cast("Exception", generation.coordinator.error)
        await generation.land(error)
        try:
            await generation.aclose()
        except Exception as failure:
            logger.warning("closing a lost generation failed", exc_info=failure)
        self.current = None
        self._streak.add(error)

    async def _open_next(self) -> None:
        while self.current is None:
            await self._pause()
            generation = self._make()
            try:
                await generation.open(self.context.copy())
            except Exception as error:
                self._creation_failed(generation, cast("Exception", bare(error)))
            else:
                self.current = generation

    async def _pause(self) -> None:
        if self._streak.broken and self._last_attempt:
            raise self._streak.error()
        if self._streak.broken:
            pause = self._streak.pause()
            logger.info("%s; recovering in %.3g s", str(self._streak), pause)
            with anyio.move_on_after(pause):
                await self._stop_flag.wait()
        self._last_attempt = self._stop_flag.requested

    def _creation_failed(self, generation: Generation, error: Exception) -> None:
        self._failed_in = generation.phase
        if not self.recovers(error):
            self._streak.end()
            reraise(error)
        self._streak.add(error)
