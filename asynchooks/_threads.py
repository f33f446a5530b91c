"""Calls in worker threads, which are awaited to their end whatever cancels the caller."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any

import anyio
from anyio import to_thread

from asynchooks._backend import (
    native_cancellations,
    raise_if_natively_cancelled,
    spawn_host_task,
)
from asynchooks._closing import outlast
from asynchooks._errors import reraise
from asynchooks._ops import in_place


async def in_thread(call: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Calls a plain function in a worker thread and returns its result, be it an awaitable.

    A thread cannot be cancelled, so a cancellation is raised once the call has ended.
    """
    cancellations = native_cancellations()
    outcome: list[Any] = []
    error: BaseException | None = None
    ended = anyio.Event()

    async def wait_for_thread() -> None:
        nonlocal error
        try:
            await to_thread.run_sync(lambda: outcome.append(in_place(call, *arguments)))
        except BaseException as raised:
            error = raised
        finally:
            ended.set()

    spawn_host_task(wait_for_thread, "asynchooks thread", copy_context())
    await outlast("a call in a thread", ended.wait, ended.is_set, math.inf)
    raise_if_natively_cancelled(cancellations)
    if error is not None:
        reraise(error)
    return outcome[0]
