"""Evaluating one op, and what its errors leave as."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from asynchooks._backend import is_cancellation, is_cancelled
from asynchooks._errors import OpCancelledError, bare, note_once
from asynchooks._graph import ASYNC, INTERNAL, THREAD, Op, OpKind
from asynchooks._ops import in_place
from asynchooks._threads import in_thread


def call_of(op: Op[Any]) -> Callable[..., Any]:
    """Returns the call of an op, whatever its kind as one that is to be awaited."""
    assert op.call is not None
    return op.call if op.kind is ASYNC else partial(evaluate_other, op.kind, op.call)


async def evaluate_other(kind: OpKind, call: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a plain function, in place or in a thread, and awaits what it returns if it can be.

    What an internal call returns is a value, whatever it is.
    """
    if kind is INTERNAL:
        return call(*arguments)
    if kind is THREAD:
        value = await in_thread(call, arguments)
    else:
        value = in_place(call, *arguments)
    return await value if hasattr(value, "__await__") else value


def error_of(op: Op[Any], error: BaseException, cancellations: int) -> BaseException:
    """Returns what an op's error leaves as.

    Args:
        op: the op.
        error: what it raised.
        cancellations: what `native_cancellations` was when its task had not been cancelled.
    """
    if is_cancellation(error):
        if is_cancelled(cancellations):
            return error
        own = OpCancelledError(op.name)
        own.__cause__ = error
        error = own
    error = bare(error)
    if isinstance(error, Exception):
        note_once(error, f"raised by op {op.name!r}")
    return error
