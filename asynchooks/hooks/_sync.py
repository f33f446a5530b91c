"""Hooks with plain methods."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from asynchooks._hook import HOOK_METHODS, SessionRunHook
from asynchooks._ops import in_place, is_generator_function
from asynchooks._threads import in_thread


def sync_hook(plain_hook: object, *, thread: bool = False) -> SessionRunHook:
    """Makes a hook of an object whose methods are plain functions.

    Args:
        plain_hook: an object with any of the methods of `SessionRunHook`. A method that returns an
            awaitable is awaited.
        thread: whether the methods are called in a worker thread, so that they may block.

    Returns:
        A hook that overrides just these methods.

    Raises:
        TypeError: the object has none of the methods, or one is no function, or a generator.
    """
    methods = {
        name: getattr(plain_hook, name) for name in HOOK_METHODS if hasattr(plain_hook, name)
    }
    if not methods or isinstance(plain_hook, type):
        raise TypeError(
            f"sync_hook takes an object with some of the methods {', '.join(HOOK_METHODS)}; "
            f"{plain_hook!r} is none"
        )
    for name, method in methods.items():
        if not callable(method) or is_generator_function(method):
            raise TypeError(
                f"{name} of {plain_hook!r} is to be a function without `yield`, not {method!r}"
            )
    adapted = {name: _adapted(method, thread) for name, method in methods.items()}
    adapter: type[SessionRunHook] = type(type(plain_hook).__name__, (SessionRunHook,), adapted)
    return adapter()


def _adapted(method: Callable[..., Any], thread: bool) -> Callable[..., Awaitable[Any]]:
    async def call(_: SessionRunHook, *args: Any) -> Any:
        if thread:
            result = await in_thread(method, args)
        else:
            result = in_place(method, *args)
        return await result if inspect.isawaitable(result) else result

    return call
