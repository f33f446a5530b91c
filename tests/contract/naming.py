"""The names that scenarios use for errors, and what stands for each on asynchooks' side."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import anyio

import asynchooks as ah

Name = dict[str, Any]
"""A type and a key, as they stand in a trace."""


class Internal(Exception):
    """An error of the raw session with no name of its own."""


class OutOfRangeSub(ah.OutOfRangeError):
    """A subclass of an end of input."""


class AbortedSub(ah.AbortedError):
    """A subclass of a recoverable error."""


class StopIterationSub(StopAsyncIteration):
    """A subclass of the other end of input."""


SCRIPTED: dict[str, type[BaseException]] = {
    "OutOfRange": ah.OutOfRangeError,
    "StopIteration": StopAsyncIteration,
    "Aborted": ah.AbortedError,
    "Unavailable": ah.UnavailableError,
    "InvalidArgument": ah.InvalidArgumentError,
    "DeadlineExceeded": ah.DeadlineExceededError,
    "Internal": Internal,
    "OutOfRangeSub": OutOfRangeSub,
    "AbortedSub": AbortedSub,
    "StopIterationSub": StopIterationSub,
    "ValueError": ValueError,
    "KeyError": KeyError,
    "TypeError": TypeError,
    "AttributeError": AttributeError,
    "RuntimeError": RuntimeError,
    "ZeroDivisionError": ZeroDivisionError,
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": SystemExit,
    "GeneratorExit": GeneratorExit,
}

# The first class that fits counts.
OWN: list[tuple[type[BaseException], str, str]] = [
    (ah.StepFunctionStopped, "StopIteration", "step_fn_stop"),
    (ah.OutOfRangeError, "OutOfRange", "end_of_sequence"),
    (ah.InvalidArgumentError, "InvalidArgument", "unfed_placeholder"),
    (ah.DeadlineExceededError, "DeadlineExceeded", "timeout"),
    (ah.RunAfterStopError, "RuntimeError", "run_after_stop"),
    (ah.ReentrantRunError, "RuntimeError", "reentrant_run"),
    (ah.GraphFinalizedError, "RuntimeError", "graph_finalized"),
    (ah.SessionClosedError, "RuntimeError", "no_session"),
    (ah.LifecycleError, "RuntimeError", "lifecycle"),
    (ah.TasksStillRunningError, "RuntimeError", "threads_still_running"),
    (ah.NanLossDuringTrainingError, "NanLoss", "nan_loss"),
    (ah.RecoveryError, "RecoveryError", "gave_up"),
    (TypeError, "TypeError", "bad_run_args"),
]


def scripted(spec: dict[str, Any]) -> BaseException:
    """Makes the error that a scenario asks for."""
    kind = SCRIPTED[spec["type"]]
    error = kind(0.0) if kind is ah.DeadlineExceededError else kind(spec["key"])
    return named(error, spec["type"], spec["key"])


def named(error: BaseException, kind: str, key: str) -> BaseException:
    """Has `error` called by this type and key from now on."""
    error.contract_name = {"type": kind, "key": key}  # type: ignore[attr-defined]
    return error


def name_of(error: BaseException, otherwise: str = "") -> Name:
    """Returns the type and key of an error, the same at each place where it is seen.

    Args:
        error: a scripted error, or one of the library's.
        otherwise: the key of an error that the library knows no class of its own for.
    """
    if not hasattr(error, "contract_name"):
        named(error, *_own_name(error, otherwise))
    name: Name = error.contract_name  # type: ignore[attr-defined]
    return name


def is_cancellation(error: BaseException) -> bool:
    """Tells whether an error is the event loop's cancellation."""
    return isinstance(error, anyio.get_cancelled_exc_class())


async def error_of(step: Awaitable[object]) -> BaseException | None:
    """Returns what a step raises, unless that is the event loop's cancellation."""
    try:
        await step
    except BaseException as error:
        if is_cancellation(error):
            raise
        return error
    return None


def _own_name(error: BaseException, otherwise: str) -> tuple[str, Any]:
    if is_cancellation(error):
        return "Cancelled", ""
    if isinstance(error, BaseExceptionGroup):
        return "ExceptionGroup", [name_of(each, otherwise) for each in error.exceptions]
    if isinstance(error, ah.FeedConflictError):
        by_caller = "the caller" in error.parties
        return "RuntimeError", "feed_conflict_user" if by_caller else "feed_conflict_hooks"
    for kind, name, key in OWN:
        if isinstance(error, kind):
            return name, key
    return type(error).__name__, otherwise or str(error)
