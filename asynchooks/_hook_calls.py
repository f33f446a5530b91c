"""The hooks of one session: checked when it is made, bound to what they override."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

from asynchooks._errors import LifecycleError, ReentrantRunError, bare, note_once
from asynchooks._hook import HOOK_METHODS, SessionRunHook, label, overridden
from asynchooks._ops import is_async


class HookCall:
    """One hook's method; says on errors where they came from."""

    __slots__ = ("_method", "hook", "name")

    def __init__(self, name: str, hook: SessionRunHook, method: Callable[..., Awaitable[Any]]):
        self.name = name
        self.hook = hook
        self._method = method

    async def __call__(self, *args: Any) -> Any:
        """Awaits the method."""
        try:
            return await self._method(*args)
        except Exception as error:
            note_once(bare(error), f"raised by {self.name}")
            raise


@dataclass(frozen=True, slots=True)
class RunCalls:
    """What a hook overrides of the methods that are called in runs.

    They are called without a wrapper, since each run calls them.

    Attributes:
        index: the hook's place in the list.
        label: what messages call it.
        before_run: its method of that name, None if it does not override it; so the others.
    """

    index: int
    label: str
    before_run: Callable[..., Awaitable[Any]] | None
    after_run: Callable[..., Awaitable[Any]] | None
    on_run_error: HookCall | None


class HookCalls:
    """The hooks of one session, in list order, as far as they override something."""

    def __init__(self, hooks: Iterable[SessionRunHook]) -> None:
        """Checks the hooks and copies the list.

        Raises:
            TypeError: something in it is no hook, or a method of one cannot be awaited.
            ValueError: a hook stands in it twice, or two keep their state under one name.
        """
        self.hooks = checked_hooks(hooks)
        self.after_create_session = self._all("after_create_session")
        self.end = self._all("end")
        self.runs = tuple(self._run_calls(index) for index in range(len(self.hooks)))
        self.runs = tuple(
            each for each in self.runs if each.before_run or each.after_run or each.on_run_error
        )

    def method_label(self, calls: RunCalls, method: str) -> str:
        """Returns what messages call a method of a hook."""
        return label(self.hooks, calls.index, method)

    def call(self, index: int, method: str) -> HookCall | None:
        """Returns the method of one hook, or None if it does not override it."""
        hook = self.hooks[index]
        bound = overridden(hook, method)
        return None if bound is None else HookCall(label(self.hooks, index, method), hook, bound)

    def _all(self, method: str) -> tuple[HookCall, ...]:
        calls = (self.call(index, method) for index in range(len(self.hooks)))
        return tuple(call for call in calls if call is not None)

    def _run_calls(self, index: int) -> RunCalls:
        hook = self.hooks[index]
        return RunCalls(
            index,
            label(self.hooks, index),
            overridden(hook, "before_run"),
            overridden(hook, "after_run"),
            self.call(index, "on_run_error"),
        )


class CallingHooks:
    """Marks, as a context manager, that hooks are being called on behalf of `owner`.

    Attributes:
        active: false while something else runs inside the block. A task that a hook starts has the
            context of the call and outlives it, so the end of the block makes this false too and
            lets go of `owner`.
    """

    __slots__ = ("_token", "active", "outer", "owner")

    def __init__(self, owner: object) -> None:
        self.owner: object = owner
        self.active = False

    def __enter__(self) -> CallingHooks:
        self.outer = _calling.get()
        self._token = _calling.set(self)
        self.active = True
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.active = False
        self.owner = None
        _calling.reset(self._token)


_calling: ContextVar[CallingHooks | None] = ContextVar("asynchooks_calling", default=None)


def calling_session() -> object:
    """Returns the monitored session on behalf of which a hook is being called.

    Raises:
        LifecycleError: no hook is being called.
    """
    calling = _calling.get()
    if calling is None:
        raise LifecycleError("a hook of this kind is begun by a MonitoredSession only")
    return calling.owner


def refuse_reentrance(owner: object, method: str) -> None:
    """Raises `ReentrantRunError` if a hook is being called on behalf of `owner`.

    Args:
        owner: the monitored session.
        method: what is called on it, for the message.
    """
    calling = _calling.get()
    while calling is not None:
        if calling.owner is owner and calling.active:
            raise ReentrantRunError(
                f"{method}() was called from a hook of the same session; use the raw session that "
                "the hook is given (run_context.session)"
            )
        calling = calling.outer


def checked_hooks(hooks: object) -> tuple[SessionRunHook, ...]:
    """Returns a copy of the list of hooks.

    Raises:
        TypeError: something in it is no hook, or a method of one cannot be awaited.
        ValueError: a hook stands in it twice.
    """
    if isinstance(hooks, SessionRunHook | str) or not isinstance(hooks, Iterable):
        raise TypeError(f"hooks are to be a list of hooks, not {hooks!r}")
    checked = tuple(
        _checked_hook(f"hooks[{index}]", hook)
        for index, hook in enumerate(cast("Iterable[object]", hooks))
    )
    for index, hook in enumerate(checked):
        first = next(n for n, other in enumerate(checked) if other is hook)
        if first != index:
            raise ValueError(
                f"{label(checked, index)} is the same object as hooks[{first}]; list it once"
            )
    _check_state_names(checked)
    return checked


def _check_state_names(hooks: tuple[SessionRunHook, ...]) -> None:
    owners: dict[str, int] = {}
    for index, hook in enumerate(hooks):
        if hook.state_name is None:
            continue
        first = owners.setdefault(hook.state_name, index)
        if first != index:
            raise ValueError(
                f"{label(hooks, index)} keeps its state under the name {hook.state_name!r}, as "
                f"hooks[{first}] does; give one of them another by name=..."
            )


def _checked_hook(place: str, hook: object) -> SessionRunHook:
    if isinstance(hook, type):
        raise TypeError(f"{place} is the class {hook.__name__}; make an instance of it")
    if not isinstance(hook, SessionRunHook):
        raise TypeError(
            f"{place} is no SessionRunHook but {hook!r}; inherit from SessionRunHook, or adapt an "
            "object with plain methods by sync_hook(...)"
        )
    for method in HOOK_METHODS:
        bound = overridden(hook, method)
        if bound is not None:
            _check_method(f"{type(hook).__name__}.{method} ({place})", bound)
    return hook


def _check_method(name: str, method: object) -> None:
    if inspect.isasyncgenfunction(method):
        raise TypeError(f"{name} is an async generator; make it `async def` without `yield`")
    if not callable(method) or not is_async(method):
        raise TypeError(
            f"{name} is no async function; make it `async def`, or adapt a hook with plain methods "
            "by sync_hook(...)"
        )
