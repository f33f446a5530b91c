"""Where differences in the state of graphs and hooks show in a story."""

from __future__ import annotations

from tests.contract.replay import Replay
from tests.contract.story import Story

NO_STEP = "no_global_step"


def state_survives(story: Story) -> bool:
    """What starts afresh with each raw session shows, or what a failing run left behind."""
    ours = Replay(story, counts_itself=False).differences
    return any(
        ours - Replay(story, survives=False, keeps_failed=kept, counts_itself=False).differences
        for kept in (False, True)
        if ours
    )


def hooks_begin_anew(story: Story) -> bool:
    """A hook shows what it kept from an earlier session."""
    return Replay(story).differences != Replay(story, begins_anew=False).differences


def step_counts_itself(story: Story) -> bool:
    """A global step that no op assigns would have counted the runs, or a hook found none."""
    missing = any((scene.own.error or {}).get("key") == NO_STEP for scene in story.scenes)
    return missing or Replay(story).differences != Replay(story, counts_itself=False).differences


def loss_is_guarded(story: Story) -> bool:
    """A loss was infinite, or a run whose loss is not finite assigned something."""
    return Replay(story).differences != Replay(story, guards_loss=False).differences


def no_rate_without_time(story: Story) -> bool:
    """A rate was due though the clock stood still."""
    return Replay(story).differences != Replay(story, divides_by_zero=True).differences
