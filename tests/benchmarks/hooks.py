"""The hooks that steps and callers are measured with."""

from __future__ import annotations

import asynchooks as ah


class Quiet(ah.SessionRunHook):
    """Overrides what is called in each run, and does nothing there."""

    async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs | None:
        """Asks for nothing."""

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        """Does nothing."""


class Absent(ah.SessionRunHook):
    """Overrides nothing."""


class Asking(ah.SessionRunHook):
    """Asks for one fetch in each run, and keeps what it got.

    Attributes:
        result: what the last run gave it.
    """

    def __init__(self, op: ah.Op[int]) -> None:
        self.result: object = None
        self._args = ah.SessionRunArgs(op)

    async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs | None:
        """Asks for the op."""
        return self._args

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        """Keeps its value."""
        self.result = run_values.results


class ByHand:
    """A hook for code that is written by hand: two methods that do nothing."""

    async def before_run(self, context: object) -> None:
        """Does nothing."""

    async def after_run(self, context: object, values: object) -> None:
        """Does nothing."""
