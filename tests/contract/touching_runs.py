"""Where differences in runs and step functions show in a story."""

from __future__ import annotations

from typing import Any

from tests.contract.nodes import mapped
from tests.contract.state import RECOVERABLE
from tests.contract.story import Item, Scene, Story

REFUSED = "run_after_stop"
ASKING = {"should_stop", "coord_should_stop"}


def stop_is_kept(story: Story) -> bool:
    """Somebody asks whether to stop and is told no, or a run is not refused."""
    return any(_stop_unseen(scene) or _run_after_stop(scene) for scene in story.scenes)


def _stop_unseen(scene: Scene) -> bool:
    return any(
        item.event.get("e") in ASKING
        and item.event.get("v") is False
        and item.state.stop
        and not (item.state.plain or (item.state.refusing and item is scene.own))
        for item in scene.items
    )


def _run_after_stop(scene: Scene) -> bool:
    state = scene.before
    if state.closed or state.raises or state.end:
        return False
    if scene.do == "run":
        return state.stop and not state.refusing and not _is_refused(scene.own)
    return any(
        start.state.refuses != start.state.refusing and start.state.refuses != _is_refused(end)
        for start, end in _hooked_runs(scene)
    )


def _is_refused(end: Item) -> bool:
    return (end.error or {}).get("key") == REFUSED


def _hooked_runs(scene: Scene) -> list[tuple[Item, Item]]:
    """Returns the first and the last item of each run with hooks of a step function."""
    runs = []
    start = None
    for item in scene.items:
        if item.kind in ("before_run", "raw_run") and start is None:
            start = item
        if item.kind == "body" and item.action["do"] == "run_with_hooks":
            runs.append((start or item, item))
        if item.kind in ("body", "step_fn", "raw_close", "create"):
            start = None
    return runs


def stop_ends_recovery(story: Story) -> bool:
    """A second attempt is made after a stop."""
    return any(item.state.gives_up for scene in story.scenes for item in scene.of_kind("create"))


def new_raw_session(story: Story) -> bool:
    """A step function gets the raw session of an older generation."""
    return any(
        item.event["g"] != item.state.g
        for scene in story.scenes
        for item in scene.of_kind("step_fn")
    )


def any_argument_name(story: Story) -> bool:
    """A step function was refused for the name of its argument."""
    return any(
        scene.step.get("sig") == "bad_name" and (scene.own.error or {}).get("key") == "bad_step_fn"
        for scene in story.scenes
    )


def after_run_is_not_repeated(story: Story) -> bool:
    """A run was repeated because of what an `after_run` raised."""
    return any(_repeated_after_run(scene) for scene in story.scenes)


def _repeated_after_run(scene: Scene) -> bool:
    raised = False
    for item in scene.items:
        if item.kind == "raised" and item.callback == "after_run" and item.error is not None:
            raised = item.error["type"] in RECOVERABLE
        elif item.kind == "body" and item.action.get("catch"):
            raised = False
        elif item.kind in ("raw_close", "create") and raised:
            return True
    return False


def junk_is_a_type_error(story: Story) -> bool:
    """A `before_run` returned something else than run args."""
    return any(
        (item.error or {}).get("key") == "bad_run_args" and scene.of_kind("action")
        for scene in story.scenes
        for item in scene.items
    )


def unknown_is_refused_first(story: Story) -> bool:
    """The caller asks for what is not in the graph, and a hook or a raw run is called first."""
    known = set(story.scenario["graph"])
    for scene in story.scenes:
        for item in scene.items:
            if item.event.get("e") == "add_op" and item.error is None:
                known.add(item.event["name"])
        asked = [(end.action, start) for start, end in _hooked_runs(scene)]
        if scene.do == "run":
            asked += [(scene.step, item) for item in scene.items[:1]]
        for step, first in asked:
            started = first.kind in ("before_run", "raw_run", "create")
            if started and not known.issuperset(_names_in(step)):
                return True
    return False


def _names_in(step: dict[str, Any]) -> set[str]:
    names = set(step.get("feeds", ()))
    mapped(step["fetches"], names.add)
    return names


def reentrance_is_refused(story: Story) -> bool:
    """A hook ran the monitored session."""
    return any(
        item.action["do"] == "monitored_run"
        for scene in story.scenes
        for item in scene.of_kind("action")
    )


def stop_ends_the_wait(story: Story) -> bool:
    """A hook went on waiting for a step after a stop was requested."""
    return any(item.state.stop for scene in story.scenes for item in scene.of_kind("sleep"))
