"""The library's hooks that log, count, watch and wait, with what they do in the trace."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import asynchooks as ah
from tests.contract.nodes import encoded
from tests.contract.traced import TracedHook
from tests.contract.world import World


class TracedLogging(TracedHook, ah.LoggingTensorHook):
    """The library's `LoggingTensorHook`: its lines are logged as `log`."""

    formats = False

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        """Logged as `after_run`."""
        with _heard(self):
            await super().after_run(run_context, run_values)

    async def end(self, session: ah.Session) -> None:
        """Logged as `end`."""
        with _heard(self):
            await super().end(session)


@contextmanager
def _heard(hook: TracedLogging) -> Iterator[None]:
    """Puts what the library logs in the block into the trace."""
    ear = _Ear(hook)
    logger = logging.getLogger("asynchooks")
    level, disabled = logger.level, logging.root.manager.disable
    logger.addHandler(ear)
    logger.setLevel(logging.INFO)
    logging.disable(logging.NOTSET)
    try:
        yield
    finally:
        logging.disable(disabled)
        logger.setLevel(level)
        logger.removeHandler(ear)


class _Ear(logging.Handler):
    def __init__(self, hook: TracedLogging) -> None:
        super().__init__()
        self.hook = hook

    def emit(self, record: logging.LogRecord) -> None:
        """Logged as `log`."""
        secs = vars(record)["elapsed_secs"]
        text = record.getMessage()
        if self.hook.formats:
            self.hook.world.log("log", h=self.hook.h, text=text)
            return
        if secs is not None:
            text = text.removesuffix(f" ({secs:.3f} sec)")
        self.hook.world.log("log", h=self.hook.h, text=text, secs=secs)


class TracedStepCounter(TracedHook, ah.StepCounterHook):
    """The library's `StepCounterHook`."""


class TracedNan(TracedHook, ah.NanTensorHook):
    """The library's `NanTensorHook`."""


class TracedWaiter(TracedHook, ah.GlobalStepWaiterHook):
    """The library's `GlobalStepWaiterHook`: what it sleeps is logged as `sleep`."""

    async def _pause(self, session: ah.Session) -> None:
        self.world.log("sleep", secs=self._poll_interval)
        await session.run(self.world.nodes.fetches(self.world.scenario["on_sleep"]["fetches"]))


class Rates:
    """A summary writer: what it is given is logged as `rate`."""

    def __init__(self, world: World, h: int) -> None:
        self.world = world
        self.h = h

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int) -> None:
        """Logged as `rate`."""
        assert tag.endswith("/sec")
        self.world.log("rate", h=self.h, step=global_step, value=round(scalar_value, 6))

    def flush(self) -> None:
        """Leaves no event."""

    def close(self) -> None:
        """Is not called."""


def make_logging(world: World, h: int, spec: dict[str, Any]) -> TracedHook:
    """Makes a hook of kind `logging`."""
    hook = TracedLogging(
        world.nodes.fetches(spec["tensors"]),
        spec.get("every_n_iter"),
        spec.get("every_n_secs"),
        spec.get("at_end", False),
        _formatted if spec.get("formatter") else None,
        clock=world.now,
    )
    hook.formats = bool(spec.get("formatter"))
    return hook


def make_step_counter(world: World, h: int, spec: dict[str, Any]) -> TracedHook:
    """Makes a hook of kind `step_counter`."""
    return TracedStepCounter(
        spec.get("every_n_steps", 100),
        spec.get("every_n_secs"),
        Rates(world, h),
        clock=world.now,
    )


def make_nan(world: World, h: int, spec: dict[str, Any]) -> TracedHook:
    """Makes a hook of kind `nan`."""
    return TracedNan(world.nodes.fetches(spec["loss"]), spec.get("fail", True))


def make_waiter(world: World, h: int, spec: dict[str, Any]) -> TracedHook:
    """Makes a hook of kind `waiter`."""
    return TracedWaiter(spec["until"])


def _formatted(values: dict[str, Any]) -> str:
    return "F:" + json.dumps(encoded(values), sort_keys=True)
