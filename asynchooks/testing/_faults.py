"""What a sweep does to a program at a point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import anyio

from asynchooks.testing._native import NativeCancels, has_native_cancel

CancelKind: TypeAlias = Literal["scope", "deadline", "native"]
"""How to cancel: `scope.cancel()`, a deadline that has come, or asyncio's `Task.cancel()`."""

PointKind: TypeAlias = Literal["suspension", "entry"]
"""Where: a suspension of the program's task, or an entry into user code in any task."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a fault can get hold of.

    Attributes:
        scope: the cancel scope round the program.
        native: the program's task.
    """

    scope: anyio.CancelScope
    native: NativeCancels


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancels the program at its n-th point.

    Attributes:
        kind: how; see `cancel_kinds` for those that the running event loop has.
        at: the kind of point that is counted.
        forever: whether it is cancelled at all later points too, as an impatient caller of
            `Task.cancel()` does; a scope can be cancelled only once.
    """

    kind: CancelKind = "scope"
    at: PointKind = "suspension"
    forever: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError for a kind that there is not."""
        _check("kind", self.kind, get_args(CancelKind))
        _check("at", self.at, get_args(PointKind))

    def __str__(self) -> str:
        """Names the fault for test output."""
        return f"{self.kind} cancel {_often(self.forever)} {self.at}"

    def require(self) -> None:
        """Raises RuntimeError if the running event loop has no such cancellation."""
        if self.kind not in cancel_kinds():
            raise RuntimeError(f"this event loop has no {self.kind} cancel: see cancel_kinds()")

    def strike(self, target: Target) -> BaseException | None:
        """Requests the cancellation, which the program meets where it suspends next."""
        if self.kind == "scope":
            target.scope.cancel()
        elif self.kind == "deadline":
            target.scope.deadline = anyio.current_time()
        else:
            target.native.request()
        return None


@dataclass(frozen=True, slots=True)
class Fail:
    """Raises an error out of the n-th entry into user code.

    Attributes:
        error: makes the error: an exception class, or a function without arguments.
        forever: whether all later entries fail too, each with an error of its own.
    """

    error: Callable[[], BaseException]
    forever: bool = False

    @property
    def at(self) -> PointKind:
        """The kind of point that is counted: entries."""
        return "entry"

    def __str__(self) -> str:
        """Names the fault for test output."""
        name = getattr(self.error, "__name__", repr(self.error))
        return f"{name} {_often(self.forever)} {self.at}"

    def require(self) -> None:
        """Every event loop can fail."""

    def strike(self, target: Target) -> BaseException | None:
        """Returns the error that the user code is to raise."""
        return self.error()


Fault: TypeAlias = Cancel | Fail
"""What a sweep does at a point."""


def cancel_kinds() -> tuple[CancelKind, ...]:
    """Returns the kinds of cancellation that the running event loop has."""
    return ("scope", "deadline", "native") if has_native_cancel() else ("scope", "deadline")


def _often(forever: bool) -> str:
    return "for ever from" if forever else "once at"


def _check(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
