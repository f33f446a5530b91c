"""Where bad input is tried: live sessions, a graph to build in, and a log of what has run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asynchooks as ah


@dataclass(frozen=True)
class Row:
    """One bad input.

    Attributes:
        what: says it; the id of the test.
        call: does it in a world; what it returns is awaited if it is awaitable.
        error: the exact class of the error.
        words: what the message or a note of the error must say.
        ran: what has run when the error is there: nothing, unless a hook is what is bad.
    """

    what: str
    call: Callable[[World], Any]
    error: type[Exception]
    words: tuple[str, ...]
    ran: tuple[str, ...] = ()


class Log(ah.SessionRunHook):
    """Notes each call of a run's hook methods."""

    def __init__(self, ran: list[str]) -> None:
        self._ran = ran

    async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs | None:
        self._ran.append("before_run")
        return None

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        self._ran.append("after_run")

    async def on_run_error(self, run_context: ah.SessionRunContext, error: BaseException) -> None:
        self._ran.append("on_run_error")


class Asks(ah.SessionRunHook):
    """Asks for `answer` in each run."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    async def before_run(self, run_context: ah.SessionRunContext) -> Any:
        return self.answer


class AsksToo(Asks):
    """Another hook that asks."""


class World:
    """The parts that a row can use wrongly.

    Attributes:
        ran: the ops and hook methods that have run.
        graph: the graph of the sessions.
        p, x, v: a placeholder, an op that takes it, and a variable.
        foreign: an op of another graph.
        draft: a graph that is open to new ops; the default one in a row.
        hooks: a hook that notes, and two that ask for what a row tells them.
        session: a monitored session that is entered, with these hooks.
        raw: a raw session that is entered.
    """

    session: ah.MonitoredSession
    raw: ah.Session

    def __init__(self) -> None:
        self.ran: list[str] = []
        with ah.Graph().as_default() as self.graph:
            self.p = ah.placeholder("p")
            self.x = self.op("x", self.p)
            self.v = ah.Variable(1, "v")
        with ah.Graph().as_default():
            self.foreign = ah.constant(1, "foreign")
        self.draft = ah.Graph()
        self.hooks = Log(self.ran), Asks(), AsksToo()

    def op(self, name: str = "y", *inputs: Any) -> ah.Op[Any]:
        """Makes an op that notes that it has run and gives 7 or its first input."""

        @ah.op(name=name)
        async def noted(*values: Any) -> Any:
            self.ran.append(name)
            return values[0] if values else 7

        return noted(*inputs)

    def ask(self, answer: Any, other: Any = None) -> Any:
        """Runs x while the two asking hooks ask for something."""
        self.hooks[1].answer, self.hooks[2].answer = answer, other
        return self.session.run(self.x, {self.p: 7} if other is None else None)

    def fresh(self, *hooks: Any, **options: Any) -> ah.MonitoredSession:
        """Makes a session on the draft that is not entered; its hook notes that it has run."""
        return ah.MonitoredSession(self.draft, [Log(self.ran), *hooks], **options)

    async def good_run(self) -> list[Any]:
        """Makes a run that is right on each of the live sessions."""
        self.hooks[1].answer = self.hooks[2].answer = None
        feeds = {self.p: 5}
        return [await session.run(self.x, feeds) for session in (self.session, self.raw)]


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    """Gives a world with its sessions entered."""
    made = World()
    async with (
        ah.MonitoredSession(made.graph, made.hooks) as made.session,
        ah.Session(made.graph) as made.raw,
    ):
        yield made
