"""MonitoredTrainingSession: a session that restores, saves, counts and writes summaries."""

from __future__ import annotations

from typing import Any

import pytest

import asynchooks as ah
from tests.hooks.conftest import Lines
from tests.hooks.writers import Writer


def stepping_graph() -> tuple[ah.Graph, ah.Op[int]]:
    """Returns a graph that makes steps, with a summary of them."""
    with ah.Graph().as_default() as graph:
        step = ah.get_or_create_global_step().assign_add(1)
        ah.scalar_summary("made", step)
        return graph, step


async def train(last_step: int, **arguments: Any) -> list[int]:
    """Runs to the last step; returns the steps that the runs have led to."""
    graph, step = stepping_graph()
    hooks = [ah.StopAtStepHook(last_step=last_step)]
    made: list[int] = []
    async with ah.MonitoredTrainingSession(graph, hooks=hooks, **arguments) as session:
        while not session.should_stop():
            made.append(await session.run(step))
    return made


async def test_training_goes_on_where_it_was_saved() -> None:
    """A second session on the same directory starts at the step at which the first one ended."""
    store = ah.MemoryStore()
    assert await train(3, checkpoint_dir=store) == [1, 2, 3]
    assert await train(5, checkpoint_dir=store) == [4, 5]
    assert sorted(await store.steps()) == [0, 3, 5]


@pytest.mark.parametrize(
    ("periods", "saved"),
    [
        ({}, [0, 4]),
        ({"save_checkpoint_secs": 3600}, [0, 4]),
        ({"save_checkpoint_secs": 0}, [0, 1, 2, 3, 4]),
        ({"save_checkpoint_steps": 3}, [0, 3, 4]),
        ({"save_checkpoint_secs": None}, []),
        ({"save_checkpoint_secs": None, "save_checkpoint_steps": 2}, [0, 2, 4]),
        ({"save_checkpoint_secs": None, "save_checkpoint_steps": None}, []),
    ],
)
async def test_periods_of_checkpoints(periods: dict[str, Any], saved: list[int]) -> None:
    """Every 600 s unless a period is given; None for what is given is no checkpoint at all."""
    store = ah.MemoryStore()
    await train(4, checkpoint_dir=store, **periods)
    assert sorted(await store.steps()) == saved


async def test_saver_says_how_many_checkpoints_are_kept() -> None:
    """The saver that is given retains the checkpoints."""
    store = ah.MemoryStore()
    await train(4, checkpoint_dir=store, save_checkpoint_steps=1, saver=ah.Saver(max_to_keep=2))
    assert sorted(await store.steps()) == [3, 4]


@pytest.mark.parametrize(
    ("periods", "written"),
    [
        ({}, [1]),
        ({"save_summaries_steps": 2}, [1, 3]),
        ({"save_summaries_secs": 0}, [1, 2, 3, 4]),
        ({"save_summaries_secs": None}, []),
    ],
)
async def test_periods_of_summaries(periods: dict[str, Any], written: list[int]) -> None:
    """Summaries go to the writer every 100 steps unless a period is given."""
    writer = Writer()
    await train(4, summary_writer=writer, log_step_count_steps=None, **periods)
    assert [call for call in writer.calls if call[0] == "made"] == [
        ("made", step, step) for step in written
    ]


async def test_steps_per_second_are_told(lines: Lines) -> None:
    """They are logged, and written where there is a writer, every so many steps."""
    writer = Writer()
    await train(5, summary_writer=writer, log_step_count_steps=2, save_summaries_secs=None)
    told = [record.__dict__["global_step"] for record in lines.records]
    assert told == [step for tag, _, step in writer.calls[:-1]] == [3, 5]


@pytest.mark.parametrize("steps", [None, 0])
async def test_steps_per_second_can_be_left_out(steps: int | None, lines: Lines) -> None:
    """None, or 0, for their period leaves them out."""
    await train(3, log_step_count_steps=steps)
    assert lines.texts == []


class Signing(ah.SessionRunHook):
    """Assigns a variable in its `end`."""

    async def begin(self) -> None:
        self.signed = ah.get_variable("signed", "no")
        self.sign = self.signed.assign("yes")

    async def end(self, session: ah.Session) -> None:
        await session.run(self.sign)


async def test_saver_stands_last() -> None:
    """Hooks that are given come before the saver: what their `end` assigns is saved with it."""
    store = ah.MemoryStore()
    graph, step = stepping_graph()
    async with ah.MonitoredTrainingSession(graph, store, [Signing()]) as session:
        await session.run(step)
        assert await session.run("signed") == "no"
    async with ah.MonitoredTrainingSession(graph, store) as session:
        assert await session.run("signed") == "yes"


async def test_session_options_are_passed_on() -> None:
    """Without recovery a loss leaves the run, as in a session made by hand."""
    graph, _ = stepping_graph()

    async def lost() -> None:
        raise ah.AbortedError("lost")

    with pytest.raises(ah.AbortedError, match="lost"):
        async with ah.MonitoredTrainingSession(
            graph, recovery=None, stop_grace_period_secs=0.0, close_timeout=1.0
        ) as session:
            await session.run(lost)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"hooks": 1}, TypeError, "hooks are to be a list of hooks, not 1"),
        ({"hooks": ah.TimeLimitHook(1)}, TypeError, "hooks are to be a list of hooks"),
        ({"checkpoint_dir": 1}, TypeError, "CheckpointStore, not 1"),
        (
            {"checkpoint_dir": "d", "save_checkpoint_secs": 1, "save_checkpoint_steps": 1},
            ValueError,
            "exactly one",
        ),
        ({"summary_writer": 1}, TypeError, "summary_writer"),
        ({"log_step_count_steps": -1}, ValueError, "every_n_steps"),
        ({"stop_grace_period_secs": -1.0}, ValueError, "stop_grace"),
    ],
)
def test_bad_arguments_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    """What is no hook, store, writer or period is refused before anything is made."""
    graph, _ = stepping_graph()
    with pytest.raises(error, match=message):
        ah.MonitoredTrainingSession(graph, **arguments)
