"""Proof that a contender really does its work."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from types import CodeType, FrameType


async def gives(name: str, expected: object, call: Callable[[], Awaitable[object]]) -> None:
    """Checks the result of a contender's work.

    Args:
        name: the contender.
        expected: what the work is to give.
        call: does the work once.

    Raises:
        AssertionError: it gave something else.
    """
    same(name, await call(), expected)


def same(name: str, result: object, expected: object) -> None:
    """Checks a result.

    Raises:
        AssertionError: it is another one.
    """
    if result != expected:
        raise AssertionError(f"{name} gave {_shown(result)}, not {_shown(expected)}")


async def calls(
    name: str, method: Callable[..., object], times: int, call: Callable[[], Awaitable[object]]
) -> None:
    """Checks how often a contender's work calls a function.

    Args:
        name: the contender.
        method: the function, one written in Python that does not suspend.
        times: how often it is to be called.
        call: does the work once.

    Raises:
        AssertionError: it was called more or less often.
    """
    code: CodeType = method.__code__
    count = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event == "call" and frame.f_code is code

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        await call()
    finally:
        sys.setprofile(before)
    if count != times:
        raise AssertionError(f"{name} called {method.__qualname__} {count} times, not {times}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
