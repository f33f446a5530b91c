"""C41, C42: hooks and ops see the context variables of the task that awaits them."""

from __future__ import annotations

from contextvars import ContextVar, Token

import anyio
import pytest

import asynchooks as ah
from tests.cases.spies import attempts

WHO: ContextVar[str] = ContextVar("who")


class Reader(ah.SessionRunHook):
    """Sets the variable in begin, if told to, and keeps what every later method reads."""

    def __init__(self, name: str | None) -> None:
        self.read: list[tuple[str, str]] = []
        self._name = name

    def note(self, where: str) -> None:
        self.read.append((where, WHO.get()))

    async def begin(self) -> None:
        if self._name:
            WHO.set(self._name)

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        self.note("acs")

    async def before_run(self, run_context: ah.SessionRunContext) -> None:
        self.note("before")

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        self.note("after")

    async def on_run_error(self, run_context: ah.SessionRunContext, error: BaseException) -> None:
        self.note("error")

    async def end(self, session: ah.Session) -> None:
        self.note("end")

    async def close(self, session_end: ah.SessionEnd) -> None:
        self.note("close")


def reading_graph(hook: Reader, losses: int) -> tuple[ah.Graph, ah.Op[None]]:
    """Returns a graph of two ops that run at once and an op after them, all of which read."""
    left = iter(range(losses))

    @ah.op
    async def side() -> None:
        await anyio.lowlevel.checkpoint()
        hook.note("side op")

    @ah.op
    def last(*sides: None) -> None:
        hook.note("op")
        if next(left, None) is not None:
            raise ah.UnavailableError("lost")

    with ah.Graph().as_default() as graph:
        return graph, last(side(), side())


RUN = ["before", "side op", "side op", "op"]


@pytest.mark.parametrize(
    ("losses", "where"),
    [
        (0, ["acs", *RUN, "after", "end", "close"]),
        (1, ["acs", *RUN, "error", "acs", *RUN, "after", "end", "close"]),
    ],
)
async def test_c41_variable_set_in_begin(losses: int, where: list[str]) -> None:
    """What begin sets is seen by every later method and by ops, on each session."""
    WHO.set("caller")
    hook = Reader("begin")
    graph, x = reading_graph(hook, losses)
    async with ah.MonitoredSession(graph, [hook], recovery=attempts(3)) as session:
        await session.run(x)
    assert hook.read == [(name, "begin") for name in where]


async def test_c41_variable_set_by_the_caller() -> None:
    """What the caller of a run sets is seen by the hooks and the ops of that run."""
    WHO.set("entered")
    hook = Reader(None)
    graph, x = reading_graph(hook, 0)
    async with ah.MonitoredSession(graph, [hook]) as session:
        WHO.set("run")
        await session.run(x)
        WHO.set("left")
    assert hook.read == [
        ("acs", "entered"),
        *[(name, "run") for name in [*RUN, "after"]],
        ("end", "left"),
        ("close", "left"),
    ]


class Resetter(ah.SessionRunHook):
    """Sets the variable to its name for as long as the session lives."""

    token: Token[str]

    def __init__(self, name: str) -> None:
        self.name = name

    async def begin(self) -> None:
        self.token = WHO.set(self.name)

    async def end(self, session: ah.Session) -> None:
        WHO.reset(self.token)


@ah.op
async def who() -> str:
    await anyio.lowlevel.checkpoint()
    return WHO.get()


@pytest.mark.parametrize("suspending", [False, True])
async def test_op_sees_what_the_caller_has_set(suspending: bool) -> None:
    """However many ops run side by side, each sees the caller's variables as they are then."""

    async def who(*_: object) -> str:
        if suspending:
            await anyio.lowlevel.checkpoint()
        return WHO.get()

    with ah.Graph().as_default() as graph:
        asked = ah.op(who)
        first = asked()
        ops = [asked(first) for _ in range(20)]
    async with ah.MonitoredSession(graph) as session:
        for name in ("the caller", "somebody else"):
            WHO.set(name)
            assert await session.run(ops) == [name] * 20


async def test_c42_token_reset_in_end() -> None:
    """Two sessions in two tasks set a variable in begin and reset it in end, runs interleaved."""
    with ah.Graph().as_default() as graph:
        x = who()
    WHO.set("caller")
    seen: list[str] = []
    turns = {"one": anyio.Event(), "two": anyio.Event()}

    async def take_turns(name: str, other: str) -> None:
        async with ah.MonitoredSession(graph, [Resetter(name)]) as session:
            for _ in range(3):
                await turns[name].wait()
                turns[name] = anyio.Event()
                seen.append(await session.run(x))
                turns[other].set()
        seen.append(WHO.get())

    with anyio.fail_after(1):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(take_turns, "one", "two")
            tasks.start_soon(take_turns, "two", "one")
            turns["one"].set()
    assert sorted(seen[:6:2]) == ["one"] * 3
    assert sorted(seen) == ["caller"] * 2 + ["one"] * 3 + ["two"] * 3


async def test_c42_token_reset_in_close_of_a_failed_session() -> None:
    """A token of begin can be reset in close, also when the session could not be made."""

    class ResetsInClose(Resetter):
        async def end(self, session: ah.Session) -> None:
            pytest.fail("no clean end")

        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            raise ValueError("set-up")

        async def close(self, session_end: ah.SessionEnd) -> None:
            WHO.reset(self.token)

    WHO.set("caller")
    with pytest.raises(ValueError, match="set-up"):
        async with ah.MonitoredSession(hooks=[ResetsInClose("hook")], graph=ah.Graph()):
            pytest.fail("the block was entered")
    assert WHO.get() == "caller"
