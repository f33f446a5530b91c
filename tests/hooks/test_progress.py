"""ProgressHook: a progress bar over the global step."""

from __future__ import annotations

import io
import sys
import threading
from typing import Any

import anyio
import pytest
import tenacity

import asynchooks as ah
from tests.hooks.bars import Bars
from tests.hooks.clocks import Clock


async def make_runs(hook: ah.ProgressHook, runs: int, clock: Clock, initial: int = 0) -> None:
    """Makes runs of half a second each with the hook."""
    with ah.Graph().as_default() as graph:
        ah.get_or_create_global_step().initial_value = initial
    async with ah.MonitoredSession(graph, [hook]) as session:
        for _ in range(runs):
            clock.now += 0.5
            await session.run([])


async def test_bar_goes_on_with_the_step() -> None:
    """It is drawn after the first run, then when it is due, and at the end, and then closed."""
    bars, clock = Bars(), Clock()
    await make_runs(ah.ProgressHook(10, bar=bars, every_secs=1, clock=clock), 6, clock)
    assert bars.made[0].arguments == {"total": 10, "initial": 0, "desc": "steps"}
    assert bars.calls == [1, 2, 2, 1, "close"]
    assert threading.get_ident() not in bars.made[0].threads


async def test_bar_starts_at_the_restored_step() -> None:
    """Steps that were made before the session are not counted as its own."""
    bars, clock = Bars(), Clock()
    await make_runs(ah.ProgressHook(10, bar=bars, clock=clock), 2, clock, initial=7)
    assert (bars.made[0].arguments["initial"], bars.calls) == (7, [1, 1, 0, "close"])


async def test_values_are_shown() -> None:
    """Values are asked for only in runs after which the bar is drawn, and shown by tag."""
    bars, clock, asked = Bars(), Clock(), []

    def loss() -> float:
        asked.append(1)
        return 0.5

    values = {"loss": loss, "at": "global_step"}
    hook = ah.ProgressHook(values=values, bar=bars, every_secs=1, clock=clock)
    await make_runs(hook, 3, clock)
    assert bars.calls == [{"loss": 0.5, "at": 0}, 1, {"loss": 0.5, "at": 2}, 2, 0, "close"]
    assert len(asked) == 2


async def test_values_of_slow_runs_are_shown() -> None:
    """Where a run takes longer than the time between two drawings, each run's values are shown."""
    bars, clock = Bars(), Clock()

    async def slow() -> int:
        clock.now += 10
        return int(clock.now)

    hook = ah.ProgressHook(values={"at": slow}, bar=bars, every_secs=1, clock=clock)
    await make_runs(hook, 3, clock)
    assert bars.calls == [{"at": 1010}, 1, {"at": 1021}, 1, {"at": 1031}, 1, 0, "close"]


@pytest.mark.parametrize("clean", [True, False])
async def test_bar_is_closed_on_every_path(clean: bool) -> None:
    """After an error there is no last drawing, but the bar is closed."""
    bars = Bars()
    try:
        async with ah.MonitoredSession(ah.Graph(), [ah.ProgressHook(bar=bars)]):
            if not clean:
                raise ValueError("body")
    except ValueError:
        pass
    assert bars.calls == ([0, "close"] if clean else ["close"])


async def test_recovery_keeps_the_bar() -> None:
    """One bar is shown, whatever is lost meanwhile."""
    bars, clock = Bars(), Clock()
    lost = [ah.AbortedError("lost")]

    async def work() -> None:
        if lost:
            raise lost.pop()

    hook = ah.ProgressHook(bar=bars, every_secs=0, clock=clock)
    recovery = ah.Recovery(wait=tenacity.wait_none())
    async with ah.MonitoredSession(ah.Graph(), [hook], recovery=recovery) as session:
        for _ in range(2):
            await session.run(work)
    assert bars.calls == [1, 1, 0, "close"]


async def test_second_session_has_its_own_bar() -> None:
    """A hook that is used again makes another bar, from the step of that session."""
    bars, clock = Bars(), Clock()
    hook = ah.ProgressHook(bar=bars, clock=clock)
    for initial in 0, 3:
        await make_runs(hook, 1, clock, initial)
    assert [bar.arguments["initial"] for bar in bars.made] == [0, 3]
    assert [bar.calls for bar in bars.made] == [[1, 0, "close"]] * 2


async def test_runs_that_overlap_add_up() -> None:
    """However runs overlap, what is drawn adds up to the steps that were made."""
    bars = Bars()
    async with (
        ah.MonitoredSession(ah.Graph(), [ah.ProgressHook(bar=bars, every_secs=0)]) as session,
        anyio.create_task_group() as group,
    ):
        for _ in range(5):
            group.start_soon(session.run, anyio.lowlevel.checkpoint)
    assert bars.calls.pop() == "close"
    assert sum(bars.calls) == 5


async def test_bar_that_is_none_shows_nothing() -> None:
    """Where the factory says that there is nothing to show, no values are asked for."""
    asked: list[int] = []
    hook = ah.ProgressHook(values={"x": lambda: asked.append(1)}, bar=lambda **_: None)
    await make_runs(hook, 2, Clock())
    assert asked == []


class Terminal(io.StringIO):
    """An output that says that it is a terminal, or not."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize("terminal", [True, False])
async def test_rich_draws_on_a_terminal_alone(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal rich draws steps and values, brackets and all; elsewhere there is silence."""
    for name, value in {"TERM": "xterm", "COLUMNS": "120"}.items():
        monkeypatch.setenv(name, value)
    for name in "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR":
        monkeypatch.delenv(name, raising=False)
    output = Terminal(terminal=terminal)
    monkeypatch.setattr(sys, "stderr", output)
    clock = Clock()
    hook = ah.ProgressHook(
        3, values={"v": lambda: ["[red]"], "x": lambda: 2 / 3}, desc="work", clock=clock
    )
    await make_runs(hook, 3, clock)
    shown = [
        part
        for part in ("work", "1/3", "3/3", "v = ['[red]'], x = 0.666667")
        if part in output.getvalue()
    ]
    assert shown == (["work", "1/3", "3/3", "v = ['[red]'], x = 0.666667"] if terminal else [])
    assert (output.getvalue() == "") is not terminal
    assert sys.stderr is output


async def test_missing_rich_is_an_error_that_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without rich and without a bar of one's own the session is not entered."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(ImportError, match=r"install asynchooks\[progress\], or give it `bar`"):
        async with ah.MonitoredSession(ah.Graph(), [ah.ProgressHook()]):
            pass


async def test_unknown_name_is_an_error_of_begin() -> None:
    """A value that the graph does not have is refused before a bar is made."""
    bars = Bars()
    with pytest.raises(ValueError, match="no op named 'lost'"):
        async with ah.MonitoredSession(ah.Graph(), [ah.ProgressHook(values=["lost"], bar=bars)]):
            pass
    assert bars.made == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"total": 1.5}, TypeError, "total is to be the last global step, an int, not 1.5"),
        ({"total": True}, TypeError, "total is to be the last global step, an int, not True"),
        ({"total": -1}, ValueError, "total is to be the last global step, from 0, not -1"),
        ({"values": 3}, TypeError, "values is to be a dict of ops by tag"),
        ({"bar": 3}, TypeError, "bar is to be a function that makes a bar"),
        ({"every_secs": -1}, ValueError, "every_secs is to be a number of seconds from 0"),
    ],
)
def test_bad_arguments_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The message names what is wrong and what was expected."""
    with pytest.raises(error, match=message):
        ah.ProgressHook(**arguments)
