"""CheckpointSaverHook: when it saves, what it saves, and what comes of failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
import tenacity

import asynchooks as ah
from tests.checkpoint.disks import Disk, names

QUICK = ah.Recovery(stop=tenacity.stop_after_attempt(5), wait=tenacity.wait_none())


class Store(ah.MemoryStore):
    """Notes the steps that are written, and waits or fails where it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[int] = []
        self.gates: dict[int, anyio.Event] = {}
        self.failing: set[int] = set()
        self.under_way = 0

    async def write(self, step: int, data: bytes) -> None:
        """Writes one at a time."""
        assert self.under_way == 0
        self.under_way += 1
        try:
            if step in self.gates:
                await self.gates[step].wait()
            if step in self.failing:
                self.failing.remove(step)
                raise ah.CheckpointError(self.name_of(step), "no space")
            self.log.append(step)
            await super().write(step, data)
        finally:
            self.under_way -= 1


class Listener(ah.CheckpointSaverListener):
    """Notes its calls, and asks for a stop at a step."""

    def __init__(self, log: list[Any], name: str = "", stop_at: int | None = None) -> None:
        self.log = log
        self.name = name
        self.stop_at = stop_at

    async def begin(self) -> None:
        """Notes it."""
        self.log.append(f"{self.name}begin")

    async def before_save(self, session: ah.Session, global_step_value: int) -> None:
        """Notes it."""
        self.log.append(f"{self.name}before {global_step_value}")

    async def after_save(self, session: ah.Session, global_step_value: int) -> bool:
        """Notes it."""
        self.log.append(f"{self.name}after {global_step_value}")
        return global_step_value == self.stop_at

    async def end(self, session: ah.Session, global_step_value: int) -> None:
        """Notes it."""
        self.log.append(f"{self.name}end {global_step_value}")


async def make_runs(session: ah.MonitoredSession, number: int, fetches: Any = ()) -> None:
    """Makes some runs."""
    for _ in range(number):
        await session.run(fetches)


@pytest.mark.parametrize(
    ("every", "runs", "saved"),
    [(1, 3, [0, 1, 2, 3]), (2, 5, [0, 2, 4, 5]), (2, 4, [0, 2, 4]), (9, 3, [0, 3]), (3, 0, [0])],
)
async def test_saves_every_n_steps(every: int, runs: int, saved: list[int]) -> None:
    """It saves at creation, every n steps, and at the end if the step has moved."""
    store = Store()
    hook = ah.CheckpointSaverHook(store, save_steps=every)
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        await make_runs(session, runs)
    assert store.log == saved


async def test_saves_every_n_seconds() -> None:
    """It saves after a run once the seconds since the last save have passed."""
    store, now = Store(), [0.0]
    hook = ah.CheckpointSaverHook(store, save_secs=10, clock=lambda: now[0])
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        for seconds in (5, 5, 9, 1, 1):
            now[0] += seconds
            await session.run([])
    assert store.log == [0, 2, 4, 5]


@pytest.mark.parametrize(
    ("hooks", "items", "last"),
    [([ah.StopAtStepHook(5)], 9, 5), ([ah.StopAtStepHook(4)], 9, 4), ([], 5, 5)],
)
async def test_c63_final_save_once(hooks: list[ah.SessionRunHook], items: int, last: int) -> None:
    """Case C63: the last step is saved once, under the number that the checkpoint holds."""
    store = Store()
    with ah.Graph().as_default() as graph:
        item = ah.from_iterable(range(items)).get_next()
    saver = ah.CheckpointSaverHook(store, save_steps=2)
    async with ah.MonitoredSession(graph, [*hooks, saver]) as session:
        while not session.should_stop():
            await session.run(item)
    assert store.log == sorted({0, 2, 4, last})
    async with ah.Session(graph) as raw:
        for step in await store.steps():
            await ah.Saver().restore(raw, store, step)
            assert await raw.run("global_step") == step


async def test_session_goes_on_after_a_restart(tmp_path: Path) -> None:
    """A second process starts where the first has stopped, and does not save that step again."""
    for start, end in [(0, 3), (3, 6)]:
        disk = Disk()
        with ah.Graph().as_default() as graph:
            rows = ah.Variable[tuple[int, ...]]((), name="rows")
            item = ah.from_iterable(range(10)).get_next()
            add = rows.assign_add(ah.op(lambda item: (item,))(item))
        store = ah.DirectoryStore(tmp_path, file_system=disk)
        hooks = [ah.StopAtStepHook(last_step=end), ah.CheckpointSaverHook(store, save_steps=2)]
        creator = ah.ChiefSessionCreator(tmp_path)
        async with ah.MonitoredSession(graph, hooks, session_creator=creator) as session:
            while not session.should_stop():
                taken = await session.run(add)
        assert taken == tuple(range(end))
        written = [line.removeprefix("replace ") for line in disk.log if "replace" in line]
        steps = [0, 2, 3] if start == 0 else [5, 6]
        assert written == [f"model.ckpt-{step}.unfinished" for step in steps]


async def test_c66_resume_to_an_absolute_goal() -> None:
    """Case C66: a crash in run 7 of 10 leaves 4 runs to a second start, and none to a third."""
    store, crash = ah.MemoryStore(), [6]
    counts: list[tuple[int, int]] = []

    async def start() -> int:
        runs = 0
        with ah.Graph().as_default() as graph:
            step = ah.get_or_create_global_step()
        final = ah.FinalOpsHook(step)
        hooks = [
            ah.CheckpointSaverHook(store, save_steps=1),
            ah.StopAtStepHook(last_step=10),
            final,
        ]

        def work() -> None:
            if crash and runs == crash[0]:
                crash.clear()
                raise ValueError("crash")

        creator = ah.ChiefSessionCreator(store)
        try:
            async with ah.MonitoredSession(graph, hooks, session_creator=creator) as session:
                while not session.should_stop() and await session.session.run(step) < 10:
                    await session.run(work)
                    runs += 1
        finally:
            counts.append((runs, final.final_ops_values))
        return runs

    with pytest.raises(ValueError, match="crash"):
        await start()
    await start()
    await start()
    assert counts == [(6, None), (4, 10), (0, 10)]


async def test_writing_goes_on_beside_the_runs() -> None:
    """Runs go on while a checkpoint is written; one that is due meanwhile waits its turn."""
    store = Store()
    store.gates[2] = anyio.Event()
    done: list[int] = []
    with ah.Graph().as_default() as graph:
        step = ah.get_or_create_global_step().assign_add(1)
    hook = ah.CheckpointSaverHook(store, save_steps=2)
    async with ah.MonitoredSession(graph, [hook]) as session:

        async def work() -> None:
            while len(done) < 5:
                done.append(await session.run(step))

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            while len(done) < 3:
                await anyio.sleep(0.001)
            await anyio.wait_all_tasks_blocked()
            assert (done, store.log) == ([1, 2, 3], [0])
            store.gates[2].set()
    assert (done, store.log) == ([1, 2, 3, 4, 5], [0, 2, 4, 5])


async def test_overlapping_runs_save_once() -> None:
    """Of runs that are due at once, one saves, under the step that has been reached by then."""
    store = Store()
    store.gates[0] = anyio.Event()
    hook = ah.CheckpointSaverHook(store, save_steps=2)
    async with (
        ah.MonitoredSession(ah.Graph(), [hook]) as session,
        anyio.create_task_group() as group,
    ):
        for _ in range(4):
            group.start_soon(session.run, [])
        await anyio.wait_all_tasks_blocked()
        store.gates[0].set()
    assert store.log == [0, 4]


@pytest.mark.parametrize("runs", [1, 2, 3])
async def test_failed_save_is_raised(runs: int) -> None:
    """A save that has failed is raised by the next run, and the last step is saved all the same."""
    store = Store()
    store.failing = {2}
    hook = ah.CheckpointSaverHook(store, save_steps=2)
    raised: list[str] = []
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        await make_runs(session, 2)
        while store.failing:
            await anyio.sleep(0.001)
        await anyio.wait_all_tasks_blocked()
        for _ in range(runs):
            try:
                await session.run([])
            except ah.CheckpointError as error:
                raised.append(str(error))
    assert raised == [f"checkpoint {store.name_of(2)}: no space"]
    assert store.log == {1: [0, 2], 2: [0, 3], 3: [0, 4]}[runs]


async def test_failed_save_is_raised_at_the_end() -> None:
    """Where no run follows, the end raises it, after one more attempt to save the last step."""
    store = Store()
    store.gates[2], store.failing = anyio.Event(), {2}
    hook = ah.CheckpointSaverHook(store, save_steps=2)
    with pytest.raises(ah.CheckpointError, match="no space"):
        async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
            await make_runs(session, 2)
            store.gates[2].set()
    assert store.log == [0, 2]


async def test_failed_save_is_raised_by_the_next_that_is_due() -> None:
    """A run that waits for a save that fails raises its error."""
    store = Store()
    store.gates[1], store.failing = anyio.Event(), {1}
    hook = ah.CheckpointSaverHook(store, save_steps=1)
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        await session.run([])
        async with anyio.create_task_group() as group:

            async def second() -> None:
                with pytest.raises(ah.CheckpointError, match="no space"):
                    await session.run([])

            group.start_soon(second)
            await anyio.wait_all_tasks_blocked()
            store.gates[1].set()
    assert store.log == [0, 2]


async def test_value_that_cannot_be_saved_is_raised_by_the_run() -> None:
    """The run whose checkpoint cannot be encoded raises it, and the last one stays."""
    store = Store()
    with ah.Graph().as_default() as graph:
        spoiled = ah.Variable[object](None, name="spoiled")
        spoil, mend = spoiled.assign(ah.constant(object())), spoiled.assign(1)
    hook = ah.CheckpointSaverHook(store, save_steps=1)
    async with ah.MonitoredSession(graph, [hook]) as session:
        with pytest.raises(ah.CheckpointError, match="variable 'spoiled': a value of type") as e:
            await session.run(spoil)
        assert e.value.checkpoint == store.name_of(1)
        assert await store.steps() == [0]
        await session.run(mend)
    assert store.log == [0, 2]


async def test_each_generation_is_saved_unless_it_was() -> None:
    """A generation that starts at a step that was saved is not saved again."""
    store = Store()
    losses = [ah.AbortedError("lost"), ah.AbortedError("lost")]

    async def work() -> None:
        raise losses.pop()

    hook = ah.CheckpointSaverHook(store, save_steps=5)
    async with ah.MonitoredSession(ah.Graph(), [hook], recovery=QUICK) as session:
        with pytest.raises(IndexError):
            await session.run(work)
        assert store.log == [0]
        await make_runs(session, 2)
        losses.append(ah.AbortedError("lost"))
        with pytest.raises(IndexError):
            await session.run(work)
        assert await session.session.run("global_step") == 2
        await make_runs(session, 1)
    assert store.log == [0, 2, 3]


async def test_save_outlives_the_generation() -> None:
    """A save under way when the generation is lost comes to its end before the next one saves."""
    store = Store()
    store.gates[1] = anyio.Event()
    losses = [ah.AbortedError("lost")]

    async def work() -> None:
        if losses:
            raise losses.pop()

    hook = ah.CheckpointSaverHook(store, save_steps=1)
    async with ah.MonitoredSession(ah.Graph(), [hook], recovery=QUICK) as session:
        await session.run([])
        async with anyio.create_task_group() as group:
            group.start_soon(session.run, work)
            await anyio.wait_all_tasks_blocked()
            assert losses == []
            store.gates[1].set()
    assert store.log == [0, 1, 2]


async def test_unclean_end_waits_for_the_save() -> None:
    """After an error of the block the save under way ends, and no further one is made."""
    store = Store()
    store.gates[1] = anyio.Event()

    class OpensGate(ah.SessionRunHook):
        async def close(self, session_end: ah.SessionEnd) -> None:
            assert store.log == [0]
            store.gates[1].set()

    hooks = [ah.CheckpointSaverHook(store, save_steps=1), OpensGate()]
    with pytest.raises(ValueError, match="body"):
        async with ah.MonitoredSession(ah.Graph(), hooks) as session:
            await session.run([])
            raise ValueError("body")
    assert store.log == [0, 1]


async def test_save_that_hangs_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    """A store that never answers holds up closing for `close_timeout` seconds and no longer."""
    store = Store()
    store.gates[1] = anyio.Event()
    hook = ah.CheckpointSaverHook(store, save_steps=1)
    with pytest.raises(ValueError, match="body"):
        async with ah.MonitoredSession(ah.Graph(), [hook], close_timeout=0.005) as session:
            await session.run([])
            raise ValueError("body")
    await anyio.wait_all_tasks_blocked()
    assert (store.log, store.under_way) == ([0], 0)
    assert "CheckpointSaverHook.close (hooks[0]) did not finish within 0.005 s" in caplog.text


async def test_cancelled_session_leaves_no_temporary_file(tmp_path: Path) -> None:
    """A session that is cancelled while it saves leaves whole checkpoints and nothing else."""
    hook = ah.CheckpointSaverHook(tmp_path, save_steps=1)
    with anyio.CancelScope() as scope:
        async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
            await session.run([])
            scope.cancel()
            await session.run([])
    assert await names(tmp_path) == ["model.ckpt-0", "model.ckpt-1"]


async def test_listeners_are_called() -> None:
    """Listeners hear of each save in order; after it the checkpoint is kept."""
    log: list[Any] = []
    store = Store()
    store.log = log
    listeners = [Listener(log, "a "), Listener(log, "b "), ah.CheckpointSaverListener()]
    hook = ah.CheckpointSaverHook(store, save_steps=2, listeners=listeners)
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        await make_runs(session, 3)
    saves: list[Any] = []
    for n in (0, 2, 3):
        saves += [f"a before {n}", f"b before {n}", n, f"a after {n}", f"b after {n}"]
    assert log == ["a begin", "b begin", *saves, "a end 3", "b end 3"]


@pytest.mark.parametrize(("stop_at", "runs"), [(0, 0), (2, 2), (9, 3)])
async def test_listener_asks_for_a_stop(stop_at: int, runs: int) -> None:
    """A stop that a listener asks for comes after the run, or at once after creation."""
    listeners = [Listener([], stop_at=stop_at), Listener([])]
    hook = ah.CheckpointSaverHook(Store(), save_steps=1, listeners=listeners)
    made = 0
    async with ah.MonitoredSession(ah.Graph(), [hook]) as session:
        while not session.should_stop() and made < 3:
            await session.run([])
            made += 1
    assert made == runs


async def test_c65_two_savers_one_directory(tmp_path: Path) -> None:
    """Case C65: two hooks that save to one place are refused, in one session or in two."""
    first, second = (ah.CheckpointSaverHook(tmp_path, save_steps=1) for _ in range(2))
    with pytest.raises(ValueError, match="another CheckpointSaverHook saves to") as raised:
        async with ah.MonitoredSession(ah.Graph(), [first, second]):
            pass
    assert str(tmp_path) in str(raised.value)
    other = ah.CheckpointSaverHook(tmp_path, save_steps=1, checkpoint_basename="other")
    async with ah.MonitoredSession(ah.Graph(), [first, other]):
        with pytest.raises(ValueError, match="another CheckpointSaverHook saves to"):
            async with ah.MonitoredSession(ah.Graph(), [second]):
                pass
    async with ah.MonitoredSession(ah.Graph(), [second]):
        pass
    assert await names(tmp_path) == ["model.ckpt-0", "other-0"]


async def test_place_is_free_after_a_listener_has_failed() -> None:
    """A hook that could not begin does not keep its place."""

    class Fails(ah.CheckpointSaverListener):
        async def begin(self) -> None:
            raise ValueError("listener")

    store = Store()
    hook = ah.CheckpointSaverHook(store, save_steps=1, listeners=[Fails()])
    with pytest.raises(ValueError, match="listener"):
        async with ah.MonitoredSession(ah.Graph(), [hook]):
            pass
    async with ah.MonitoredSession(ah.Graph(), [ah.CheckpointSaverHook(store, save_steps=1)]):
        pass
    assert store.log == [0]


async def test_hook_is_used_again() -> None:
    """In a second session the hook starts afresh, whatever the first has saved."""
    store, graph = Store(), ah.Graph()
    hook = ah.CheckpointSaverHook(store, save_steps=1, saver=ah.Saver(max_to_keep=1))
    for _ in range(2):
        async with ah.MonitoredSession(graph, [hook]) as session:
            await session.run([])
    assert store.log == [0, 1, 0, 1]
    assert [op.name for op in graph.get_operations()] == ["global_step"]


class PlainListener(ah.CheckpointSaverListener):
    """A listener that cannot be awaited."""

    def end(self, session: ah.Session, global_step_value: int) -> None:  # type: ignore[override]
        """Does nothing."""


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "exactly one of"),
        ({"save_secs": 1, "save_steps": 1}, ValueError, "exactly one of"),
        ({"save_steps": 0}, ValueError, "steps"),
        ({"save_steps": 1, "saver": 3}, TypeError, "saver is to be a Saver or None, not 3"),
        ({"save_steps": 1, "checkpoint_dir": 3}, TypeError, "a directory or a CheckpointStore"),
        ({"save_steps": 1, "checkpoint_basename": ""}, ValueError, "part of a file name"),
        ({"save_steps": 1, "listeners": 3}, TypeError, "are to be a list of listeners, not 3"),
        ({"save_steps": 1, "listeners": "ab"}, TypeError, "are to be a list of listeners"),
        ({"save_steps": 1, "listeners": [3]}, TypeError, "is to be a CheckpointSaverListener"),
        (
            {"save_steps": 1, "listeners": [PlainListener()]},
            TypeError,
            r"PlainListener.end is no async function; make it `async def`",
        ),
    ],
)
def test_bad_hook_is_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    """A bad argument is refused when the hook is made."""
    with pytest.raises(error, match=message):
        ah.CheckpointSaverHook(**{"checkpoint_dir": "d"} | arguments)
