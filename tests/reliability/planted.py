"""Bugs to plant in the library, each as wrong as a slip of the pen could make it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import anyio
import pytest

import asynchooks as ah
from asynchooks import _closing, _life, _resources, _state

Steps = Iterable[tuple[str, Callable[[], Awaitable[object]]]]
Plant = Callable[[pytest.MonkeyPatch], None]

LEFT_OPEN: list[AbstractAsyncContextManager[Any]] = []
"""The resources that a planted bug has not closed."""


def replace(patch: pytest.MonkeyPatch, old: object, new: object) -> None:
    """Puts `new` wherever a module of the library refers to `old`."""
    for name, module in list(sys.modules.items()):
        if name.startswith("asynchooks."):
            for attribute, value in list(vars(module).items()):
                if value is old:
                    patch.setattr(module, attribute, new)


def not_shielded(patch: pytest.MonkeyPatch) -> None:
    async def run_all(steps: Steps, timeout: float) -> list[BaseException]:
        errors: list[BaseException] = []
        for _, step in steps:
            try:
                await step()
            except BaseException as error:
                errors.append(error)
        return errors

    replace(patch, _closing.run_all, run_all)


def first_error_stops_the_rest(patch: pytest.MonkeyPatch) -> None:
    run_all = _closing.run_all

    async def run_some(steps: Steps, timeout: float) -> list[BaseException]:
        errors: list[BaseException] = []
        for step in steps:
            errors += await run_all([step], timeout)
            if errors and isinstance(errors[-1], Exception):
                break
        return errors

    replace(patch, run_all, run_some)


def gives_up_at_native_cancel(patch: pytest.MonkeyPatch) -> None:
    run_all = _closing.run_all

    async def run_some(steps: Steps, timeout: float) -> list[BaseException]:
        errors: list[BaseException] = []
        for step in steps:
            errors += await run_all([step], timeout)
            if errors and isinstance(errors[-1], anyio.get_cancelled_exc_class()):
                break
        return errors

    replace(patch, run_all, run_some)


def does_not_wait_after_native_cancel(patch: pytest.MonkeyPatch) -> None:
    async def outlast(
        name: str, wait: Callable[[], Awaitable[object]], done: object, timeout: float
    ) -> bool:
        with anyio.CancelScope(shield=True):
            await wait()
        return True

    replace(patch, _closing.outlast, outlast)


def on_run_error_is_skipped(patch: pytest.MonkeyPatch) -> None:
    run_all = _closing.run_all

    async def run_others(steps: Steps, timeout: float) -> list[BaseException]:
        return await run_all([step for step in steps if "on_run_error" not in step[0]], timeout)

    replace(patch, run_all, run_others)


def resources_stay_open(patch: pytest.MonkeyPatch) -> None:
    open_one = _resources.Resource.open

    @asynccontextmanager
    async def never_left(manager: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
        value = await manager.__aenter__()
        LEFT_OPEN.append(manager)
        yield value

    def open_for_ever(self: _resources.Resource[Any], opened: dict[Any, Any]) -> Any:
        return never_left(open_one(self, opened))

    patch.setattr(_resources.Resource, "open", open_for_ever)


def op_error_is_swallowed(patch: pytest.MonkeyPatch) -> None:
    add = ah.Graph.add

    def add_tamed(self: ah.Graph, op: Any) -> None:
        call = op.call
        if inspect.iscoroutinefunction(call) and not op.stateful:

            async def tame(*args: Any) -> Any:
                with suppress(Exception):
                    return await call(*args)

            op.call = tame
        add(self, op)

    patch.setattr(ah.Graph, "add", add_tamed)


def items_are_not_given_back(patch: pytest.MonkeyPatch) -> None:
    def keep_them(self: _state.Transaction) -> None:
        self._end(committed=True)

    patch.setattr(_state.Transaction, "rollback", keep_them)


def native_cancel_is_swallowed(patch: pytest.MonkeyPatch) -> None:
    leave = ah.MonitoredSession.__aexit__

    async def swallow(self: ah.MonitoredSession, *exc_info: Any) -> bool:
        return await leave(self, *exc_info) or isinstance(
            exc_info[1], anyio.get_cancelled_exc_class()
        )

    patch.setattr(ah.MonitoredSession, "__aexit__", swallow)


def end_is_called_whatever_happened(patch: pytest.MonkeyPatch) -> None:
    prepare = _life.Leaving.__init__

    def as_if_clean(self: Any, life: Any, error: Any, *, clean: bool) -> None:
        prepare(self, life, error, clean=clean)
        self._clean = True

    patch.setattr(_life.Leaving, "__init__", as_if_clean)


def hooks_are_registered_late(patch: pytest.MonkeyPatch) -> None:
    begin = _life.Life._begin

    async def begin_all(self: _life.Life) -> None:
        try:
            await begin(self)
        except BaseException:
            self.begun = 0
            raise

    patch.setattr(_life.Life, "_begin", begin_all)


def the_graph_stays_final(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ah.Graph, "release_final", lambda self: None)


ANYHOW = {"scope", "native", "fail"}
"""What finds a bug that any disturbance shows, or that shows even without one."""

FOUND_BY: dict[Plant, set[str]] = {
    not_shielded: {"scope"},
    first_error_stops_the_rest: {"fail"},
    gives_up_at_native_cancel: {"native"},
    does_not_wait_after_native_cancel: {"native"},
    on_run_error_is_skipped: ANYHOW,
    resources_stay_open: ANYHOW,
    op_error_is_swallowed: ANYHOW,
    items_are_not_given_back: ANYHOW,
    native_cancel_is_swallowed: {"native"},
    end_is_called_whatever_happened: ANYHOW,
    hooks_are_registered_late: ANYHOW,
    the_graph_stays_final: ANYHOW,
}
