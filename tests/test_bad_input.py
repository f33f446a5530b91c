"""Every bad input is refused at once, by an error that says what is wrong."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import asynchooks as ah
from tests.bad_input import making, running, using
from tests.bad_input.world import Row, world

ROWS = [*making.ROWS, *running.ROWS, *using.ROWS]


def said(error: BaseException) -> str:
    """Returns the message of an error with its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
async def test_bad_input_is_refused(row: Row) -> None:
    """The class is exact, the message says what matters, nothing has run, and a good run works."""
    async with world() as here:
        with here.draft.as_default(), pytest.raises(row.error) as caught:
            result = row.call(here)
            if inspect.isawaitable(result):
                await result
        assert type(caught.value) is row.error, said(caught.value)
        missing = [word for word in row.words if word not in said(caught.value)]
        assert not missing, said(caught.value)
        assert tuple(here.ran) == row.ran
        assert await here.good_run() == [5, 5]


def test_rows_are_many_and_differ() -> None:
    """The table has at least 80 rows, each with a name of its own."""
    names = [row.what for row in ROWS]
    assert len(names) == len(set(names)) >= 80


METHODS = [
    "begin",
    "after_create_session",
    "before_run",
    "after_run",
    "on_run_error",
    "end",
    "close",
]
USES: dict[str, Callable[[ah.MonitoredSession], Awaitable[Any]]] = {
    "run": lambda session: session.run([]),
    "run_step_fn": lambda session: session.run_step_fn(lambda step: step.run_with_hooks([])),
    "close": lambda session: session.close(),
    "leave": lambda session: session.__aexit__(None, None, None),
}


class Reenters(ah.SessionRunHook):
    """Uses its own session in one of its methods, and keeps the error."""

    def __init__(self, method: str, use: Callable[[ah.MonitoredSession], Awaitable[Any]]) -> None:
        self.session: ah.MonitoredSession
        self.errors: list[Exception] = []
        self._use = use
        setattr(self, method, self._reenter)

    async def _reenter(self, *args: Any) -> None:
        try:
            await self._use(self.session)
        except Exception as error:
            self.errors.append(error)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("method", METHODS)
async def test_hook_cannot_use_its_own_session(method: str, use: str) -> None:
    """A hook method that uses the session that calls it is refused, and the session goes on."""
    fails = [method == "on_run_error"]

    @ah.op
    async def x() -> int:
        if fails.pop() if fails else False:
            raise ValueError("x")
        return 7

    with ah.Graph().as_default() as graph:
        op = x()
    hook = Reenters(method, USES[use])
    hook.session = ah.MonitoredSession(graph, [hook], close_timeout=0.1)
    async with hook.session as session:
        if fails[0]:
            with pytest.raises(ValueError, match="x"):
                await session.run(op)
        fails.clear()
        assert await session.run(op) == 7
    assert {type(error) for error in hook.errors} == {ah.ReentrantRunError}
    assert all("run_context.session" in str(error) for error in hook.errors)
