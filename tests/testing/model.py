"""A session in small, right unless a bug is planted: three hooks, four ops, two runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from enum import StrEnum

import anyio

from tests.testing.journal import Journal


class Bug(StrEnum):
    """What can be wrong with the model."""

    NONE = "none"
    NOT_SHIELDED = "clean-up not shielded"
    NOT_ROLLED_BACK = "half-open session not rolled back"
    REGISTERED_LATE = "hook not registered for closing in time"
    FIRST_ERROR_STOPS = "first clean-up error stops the rest"
    GIVES_UP_ON_NATIVE_CANCEL = "clean-up gives up on native cancel"
    HOLE_IN_VALUES = "op error swallowed"
    AFTER_FAILED_RUN = "after_run runs after a failed run"


class Model:
    """The session; its calls into hooks and ops are written to the journal."""

    hooks = ("A", "B", "C")

    def __init__(self, journal: Journal, bug: Bug = Bug.NONE) -> None:
        self.journal = journal
        self.bug = bug
        self.to_close: list[str] = []

    @asynccontextmanager
    async def session(self) -> AsyncIterator[None]:
        """Opens, yields and closes."""
        if self.bug is Bug.NOT_ROLLED_BACK:
            await self._open()
        try:
            if self.bug is not Bug.NOT_ROLLED_BACK:
                await self._open()
            yield
            await self._call_all(self.hooks, "end")
        except BaseException as error:
            await self._clean_up(self.to_close[::-1], "close", error)
            raise
        await self._clean_up(self.to_close[::-1], "close", None)

    async def run(self, number: int) -> int | None:
        """Runs the four ops once, between the hooks' calls."""
        owed: list[str] = []
        try:
            for hook in self.hooks:
                await self._call_all([hook], "before_run")
                owed.append(hook)
            value = await self._ops(number)
            while owed:
                await self._call_all([owed.pop(0)], "after_run")
        except BaseException as error:
            late = "after_run" if self.bug is Bug.AFTER_FAILED_RUN else "on_run_error"
            await self._clean_up(owed, late, error)
            raise
        return value

    async def _open(self) -> None:
        for hook in self.hooks:
            await self._call_all([hook], "begin")
            if self.bug is not Bug.REGISTERED_LATE:
                self.to_close.append(hook)
        if self.bug is Bug.REGISTERED_LATE:
            self.to_close.extend(self.hooks)
        await self._call_all(self.hooks, "after_create_session")

    async def _call_all(self, hooks: Iterable[str], method: str) -> None:
        for hook in hooks:
            async with self.journal.call(f"{hook}.{method}"):
                pass

    async def _clean_up(self, hooks: list[str], method: str, body: BaseException | None) -> None:
        """Calls all, whatever happens; the body's error wins over what goes wrong here."""
        errors: list[BaseException] = []
        with anyio.CancelScope(shield=self.bug is not Bug.NOT_SHIELDED):
            for hook in hooks:
                try:
                    await self._call_all([hook], method)
                except self._survived() as error:
                    errors.append(error)
        if errors and body is None:
            raise errors[0]

    def _survived(self) -> type[BaseException]:
        survived: dict[Bug, type[BaseException]] = {
            Bug.FIRST_ERROR_STOPS: anyio.get_cancelled_exc_class(),
            Bug.GIVES_UP_ON_NATIVE_CANCEL: Exception,
        }
        return survived.get(self.bug, BaseException)

    async def _ops(self, number: int) -> int | None:
        values: dict[str, int | None] = {}

        async def op(name: str, value: Callable[[], int]) -> None:
            values[name] = await self._op(name, value)

        await op("read.op", lambda: number)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(op, "left.op", lambda: number + 1)
            tasks.start_soon(op, "right.op", lambda: number * 2)
        await op("join.op", lambda: sum(value or 0 for value in values.values()))
        return values["join.op"]

    async def _op(self, name: str, value: Callable[[], int]) -> int | None:
        try:
            async with self.journal.call(name):
                return value()
        except Exception:
            if self.bug is Bug.HOLE_IN_VALUES:
                return None
            raise


async def program(model: Model) -> list[int | None]:
    """Opens the model, runs it twice and closes it; ends with a point to be cancelled at."""
    async with model.session():
        values = [await model.run(1), await model.run(2)]
    await anyio.lowlevel.checkpoint()
    return values


VALUES = [5, 9]
"""What the program returns: n + (n + 1) + 2n for both runs."""
