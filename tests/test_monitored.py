"""The monitored session: entering, running, stopping, closing, reported errors, generations."""

from __future__ import annotations

import contextlib
import gc
import logging
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import anyio
import pytest
import tenacity

import asynchooks as ah


def recovery(number: int = 5, wait: Any = None) -> ah.Recovery:
    """Returns a recovery that gives up with the n-th attempt, by default without waiting."""
    stop = tenacity.stop_after_attempt(number)
    return ah.Recovery(stop=stop, wait=wait or tenacity.wait_none())


class Log(ah.SessionRunHook):
    """Logs its beginning, its generations and its end."""

    def __init__(self, name: str = "A", log: list[str] | None = None) -> None:
        self.name = name
        self.log: list[str] = [] if log is None else log
        self.ends: list[ah.SessionEnd] = []

    async def begin(self) -> None:
        self.log.append(f"{self.name}.begin")
        await anyio.lowlevel.checkpoint()

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        self.log.append(f"{self.name}.set up")
        await anyio.lowlevel.checkpoint()

    async def end(self, session: ah.Session) -> None:
        self.log.append(f"{self.name}.end")
        await anyio.lowlevel.checkpoint()

    async def close(self, session_end: ah.SessionEnd) -> None:
        self.ends.append(session_end)
        self.log.append(f"{self.name}.close {session_end.reason}")


def fails(*errors: BaseException | None) -> Callable[[], Any]:
    """Returns an async function whose n-th call raises the n-th error; later ones give 7."""
    planned = list(errors)

    async def op() -> int:
        error = planned.pop(0) if planned else None
        if error is not None:
            raise error
        return 7

    return op


async def test_session_takes_the_default_graph() -> None:
    """Without an argument the session runs the default graph of where it was made."""
    with ah.Graph().as_default() as graph:
        x = ah.constant(1)
        session = ah.MonitoredSession()
    assert session.graph is graph
    async with session as entered:
        assert entered is session
        assert await session.run(x) == 1


async def test_hooks_may_add_ops_in_begin() -> None:
    """In begin the session's graph is the default one, and open."""
    with ah.Graph().as_default() as graph:
        x = ah.constant(1)

    class Adds(ah.SessionRunHook):
        async def begin(self) -> None:
            assert ah.get_default_graph() is graph
            self.op = ah.op(lambda x: x + 1)(ah.get_default_graph().get_operation_by_name(x.name))

        async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs:
            return ah.SessionRunArgs(self.op)

        async def after_run(
            self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
        ) -> None:
            self.got = run_values.results

    hook = Adds()
    async with ah.MonitoredSession(graph, [hook]) as session:
        assert ah.get_default_graph() is not graph
        await session.run([])
    assert hook.got == 2


async def test_session_that_was_stopped_before_it_was_entered() -> None:
    """A stop may be asked for at any time: then no run is made, and `end` is called."""
    hook = Log()
    session = ah.MonitoredSession(ah.Graph(), [hook])
    session.request_stop()
    assert session.should_stop()
    async with session:
        assert session.should_stop()
        with pytest.raises(ah.RunAfterStopError):
            await session.run([])
    assert hook.log == ["A.begin", "A.set up", "A.end", "A.close stopped"]


async def test_session_that_is_closed_should_stop() -> None:
    """After close a loop of runs ends."""
    session = ah.MonitoredSession(ah.Graph())
    assert not session.should_stop()
    async with session:
        assert not session.should_stop()
        await session.close()
        assert session.should_stop()
    assert session.should_stop()


async def test_session_that_was_never_entered_can_be_closed() -> None:
    """Closing it calls no hook and makes entering impossible."""
    hook = Log()
    session = ah.MonitoredSession(ah.Graph(), [hook])
    await session.close()
    await session.close()
    with pytest.raises(ah.SessionClosedError):
        await session.__aenter__()
    assert hook.log == []


@pytest.mark.parametrize("turns", range(12))
async def test_close_at_any_point_of_entering(turns: int) -> None:
    """A session that is closed while it is entered ends, and each begun hook is closed once."""
    log: list[str] = []
    session = ah.MonitoredSession(ah.Graph(), [Log("A", log), Log("B", log)])
    outcome: list[str] = []

    async def enter() -> None:
        try:
            async with session:
                outcome.append("entered")
                while not session.should_stop():
                    await anyio.sleep(0.001)
        except ah.SessionClosedError:
            outcome.append("refused")

    with anyio.fail_after(2):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(enter)
            for _ in range(turns + 1):
                await anyio.lowlevel.checkpoint()
            await session.close()
    assert outcome in (["entered"], ["refused"])
    for name in "AB":
        begun, closed = (
            [line for line in log if line.startswith(f"{name}.{method}")]
            for method in ("begin", "close")
        )
        assert len(begun) == len(closed) <= 1
    ends = [line for line in log if line.endswith("end")]
    assert ends == (["A.end", "B.end"] if outcome == ["entered"] else [])


async def test_two_tasks_close_one_session() -> None:
    """Whoever closes second waits until the first is done; everything happens once."""
    hook = Log()
    session = await ah.MonitoredSession(ah.Graph(), [hook]).__aenter__()
    seen: list[bool] = []

    async def close() -> None:
        await session.close()
        seen.append(any("close" in line for line in hook.log))

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(close)
    assert seen == [True] * 3
    assert hook.log == ["A.begin", "A.set up", "A.end", "A.close completed"]


async def test_leaving_while_another_task_closes() -> None:
    """The block is left when closing is done, and the end of the input is no error then either."""
    hook = Log()
    session = ah.MonitoredSession(ah.Graph(), [hook])
    async with anyio.create_task_group() as tasks, session:
        tasks.start_soon(session.close)
        while not session.should_stop():
            await anyio.lowlevel.checkpoint()
        raise ah.OutOfRangeError
    assert hook.log == ["A.begin", "A.set up", "A.end", "A.close completed"]


async def test_closing_waits_for_runs_in_flight() -> None:
    """A run that is under way is finished before the hooks' end, with all that belongs to it."""
    log: list[str] = []
    go = anyio.Event()

    class Sees(Log):
        async def after_run(
            self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
        ) -> None:
            self.log.append("A.after_run")

    async def run() -> None:
        log.append(str(await session.run([slow])))

    async def slow() -> str:
        await go.wait()
        return "done"

    session = await ah.MonitoredSession(ah.Graph(), [Sees("A", log)]).__aenter__()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(session.close)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(ah.SessionClosedError):
            await session.run([])
        go.set()
    assert sorted(log) == sorted(
        ["A.begin", "A.set up", "A.after_run", "['done']", "A.end", "A.close completed"]
    )
    assert log.index("A.after_run") < log.index("A.end")


async def test_closing_ends_runs_that_hang(caplog: pytest.LogCaptureFixture) -> None:
    """A run that does not end within close_timeout is interrupted, and raises the closed error."""
    errors: list[BaseException] = []

    async def run() -> None:
        with pytest.raises(ah.SessionClosedError, match="while this run was in flight") as caught:
            await session.run(anyio.sleep_forever)
        errors.append(caught.value)

    hook = Log()
    session = await ah.MonitoredSession(ah.Graph(), [hook], close_timeout=0.01).__aenter__()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        await session.close()
    assert len(errors) == 1
    assert "a run in flight did not finish within 0.01 s" in caplog.text
    assert hook.log[-1] == "A.close completed"


async def test_failing_ends_runs_at_once() -> None:
    """When the block fails, runs of other tasks are interrupted without waiting."""
    ended: list[str] = []

    async def run() -> None:
        try:
            await session.run(anyio.sleep_forever)
        except ah.SessionClosedError:
            ended.append("closed")

    session = await ah.MonitoredSession(ah.Graph()).__aenter__()
    error = ValueError("body")
    with anyio.fail_after(2):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await anyio.wait_all_tasks_blocked()
            await session.__aexit__(type(error), error, None)
    assert ended == ["closed"]


async def test_entered_in_one_task_and_left_in_another() -> None:
    """Enter, run and leave may each happen in a task of its own."""
    hook = Log()
    session = ah.MonitoredSession(ah.Graph(), [hook])
    got: list[Any] = []

    async def run() -> None:
        got.append(await session.run([lambda: 7]))

    for step in (session.__aenter__, run, session.close):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(step)
    assert got == [[7]]
    assert hook.log == ["A.begin", "A.set up", "A.end", "A.close completed"]


async def test_generations_see_the_context_of_entering() -> None:
    """after_create_session runs in a task of its own, with the context in which it was entered."""
    user: ContextVar[str] = ContextVar("user", default="nobody")
    seen: list[tuple[str, bool]] = []

    class Sees(ah.SessionRunHook):
        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            seen.append((user.get(), anyio.get_current_task().id == entering))

    entering = anyio.get_current_task().id
    user.set("entering")
    async with ah.MonitoredSession(ah.Graph(), [Sees()], recovery=recovery()) as session:
        user.set("running")
        assert await session.run(fails(ah.AbortedError("lost"))) == 7
    assert seen == [("entering", False)] * 2


@pytest.mark.parametrize("kind", ["raw", "coordinator"])
async def test_parts_of_the_current_generation(kind: str) -> None:
    """Raw session and coordinator are those of the live generation, and are gone after it."""
    async with ah.MonitoredSession(ah.Graph(), recovery=recovery()) as session:

        def part() -> object:
            return session.session if kind == "raw" else session.coordinator

        first = part()
        assert part() is first
        await session.run(fails(ah.AbortedError("lost")))
        assert part() is not first
    with pytest.raises(ah.SessionClosedError):
        part()


async def test_session_without_generation_says_so() -> None:
    """After recovery gave up there is no raw session; the next run tries to make one."""
    refuse = [False, True, True, False]

    class Creator:
        @asynccontextmanager
        async def create_session(
            self, graph: ah.Graph, state: ah.SessionState
        ) -> AsyncIterator[ah.Session]:
            if refuse.pop(0):
                raise ah.UnavailableError("refused")
            async with ah.Session(graph, state) as session:
                yield session

    async with ah.MonitoredSession(
        ah.Graph(), session_creator=Creator(), recovery=recovery(3)
    ) as session:
        with pytest.raises(ah.RecoveryError) as caught:
            await session.run(fails(ah.AbortedError("lost")))
        assert [str(error) for error in caught.value.attempts] == ["lost", "refused", "refused"]
        with pytest.raises(ah.LifecycleError, match="no generation: recovery gave up"):
            session.session  # noqa: B018
        assert not session.should_stop()
        assert await session.run([lambda: 7]) == [7]
    assert refuse == []


async def test_state_survives_generations() -> None:
    """Variables and global step go on where the lost generation's last commit was."""
    with ah.Graph().as_default() as graph:
        total = ah.Variable(0)
        add = total.assign_add(1)
        step = ah.get_or_create_global_step()
        lose = ah.op(fails(None, ah.AbortedError("lost")))(*[])
    async with ah.MonitoredSession(graph, recovery=recovery()) as session:
        await session.run([add, lose])
        assert await session.run([add, lose]) == [2, 7]
        assert await session.session.run([total, step]) == [2, 2]


async def test_every_caller_gets_an_error_of_its_own() -> None:
    """When recovery gives up under several runs, each raises its own error of the same attempts."""
    errors: list[ah.RecoveryError] = []
    refuses = [False]

    class Creator:
        @asynccontextmanager
        async def create_session(
            self, graph: ah.Graph, state: ah.SessionState
        ) -> AsyncIterator[ah.Session]:
            if refuses[0]:
                raise ah.UnavailableError("refused")
            async with ah.Session(graph, state) as session:
                yield session

    async def run() -> None:
        with pytest.raises(ah.RecoveryError) as caught:
            await session.run(fails(ah.AbortedError("lost")))
        errors.append(caught.value)

    session = ah.MonitoredSession(ah.Graph(), session_creator=Creator(), recovery=recovery(3))
    async with session:
        refuses[0] = True
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(run)
        refuses[0] = False
    first, *others = errors
    assert [str(error) for error in first.attempts] == ["lost", "refused", "refused"]
    for other in others:
        assert other is not first
        assert other.attempts == first.attempts
        assert other.__cause__ is first.__cause__ is first.attempts[-1]


async def test_step_function_gets_the_session_and_its_result_is_returned() -> None:
    """Whatever is called with one argument and returns an awaitable is a step function."""

    class Step:
        async def __call__(self, anything: ah.StepContext) -> Any:
            raw = await anything.session.run([lambda: "raw"])
            hooked = await anything.run_with_hooks({"a": lambda: "hooked"})
            return raw, hooked, anything.stop_requested

    async with ah.MonitoredSession(ah.Graph()) as session:
        assert await session.run_step_fn(Step()) == (["raw"], {"a": "hooked"}, False)
        assert await session.run_step_fn(lambda step: step.session.run([])) == []


async def test_step_function_may_stop_and_be_left() -> None:
    """request_stop() leaves the step function, and the block as a clean end."""
    hook = Log()
    log: list[str] = []

    async def step(context: ah.StepContext) -> None:
        log.append("step")
        context.request_stop()
        log.append("never")

    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        while not session.should_stop():
            await session.run_step_fn(step)
        log.append("never")
    assert log == ["step"]
    assert hook.log[-2:] == ["A.end", "A.close stopped"]


async def test_stop_iteration_out_of_a_plain_step_function() -> None:
    """StopIteration out of a plain step function is the end of the input."""

    def step(context: ah.StepContext) -> Any:
        raise StopIteration

    hook = Log()
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        await session.run_step_fn(step)
    assert hook.log[-1] == "A.close out of input"


async def test_step_function_that_was_stopped_and_lost_goes_on() -> None:
    """A step that is repeated after a stop may still run, though others may not."""
    attempts: list[bool] = []

    async def step(context: ah.StepContext) -> Any:
        attempts.append(context.stop_requested)
        if len(attempts) == 1:
            session.request_stop()
            raise ah.AbortedError("lost")
        return await context.run_with_hooks([lambda: 7])

    async with ah.MonitoredSession(ah.Graph(), recovery=recovery()) as session:
        assert await session.run_step_fn(step) == [7]
        with pytest.raises(ah.RunAfterStopError):
            await session.run([])
    assert attempts == [False, True]


async def test_step_function_in_flight_does_not_see_a_later_stop_as_its_own() -> None:
    """A stop in a step's first attempt ends its further runs with hooks."""

    async def step(context: ah.StepContext) -> None:
        session.request_stop()
        assert context.stop_requested
        with pytest.raises(ah.RunAfterStopError, match="run_with_hooks"):
            await context.run_with_hooks([])
        assert await context.session.run([lambda: 7]) == [7]

    async with ah.MonitoredSession(ah.Graph()) as session:
        await session.run_step_fn(step)


@pytest.mark.parametrize("error", [ValueError("reported"), KeyboardInterrupt("reported")])
async def test_reported_error_is_raised_by_whatever_is_asked(error: BaseException) -> None:
    """should_stop, run and run_step_fn raise an error that was reported, before any hook."""
    log: list[str] = []

    class Sees(Log):
        async def before_run(self, run_context: ah.SessionRunContext) -> None:
            self.log.append("before_run")

    with pytest.raises(type(error)) as left:
        async with ah.MonitoredSession(ah.Graph(), [Sees("A", log)]) as session:
            session.coordinator.request_stop(error)
            for use in (
                session.should_stop,
                lambda: session.run([]),
                lambda: session.run_step_fn(lambda step: step.run_with_hooks([])),
            ):
                with pytest.raises(type(error)) as caught:
                    await use()
                assert caught.value is error
    assert left.value is error
    assert log == ["A.begin", "A.set up", "A.close failed"]


async def test_reported_end_of_the_input_is_a_clean_stop() -> None:
    """The end of the input reported to the coordinator stops, and ends the session normally."""
    hook = Log()
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        session.coordinator.request_stop(ah.OutOfRangeError("reported"))
        assert session.should_stop()
        with pytest.raises(ah.OutOfRangeError, match="reported"):
            await session.run([])
    assert hook.log[-2:] == ["A.end", "A.close out of input"]


async def test_reported_loss_is_left_to_the_next_run() -> None:
    """A recoverable error that was reported does not stop; the next run recovers first."""
    hook = Log()
    async with ah.MonitoredSession(ah.Graph(), [hook], recovery=recovery()) as session:
        session.coordinator.request_stop(ah.AbortedError("reported"))
        assert not session.should_stop()
        assert await session.run([lambda: 7]) == [7]
    assert hook.log == ["A.begin", "A.set up", "A.set up", "A.end", "A.close completed"]


async def test_plain_stop_on_the_coordinator_holds_for_the_session() -> None:
    """A stop asked of one generation's coordinator survives it."""
    async with ah.MonitoredSession(ah.Graph(), recovery=recovery()) as session:
        session.coordinator.request_stop()
        session.coordinator.request_stop(ah.AbortedError("lost"))
        assert session.should_stop()
        with pytest.raises(ah.RunAfterStopError):
            await session.run([])


async def test_stop_can_be_taken_back_on_the_coordinator() -> None:
    """clear_stop() of the coordinator makes runs possible again."""
    async with ah.MonitoredSession(ah.Graph()) as session:
        session.request_stop()
        session.coordinator.clear_stop()
        assert not session.should_stop()
        assert await session.run([]) == []


async def test_run_in_flight_is_interrupted_by_a_reported_error() -> None:
    """A run that waits for ever ends with the error, its ops cleaned up."""
    log: list[str] = []

    async def hangs() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            log.append("clean")

    async def reports(session: ah.MonitoredSession) -> None:
        await anyio.wait_all_tasks_blocked()
        session.coordinator.request_stop(ValueError("reported"))

    with pytest.raises(ValueError, match="reported"):
        async with ah.MonitoredSession(ah.Graph()) as session:
            session.coordinator.start_soon(reports, session)
            with anyio.fail_after(2):
                await session.run([hangs, anyio.sleep_forever])
    assert log == ["clean"]


async def test_run_is_not_interrupted_by_a_plain_stop() -> None:
    """A stop lets the run in flight end as it would have."""

    async def stops() -> int:
        session.request_stop()
        session.coordinator.request_stop()
        await anyio.sleep(0.001)
        return 7

    async with ah.MonitoredSession(ah.Graph()) as session:
        assert await session.run(stops) == 7


async def test_op_that_reports_an_error_itself() -> None:
    """An op that reports an error and goes on does not get it past the session."""

    async def reports() -> int:
        session.coordinator.request_stop(ValueError("reported"))
        return 7

    with pytest.raises(ValueError, match="reported"):
        async with ah.MonitoredSession(ah.Graph()) as session:
            await session.run(reports)
            await session.run([])


async def test_hook_that_reports_a_loss_before_the_run() -> None:
    """A loss that a hook reports in before_run is met before the ops run; the run is repeated."""
    log: list[str] = []

    class Watches(Log):
        async def before_run(self, run_context: ah.SessionRunContext) -> None:
            self.log.append("before_run")
            if self.log.count("before_run") == 1:
                session.coordinator.request_stop(ah.UnavailableError("dead"))

        async def on_run_error(
            self, run_context: ah.SessionRunContext, error: BaseException
        ) -> None:
            self.log.append(f"error {error}")

    ran: list[str] = []
    hooks = [Watches("A", log)]
    async with ah.MonitoredSession(ah.Graph(), hooks, recovery=recovery()) as session:
        await session.run([lambda: ran.append("op")])
    assert ran == ["op"]
    assert log == [
        "A.begin",
        "A.set up",
        "before_run",
        "error dead",
        "A.set up",
        "before_run",
        "A.end",
        "A.close completed",
    ]


async def test_error_reported_in_after_run_does_not_interrupt_the_hooks() -> None:
    """Hooks that look at committed work are not disturbed: the run's result is returned."""
    seen: list[str] = []

    class Reports(ah.SessionRunHook):
        async def after_run(
            self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
        ) -> None:
            session.coordinator.request_stop(ah.AbortedError("reported"))
            await anyio.sleep(0.001)
            seen.append("looked")

    async with ah.MonitoredSession(ah.Graph(), [Reports()], recovery=recovery()) as session:
        first = session.session
        outcome = await session.run([lambda: 7])
        assert outcome == [7]
        assert seen == ["looked"]
        session.request_stop()
    assert first.closed


async def test_end_of_the_input_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """A session that ends with its input says so in one line of the log."""
    with caplog.at_level(logging.INFO, "asynchooks"):
        async with ah.MonitoredSession(ah.Graph()) as session:
            await session.run(fails(ah.OutOfRangeError("no more rows")))
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "the input has ended: no more rows")
    ]


@pytest.mark.parametrize("kind", [None, ValueError, ah.OutOfRangeError, ah.AbortedError])
async def test_closed_session_is_forgotten(kind: type[Exception] | None) -> None:
    """Nothing refers to a session that was left, also after it has failed or was recreated."""

    async def use() -> weakref.ref[ah.MonitoredSession]:
        session = ah.MonitoredSession(ah.Graph(), [Log()], recovery=recovery())
        with contextlib.suppress(ValueError):
            async with session:
                await session.run([lambda: 7])
                await session.run(fails(kind() if kind else None))
        return weakref.ref(session)

    ref = await use()
    gc.collect()
    assert ref() is None


async def test_creator_that_gives_a_session_of_its_own_kind() -> None:
    """A session creator may give a subclass of Session, which hooks and step functions see."""

    class Mine(ah.Session):
        """A session with a name."""

        name = "mine"

    class Creator:
        def create_session(self, graph: ah.Graph, state: ah.SessionState) -> Mine:
            return Mine(graph, state)

    with ah.Graph().as_default() as graph:
        total = ah.Variable(1)
        add = total.assign_add(1)
    async with ah.MonitoredSession(graph, session_creator=Creator()) as session:
        assert isinstance(session.session, Mine)
        assert await session.run(add) == 2


async def test_creation_that_fails_for_good_leaves_entering() -> None:
    """An error of the creator that is not recoverable leaves, and the begun hooks are closed."""
    hook = Log()

    class Creator:
        def create_session(self, graph: ah.Graph, state: ah.SessionState) -> Any:
            raise ValueError("no session")

    session = ah.MonitoredSession(ah.Graph(), [hook], session_creator=Creator())
    with pytest.raises(ValueError, match="no session") as caught:
        async with session:
            pass
    assert hook.log == ["A.begin", "A.close failed"]
    assert hook.ends == [ah.SessionEnd(ah.EndReason.FAILED, caught.value, ah.Phase.CREATE)]


async def test_cancelled_entering_closes_what_has_begun() -> None:
    """A session whose entering is cancelled in its set-up has its hooks closed, and is closed."""
    hook = Log()

    class Hangs(ah.SessionRunHook):
        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            await anyio.sleep_forever()

    session = ah.MonitoredSession(ah.Graph(), [hook, Hangs()])
    with anyio.move_on_after(0.005) as scope:
        await session.__aenter__()
    assert scope.cancelled_caught
    assert hook.log == ["A.begin", "A.set up", "A.close cancelled"]
    assert session.should_stop()


async def test_stragglers_of_a_generation_are_named(caplog: pytest.LogCaptureFixture) -> None:
    """A resource that never closes is cancelled after close_timeout and named in the log."""

    @asynccontextmanager
    async def hangs() -> AsyncIterator[None]:
        try:
            yield
        finally:
            await anyio.sleep_forever()

    with ah.Graph().as_default() as graph:
        ah.resource(hangs)
    hook = Log()
    async with ah.MonitoredSession(graph, [hook], close_timeout=0.01):
        pass
    assert "closing a generation did not finish within 0.01 s" in caplog.text
    assert hook.log[-1] == "A.close completed"


@pytest.mark.parametrize("kind", ["task", "resource"])
async def test_error_of_a_lost_generations_closing_is_logged(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What closing a lost generation raises is in the log, and the run goes on on the next one."""
    exits = iter([ValueError("closing")])

    @asynccontextmanager
    async def opened() -> AsyncIterator[None]:
        try:
            yield
        finally:
            if kind == "resource":
                for error in exits:
                    raise error

    class Starts(ah.SessionRunHook):
        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            coord.start_soon(self.work)

        async def work(self) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                if kind == "task":
                    for error in exits:
                        raise error

    with ah.Graph().as_default() as graph:
        ah.resource(opened)
    async with ah.MonitoredSession(graph, [Starts()], recovery=recovery()) as session:
        await anyio.wait_all_tasks_blocked()
        assert await session.run(fails(ah.AbortedError("lost"))) == 7
    assert "closing" in caplog.text


async def test_run_that_waits_for_recovery_ends_with_close() -> None:
    """Closing during a back-off ends the waiting run with the closed error; `end` is not called."""
    hook = Log()
    outcome: list[BaseException] = []

    async def run() -> None:
        try:
            await session.run(fails(ah.AbortedError("lost")))
        except ah.SessionClosedError as error:
            outcome.append(error)

    waits = recovery(5, tenacity.wait_fixed(60))
    session = await ah.MonitoredSession(ah.Graph(), [hook], recovery=waits).__aenter__()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        await session.close()
    assert len(outcome) == 1
    assert hook.log == ["A.begin", "A.set up", "A.close gave up"]
    assert isinstance(hook.ends[0].error, ah.RecoveryError)


async def test_error_reported_in_the_set_up_interrupts_it() -> None:
    """A task that fails while hooks set up ends the set-up with its error."""
    log: list[str] = []

    class Waits(ah.SessionRunHook):
        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            coord.start_soon(fails(ValueError("task")))
            try:
                await anyio.sleep_forever()
            finally:
                log.append("interrupted")

    with pytest.raises(ValueError, match="task"):
        async with ah.MonitoredSession(ah.Graph(), [Waits()]):
            pass
    assert log == ["interrupted"]


async def test_error_reported_in_end_leaves() -> None:
    """What a hook's end reports to the coordinator is an error of the end."""

    class Reports(Log):
        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            self.coordinator = coord

        async def end(self, session: ah.Session) -> None:
            self.coordinator.request_stop(ValueError("reported"))

    hook = Reports()
    with pytest.raises(ValueError, match="reported") as caught:
        async with ah.MonitoredSession(ah.Graph(), [hook]):
            pass
    assert hook.ends == [ah.SessionEnd(ah.EndReason.FAILED, caught.value, ah.Phase.END)]


async def test_task_that_fails_in_winding_down_leaves() -> None:
    """A background task that fails while the last generation is closed is a clean-up error."""

    class Starts(Log):
        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            coord.start_soon(self.work)

        async def work(self) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                raise ValueError("winding down")

    hook = Starts()
    with pytest.raises(ValueError, match="winding down"):
        async with ah.MonitoredSession(ah.Graph(), [hook]):
            await anyio.wait_all_tasks_blocked()
    assert hook.log == ["A.begin", "A.end", "A.close failed"]


async def test_set_up_and_what_it_entered_both_fail() -> None:
    """The error of the set-up leaves; that of leaving what it had entered is noted on it."""

    @asynccontextmanager
    async def entered() -> AsyncIterator[None]:
        try:
            yield
        finally:
            raise TypeError("exit")

    class Enters(ah.SessionRunHook):
        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            await coord.enter_async_context(entered())
            raise ValueError("set up")

    with pytest.raises(ValueError, match="set up") as caught:
        async with ah.MonitoredSession(ah.Graph(), [Enters()]):
            pass
    assert "also raised: TypeError: exit" in caught.value.__notes__


async def test_loss_that_is_met_by_nobody_is_closed_quietly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What closing a lost generation raises when the block fails is only logged."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[None]:
        try:
            yield
        finally:
            raise TypeError("closing")

    with ah.Graph().as_default() as graph:
        ah.resource(opened)
    with pytest.raises(ValueError, match="body") as caught:
        async with ah.MonitoredSession(graph, recovery=recovery()) as session:
            session.coordinator.request_stop(ah.AbortedError("lost"))
            raise ValueError("body")
    assert not hasattr(caught.value, "__notes__")
    assert "closing a lost generation failed" in caplog.text


async def test_stop_during_recovery_allows_one_more_attempt() -> None:
    """After a stop one more attempt is made at once; if it fails, recovery gives up."""
    calls = 0

    async def lost() -> None:
        nonlocal calls
        calls += 1
        session.request_stop()
        raise ah.AbortedError(f"attempt {calls}")

    waits = recovery(10, tenacity.wait_fixed(60))
    with pytest.raises(ah.RecoveryError) as caught:
        async with ah.MonitoredSession(ah.Graph(), recovery=waits) as session:
            with anyio.fail_after(5):
                await session.run(lost)
    assert [str(error) for error in caught.value.attempts] == ["attempt 1", "attempt 2"]


async def test_lost_session_is_replaced_before_the_hooks_end() -> None:
    """A loss that was reported when the block is left is recovered from, for `end` alone."""
    hook = Log()
    async with ah.MonitoredSession(ah.Graph(), [hook], recovery=recovery()) as session:
        session.coordinator.request_stop(ah.AbortedError("reported"))
    assert hook.log == ["A.begin", "A.set up", "A.set up", "A.end", "A.close completed"]


async def test_session_without_end_is_not_replaced_to_be_left() -> None:
    """Where no hook overrides `end`, a lost session is closed without making another one."""
    created = 0

    class Creator:
        def create_session(self, graph: ah.Graph, state: ah.SessionState) -> ah.Session:
            nonlocal created
            created += 1
            return ah.Session(graph, state)

    async with ah.MonitoredSession(
        ah.Graph(), session_creator=Creator(), recovery=recovery()
    ) as session:
        session.coordinator.request_stop(ah.AbortedError("reported"))
    assert created == 1


async def test_generation_that_never_ends_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    """A generation that does not even end when it is cancelled is named twice, and left behind."""
    release = anyio.Event()

    @asynccontextmanager
    async def stubborn() -> AsyncIterator[None]:
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await release.wait()

    with ah.Graph().as_default() as graph:
        ah.resource(stubborn)
    hook = Log()
    async with ah.MonitoredSession(graph, [hook], close_timeout=0.005):
        pass
    named = "closing a generation did not finish within 0.005 s; closing goes on"
    assert [record.getMessage() for record in caplog.records] == [named] * 2
    assert hook.log[-1] == "A.close completed"
    release.set()
    await anyio.wait_all_tasks_blocked()


async def test_error_of_set_up_keeps_its_cause() -> None:
    """What set-up raises leaves as it was raised, its cause and its context included."""
    cause = KeyError("cause")

    class SetsUp(ah.SessionRunHook):
        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            raise ValueError("set-up") from cause

    with pytest.raises(ValueError, match="set-up") as caught:
        async with ah.MonitoredSession(ah.Graph(), [SetsUp()]):
            pass
    assert caught.value.__cause__ is cause
