"""Evaluating one op, and what its errors leave as."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from asynchooks._backend import is_cancellation, is_cancelled
from asynchooks._errors import OpCancelledError, bare, note_once
from asynchooks._graph import Op, OpKind
from asynchooks._ops import in_place
from asynchooks._threads import in_thread


async def evaluate_other(kind: OpKind, call: Any, arguments: Sequence[Any]) -> Any:
    """Calls a plain function, in place or in a thread, and awaits what it returns if it can be."""
    if kind is OpKind.THREAD:
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
