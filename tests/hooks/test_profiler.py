"""ProfilerHook: the timeline of a run in a file, every so many steps or seconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
import tenacity

import asynchooks as ah
from tests.hooks.clocks import Clock
from tests.hooks.conftest import Lines


async def files(directory: Path) -> list[str]:
    """Returns the names of the files in a directory."""
    return sorted([path.name async for path in anyio.Path(directory).iterdir()])


async def events(path: Path, phase: str) -> list[str]:
    """Returns the names of the events of a phase in a file."""
    trace = json.loads(await anyio.Path(path).read_text())
    return [each["name"] for each in trace["traceEvents"] if each["ph"] == phase]


def chain() -> tuple[ah.Graph, ah.Op[Any]]:
    """Makes a graph of two ops."""
    with ah.Graph().as_default() as graph:
        return graph, ah.op(name="double")(lambda x: 2 * x)(ah.constant(3, "three"))


async def profile(hook: ah.ProfilerHook, runs: int, clock: Clock | None = None) -> None:
    """Makes runs of the chain, each of a second on the clock."""
    graph, double = chain()
    async with ah.MonitoredSession(graph, [hook]) as session:
        for _ in range(runs):
            if clock is not None:
                clock.now += 1
            assert await session.run(double) == 6


@pytest.mark.parametrize(("every", "steps"), [(1, [2, 3, 4, 5, 6]), (2, [2, 4, 6]), (9, [])])
async def test_file_every_so_many_steps(tmp_path: Path, every: int, steps: list[int]) -> None:
    """As in TensorFlow, the period starts at the first run, whose step is the one before it."""
    await profile(ah.ProfilerHook(every, output_dir=tmp_path), 6)
    assert await files(tmp_path) == [f"timeline-{step}.json" for step in steps]


async def test_file_every_so_many_seconds(tmp_path: Path) -> None:
    """The period in seconds starts at the first run as well."""
    clock = Clock()
    await profile(ah.ProfilerHook(save_secs=2.5, output_dir=tmp_path, clock=clock), 8, clock)
    assert await files(tmp_path) == ["timeline-4.json", "timeline-7.json"]


@pytest.mark.parametrize(("show_dataflow", "expected"), [(True, 1), (False, 0)])
async def test_file_shows_the_ops(tmp_path: Path, show_dataflow: bool, expected: int) -> None:
    """What the caller asked for, and what came with it, with arrows if they are wanted."""
    await profile(ah.ProfilerHook(2, None, str(tmp_path), show_dataflow), 2)
    path = tmp_path / "timeline-2.json"
    shown = await events(path, "X")
    assert (sorted(shown), shown.index("three") < shown.index("double")) == (
        ["double", "global_step", "global_step/increment", "three"],
        True,
    )
    assert len(await events(path, "s")) == expected


async def test_directory_is_made(tmp_path: Path, lines: Lines) -> None:
    """The directory need not be there, and the log says where the file is."""
    directory = tmp_path / "a" / "b"
    await profile(ah.ProfilerHook(2, output_dir=directory), 2)
    assert lines.texts == [f"the timeline of step 2 is in {directory / 'timeline-2.json'}"]


async def test_directory_that_cannot_be_made(tmp_path: Path) -> None:
    """A file in the place of the directory is an error before any run."""
    await anyio.Path(tmp_path / "taken").touch()
    graph, _ = chain()
    with pytest.raises(FileExistsError, match="taken"):
        async with ah.MonitoredSession(graph, [ah.ProfilerHook(2, output_dir=tmp_path / "taken")]):
            raise AssertionError


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_default_directory_is_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    """Without a directory the files lie where the process works."""
    monkeypatch.chdir(tmp_path)
    anyio.run(profile, ah.ProfilerHook(2), 2, backend=loop)
    assert [path.name for path in tmp_path.iterdir()] == ["timeline-2.json"]


async def test_file_that_cannot_be_written(tmp_path: Path) -> None:
    """The run, whose work is done, raises the error, and no part of a file is left."""
    await anyio.Path(tmp_path / "timeline-2.json").mkdir()
    graph, double = chain()
    async with ah.MonitoredSession(graph, [ah.ProfilerHook(2, output_dir=tmp_path)]) as session:
        await session.run(double)
        with pytest.raises(IsADirectoryError):
            await session.run(double)
        assert await session.session.run("global_step") == 2
    assert await files(tmp_path) == ["timeline-2.json"]


async def test_hook_is_used_again(tmp_path: Path) -> None:
    """A second session with the same hook starts its own period."""
    hook = ah.ProfilerHook(2, output_dir=tmp_path)
    await profile(hook, 2)
    await anyio.Path(tmp_path / "timeline-2.json").unlink()
    await profile(hook, 1)
    assert await files(tmp_path) == []
    await profile(hook, 2)
    assert await files(tmp_path) == ["timeline-2.json"]


async def test_one_file_of_runs_that_overlap(tmp_path: Path) -> None:
    """Of two runs that start when a file is due, the first that ends is written, alone."""
    with ah.Graph().as_default() as graph:
        name = ah.placeholder("name")
        doors = {"slow": anyio.Event(), "fast": anyio.Event()}

        @ah.op
        async def work(which: str) -> None:
            await doors[which].wait()

        worked = work(name)
        marks = {each: ah.constant(each, f"mark_{each}") for each in doors}

    async def run(which: str) -> None:
        await session.run([worked, marks[which]], {name: which})

    hook = ah.ProfilerHook(2, output_dir=tmp_path)
    async with ah.MonitoredSession(graph, [hook]) as session:
        await session.run([])
        async with anyio.create_task_group() as group:
            group.start_soon(run, "slow")
            await anyio.wait_all_tasks_blocked()
            doors["fast"].set()
            await run("fast")
            doors["slow"].set()
    assert await files(tmp_path) == ["timeline-2.json"]
    shown = await events(tmp_path / "timeline-2.json", "X")
    assert {"mark_fast", "mark_slow"} & set(shown) == {"mark_fast"}


async def test_repeated_run_shows_its_last_attempt(tmp_path: Path) -> None:
    """A run that is repeated after a loss shows the attempt that committed."""
    planned = [None, ah.AbortedError("lost"), None]
    with ah.Graph().as_default() as graph:

        @ah.op
        def work() -> None:
            if error := planned.pop(0):
                raise error

        worked = work()
    hook = ah.ProfilerHook(2, output_dir=tmp_path)
    recovery = ah.Recovery(wait=tenacity.wait_none())
    async with ah.MonitoredSession(graph, [hook], recovery=recovery) as session:
        for _ in range(2):
            await session.run(worked)
    assert await files(tmp_path) == ["timeline-2.json"]
    assert (await events(tmp_path / "timeline-2.json", "X")).count("work") == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "ProfilerHook takes exactly one of save_secs and save_steps"),
        ({"save_steps": 1, "save_secs": 1}, ValueError, "exactly one of save_secs and save_steps"),
        ({"save_steps": 0}, ValueError, "save_steps is to be a number of steps from 1, not 0"),
        ({"save_secs": -1}, ValueError, "save_secs is to be a number of seconds from 0, not -1"),
        ({"save_steps": 1, "output_dir": None}, TypeError, "the path of a directory, not None"),
        ({"save_steps": 1, "clock": 3}, TypeError, "clock is to be a function that tells seconds"),
    ],
)
def test_bad_arguments_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The message names what is wrong and what was expected."""
    with pytest.raises(error, match=message):
        ah.ProfilerHook(**options)
