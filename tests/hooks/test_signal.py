"""SignalHook: a graceful stop on a signal, an interrupt on the second, the old handlers back."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import pytest
import tenacity

import asynchooks as ah
from asynchooks.testing import Cancel, Fail, Sweep, Trial
from tests.hooks.conftest import Lines

ROOT = Path(__file__).parents[2]
SIGNALS = [signal.SIGTERM, signal.SIGINT]


class Before:
    """The handlers that the process had before the session; keeps the signals that reach them."""

    def __init__(self) -> None:
        self.got: list[int] = []

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        self.got.append(signum)

    def are_back(self) -> bool:
        """Tells whether the handlers are those from before."""
        return [signal.getsignal(each) for each in SIGNALS] == [self, self]


class Ends(ah.SessionRunHook):
    """Keeps how its session ends."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def end(self, session: ah.Session) -> None:
        self.calls.append("end")

    async def close(self, session_end: ah.SessionEnd) -> None:
        self.calls.append(f"close: {session_end.reason}")


@pytest.fixture
def before() -> Iterator[Before]:
    """Handlers of the test, in place of the process's own."""
    handler = Before()
    old = [signal.signal(each, handler) for each in SIGNALS]
    yield handler
    for each, theirs in zip(SIGNALS, old, strict=True):
        signal.signal(each, theirs)


def send(signum: int) -> None:
    """Sends a signal to this process."""
    os.kill(os.getpid(), signum)


async def sends_and_waits(*signals: int) -> None:
    """Sends signals, each once the one before was seen, and waits for ever."""
    for each in signals:
        send(each)
        await anyio.wait_all_tasks_blocked()
    await anyio.sleep_forever()


@pytest.mark.parametrize("signum", SIGNALS)
async def test_first_signal_is_a_stop(before: Before, lines: Lines, signum: signal.Signals) -> None:
    """The run in flight is finished, no other one is made, and the session ends cleanly."""
    runs: list[str] = []

    async def work() -> None:
        send(signum)
        await anyio.wait_all_tasks_blocked()
        runs.append("finished")

    hooks = [hook := ah.SignalHook(grace=math.inf), ends := Ends()]
    async with ah.MonitoredSession(ah.Graph(), hooks) as session:
        while not session.should_stop():
            await session.run(work)
        with pytest.raises(ah.RunAfterStopError):
            await session.run(work)
    assert (runs, ends.calls) == (["finished"], ["end", "close: stopped"])
    assert (before.got, before.are_back(), hook.received) == ([], True, (signum,))
    assert lines.texts == [f"{signum.name} received; a stop is requested"]


@pytest.mark.parametrize(
    ("grace", "signals", "error"),
    [
        (0, [signal.SIGTERM], "SystemExit(143)"),
        (0.01, [signal.SIGINT], "KeyboardInterrupt()"),
        (math.inf, [signal.SIGTERM, signal.SIGTERM], "SystemExit(143)"),
        (math.inf, [signal.SIGTERM, signal.SIGINT], "KeyboardInterrupt()"),
        (math.inf, [signal.SIGINT, signal.SIGTERM], "SystemExit(143)"),
    ],
)
async def test_run_is_interrupted(
    before: Before, lines: Lines, grace: float, signals: list[signal.Signals], error: str
) -> None:
    """After the grace time, or at a second signal, the run raises what the last signal stands for.

    The session does not end cleanly, and a further signal reaches the handlers from before.
    """
    hook, ends = ah.SignalHook(grace=grace), Ends()
    with pytest.raises((SystemExit, KeyboardInterrupt)) as caught:
        async with ah.MonitoredSession(ah.Graph(), [hook, ends]) as session:
            try:
                await session.run(lambda: sends_and_waits(*signals))
            finally:
                assert before.are_back()
                send(signal.SIGTERM)
    assert repr(caught.value) == error
    assert ends.calls == ["close: failed"]
    assert (before.got, hook.received) == ([signal.SIGTERM], tuple(signals))
    assert lines.texts == [
        f"{signals[0].name} received; a stop is requested",
        f"the runs in flight are interrupted on {signals[-1].name}",
    ]


async def test_all_runs_in_flight_are_interrupted(before: Before) -> None:
    """Every caller gets the error, also one that catches it and runs again."""
    raised: list[str] = []

    async def caller(session: ah.MonitoredSession) -> None:
        for _ in range(2):
            try:
                await session.run(anyio.sleep_forever)
            except SystemExit as error:
                raised.append(repr(error))

    hook = ah.SignalHook(grace=0)
    with pytest.raises(SystemExit):
        async with (
            ah.MonitoredSession(ah.Graph(), [hook]) as session,
            anyio.create_task_group() as group,
        ):
            for _ in range(3):
                group.start_soon(caller, session)
            await anyio.wait_all_tasks_blocked()
            send(signal.SIGTERM)
    assert raised == ["SystemExit(143)"] * 6


async def test_body_between_runs_keeps_its_time(before: Before) -> None:
    """The grace time ends runs only: a block that does something else comes to its clean end."""
    hooks = [ah.SignalHook(grace=0), ends := Ends()]
    async with ah.MonitoredSession(ah.Graph(), hooks) as session:
        send(signal.SIGTERM)
        await anyio.wait_all_tasks_blocked()
        assert session.should_stop()
    assert (ends.calls, before.got) == (["end", "close: stopped"], [])


async def test_second_signal_without_a_run(before: Before) -> None:
    """Where there is no run to interrupt, the second signal does what it does without the hook."""
    async with ah.MonitoredSession(ah.Graph(), [hook := ah.SignalHook()]) as session:
        send(signal.SIGTERM)
        await anyio.wait_all_tasks_blocked()
        assert (session.should_stop(), before.got) == (True, [])
        send(signal.SIGINT)
        await anyio.wait_all_tasks_blocked()
        assert (before.got, before.are_back()) == ([signal.SIGINT], True)
    assert hook.received == (signal.SIGTERM, signal.SIGINT)


@pytest.mark.parametrize("at", ["begin", "after_create_session", "end", "close"])
async def test_signals_outside_runs(before: Before, at: str) -> None:
    """While the session is entered or closed, the first signal is a stop, the second gets through.

    The grace time ends nothing there, as there is no run.
    """
    got: list[list[int]] = []

    async def send_both(*args: object) -> None:
        for signum in SIGNALS:
            send(signum)
            await anyio.wait_all_tasks_blocked()
            got.append(list(before.got))

    hook = type("Signalled", (ah.SessionRunHook,), {at: send_both})()
    async with ah.MonitoredSession(ah.Graph(), [ah.SignalHook(grace=0), hook]) as session:
        assert session.should_stop() is (at in {"begin", "after_create_session"})
    assert (got, before.are_back()) == ([[], [signal.SIGINT]], True)


async def test_wait_for_recovery_ends(before: Before) -> None:
    """A signal while the session waits for a recovery has it make one more attempt at once."""
    attempts: list[int] = []

    async def work() -> None:
        attempts.append(1)
        send(signal.SIGTERM)
        raise ah.UnavailableError("down")

    recovery = ah.Recovery(wait=tenacity.wait_fixed(3600))
    with pytest.raises(ah.RecoveryError):
        async with ah.MonitoredSession(ah.Graph(), [ah.SignalHook()], recovery=recovery) as session:
            await session.run(work)
    assert (len(attempts), before.are_back()) == (2, True)


async def test_signal_during_recovery_is_no_run_to_interrupt(before: Before) -> None:
    """While there is no generation, the second signal reaches the handler from before."""
    created: list[int] = []

    class Creating(ah.SessionRunHook):
        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            created.append(1)
            for signum in SIGNALS if len(created) == 2 else []:
                send(signum)
                await anyio.wait_all_tasks_blocked()

    planned = [ah.AbortedError("lost"), None]

    async def work() -> None:
        if error := planned.pop(0):
            raise error

    recovery = ah.Recovery(wait=tenacity.wait_none())
    hooks = [ah.SignalHook(grace=0), Creating()]
    async with ah.MonitoredSession(ah.Graph(), hooks, recovery=recovery) as session:
        await session.run(work)
        assert session.should_stop()
    assert (before.got, before.are_back(), planned) == ([signal.SIGINT], True, [])


def test_handlers_of_the_asyncio_loop_are_kept(before: Before) -> None:
    """A handler of asyncio's own hears the signals beside the hook, and after it."""
    heard: list[str] = []

    async def main() -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, heard.append, "loop")
        async with ah.MonitoredSession(ah.Graph(), [ah.SignalHook()]) as session:
            send(signal.SIGTERM)
            await anyio.wait_all_tasks_blocked()
            heard.append(f"session stops: {session.should_stop()}")
        send(signal.SIGTERM)
        await anyio.wait_all_tasks_blocked()

    anyio.run(main)
    assert heard == ["loop", "session stops: True", "loop"]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
async def test_sessions_share_the_signals(before: Before, order: list[int]) -> None:
    """All open sessions stop, and the handlers come back with the last one that is closed."""
    sessions = [ah.MonitoredSession(ah.Graph(), [ah.SignalHook()]) for _ in range(2)]
    for session in sessions:
        await session.__aenter__()
    send(signal.SIGTERM)
    await anyio.wait_all_tasks_blocked()
    assert [session.should_stop() for session in sessions] == [True, True]
    back: list[bool] = []
    for index in order:
        await sessions[index].close()
        back.append(before.are_back())
    assert (back, before.got) == ([False, True], [])


async def test_hook_is_used_again(before: Before) -> None:
    """A second session with the same hook knows nothing of the signals of the first."""
    hook, received = ah.SignalHook([signal.SIGTERM], grace=math.inf), []
    for _ in range(2):
        async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
            received.append(hook.received)
            assert not session.should_stop()
            assert signal.getsignal(signal.SIGINT) is before
            send(signal.SIGTERM)
            await anyio.wait_all_tasks_blocked()
            assert session.should_stop()
    assert (received, hook.received) == ([(), ()], (signal.SIGTERM,))


@pytest.mark.parametrize("at", ["begin", "after_create_session", "before_run", "end", "close"])
async def test_handlers_come_back_after_an_error(before: Before, at: str) -> None:
    """Whichever call of another hook fails, the handlers from before are back."""

    async def fail(*args: object) -> None:
        raise ValueError(at)

    hook = type("Failing", (ah.SessionRunHook,), {at: fail})()
    with pytest.raises(ValueError, match=at):
        async with ah.MonitoredSession(ah.Graph(), [ah.SignalHook(), hook]) as session:
            await session.run(lambda: None)
    assert before.are_back()


async def test_handlers_come_back_after_a_cancellation(before: Before) -> None:
    """A session that is cancelled gives the signals back, too."""
    with anyio.CancelScope() as scope:
        async with ah.MonitoredSession(ah.Graph(), [ah.SignalHook()]):
            scope.cancel()
            await anyio.sleep_forever()
    assert before.are_back()


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_other_threads_are_refused(loop: str) -> None:
    """An event loop outside the main thread cannot get signals, which `begin` says."""
    raised: list[BaseException] = []

    async def enter() -> None:
        async with ah.MonitoredSession(ah.Graph(), [ah.SignalHook()]):
            pass

    def run() -> None:
        try:
            anyio.run(enter, backend=loop)
        except RuntimeError as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="worker")
    thread.start()
    thread.join()
    [error] = raised
    assert str(error) == (
        "signals are handled in the main thread of Python only, and this is thread 'worker'; run "
        "the event loop in the main thread, or leave SignalHook out"
    )


async def test_foreign_handler_is_not_replaced(
    before: Before, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler that Python could not put back stays, and so do those of the other signals."""
    known = signal.getsignal
    monkeypatch.setattr(
        signal, "getsignal", lambda signum: None if signum == signal.SIGINT else known(signum)
    )
    with pytest.raises(RuntimeError, match="SIGINT has a handler that was not set by Python"):
        async with ah.MonitoredSession(ah.Graph(), [ah.SignalHook()]):
            pass
    monkeypatch.undo()
    assert before.are_back()


async def test_hook_outside_a_session_is_refused(before: Before) -> None:
    """A hook that is begun by hand has no session to stop."""
    with pytest.raises(ah.LifecycleError, match="is begun by a MonitoredSession only"):
        await ah.SignalHook().begin()
    assert before.are_back()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"signals": signal.SIGTERM}, TypeError, "signals are to be a list of signals of"),
        ({"signals": "SIGTERM"}, TypeError, "signals are to be a list of signals of"),
        ({"signals": None}, TypeError, "not None"),
        ({"signals": ["SIGTERM"]}, TypeError, r"members of `signal.Signals`, not 'SIGTERM'"),
        ({"signals": [15]}, TypeError, "not 15"),
        ({"signals": []}, ValueError, "SignalHook takes at least one signal"),
        ({"signals": [signal.SIGKILL]}, ValueError, "SIGKILL cannot be handled"),
        ({"grace": -1}, ValueError, "grace is to be a number of seconds from 0, not -1"),
        ({"grace": None}, TypeError, "grace is to be a number of seconds, not None"),
    ],
)
def test_bad_arguments_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The message names what is wrong and what was expected."""
    with pytest.raises(error, match=message):
        ah.SignalHook(**options)


CHILD = """
    import signal, sys
    import anyio
    import asynchooks as ah

    class End(ah.SessionRunHook):
        async def end(self, session):
            print("end", flush=True)

        async def close(self, session_end):
            print("closed:", session_end.reason, flush=True)

    def own(signum, frame):
        pass

    async def work():
        print("started", flush=True)
        await anyio.sleep({seconds})
        print("finished", flush=True)

    async def main():
        if {own}:
            signal.signal(signal.SIGTERM, own)
        hooks = [ah.SignalHook(grace={grace}), End()]
        async with ah.MonitoredSession(ah.Graph(), hooks) as session:
            while not session.should_stop():
                await session.run(work)
        if {own}:
            print("own handler:", signal.getsignal(signal.SIGTERM) is own, flush=True)

    anyio.run(main, backend=sys.argv[1])
"""


def signalled(loop: str, *signals: int, **values: object) -> tuple[list[str], int]:
    """Sends signals to a child in its first run; returns its lines and its exit code."""
    code = textwrap.dedent(CHILD.format(**values))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", code, loop],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline()]
        for each in signals:
            child.send_signal(each)
        lines += child.stdout.readlines()
    return [line.strip() for line in lines], child.returncode


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_process_drains_on_sigterm(loop: str) -> None:
    """C74: the run is finished, none is made after it, the process ends with exit code 0."""
    lines, code = signalled(loop, signal.SIGTERM, seconds=0.2, own=True, grace=2)
    assert lines == ["started", "finished", "end", "closed: stopped", "own handler: True"]
    assert code == 0


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
@pytest.mark.parametrize(
    ("signum", "expected"), [(signal.SIGTERM, 143), (signal.SIGINT, -signal.SIGINT)]
)
def test_process_that_is_interrupted(loop: str, signum: int, expected: int) -> None:
    """When the grace time is over, the process ends as its supervisor expects of the signal."""
    lines, code = signalled(loop, signum, seconds=3600, own=False, grace=0)
    assert (lines, code) == (["started", "closed: failed"], expected)


@pytest.mark.parametrize(
    "fault",
    [
        Cancel("scope"),
        pytest.param(Cancel("native"), marks=pytest.mark.native),
        Fail(ValueError),
        Fail(ah.AbortedError),
    ],
    ids=str,
)
@pytest.mark.parametrize("signals", [0, 1])
async def test_handlers_come_back_from_every_point(
    before: Before, fault: Cancel | Fail, signals: int
) -> None:
    """Wherever a session is cancelled or fails, signalled or not, the handlers are back."""

    async def program(trial: Trial) -> None:
        async def work() -> None:
            await trial.pause("run")
            for each in SIGNALS[:signals]:
                send(each)
                await trial.pause("signalled")

        async with ah.MonitoredSession(ah.Graph(), [ah.SignalHook()]) as session:
            await trial.pause("body")
            await session.run(work)

    sweep = Sweep(fault)
    for trial in sweep:
        await trial.run(program, trial)
        assert before.are_back(), trial
    assert sweep.points > 1
