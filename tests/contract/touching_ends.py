"""Where differences in closing show in a story."""

from __future__ import annotations

from collections.abc import Sequence

from tests.contract.state import BASE_EXCEPTIONS, END_OF_INPUT, SUBCLASSES, Name
from tests.contract.story import Scene, Story

USES = {"run", "step_fn", "raw_run", "coord_stop", "worker"}
"""The steps that need an open session."""


def _first_closings(story: Story) -> list[Scene]:
    return [
        scene for scene in story.scenes if scene.do in ("close", "exit") and not scene.before.closed
    ]


def is_clean(scene: Scene) -> bool:
    """Tells whether a block is left cleanly, as far as its own error goes."""
    body = scene.own.event.get("in")
    return body is None or body["type"] in END_OF_INPUT


def closed_once(story: Story) -> bool:
    """A session is closed or left that is closed already."""
    return any(scene.do in ("close", "exit") and scene.before.closed for scene in story.scenes)


def used_after_close(story: Story) -> bool:
    """A closed session is used."""
    return any(scene.before.closed and scene.do in USES for scene in story.scenes)


def all_ends_are_called(story: Story) -> bool:
    """An `end` raised and there are hooks after it."""
    for scene in _first_closings(story):
        raised = any(item.callback == "end" for item in scene.of_kind("raised"))
        called = [item for item in scene.of_kind("end") if (item.h or 0) < story.given]
        if raised and len(called) < story.given:
            return True
    return False


def subclasses_end_cleanly(story: Story) -> bool:
    """The block is left with a subclass of an end of the input."""
    return any(
        (scene.own.event.get("in") or {}).get("type") in SUBCLASSES and not scene.before.raises
        for scene in _first_closings(story)
    )


def closing_error_is_raised(story: Story) -> bool:
    """Closing the last raw session raised at a clean end, and TensorFlow dropped that."""
    return any(
        leaving_error(scene, closing_errors(story, scene)) not in (leaving_error(scene), out(scene))
        for scene in _first_closings(story)
    )


def out(scene: Scene) -> Name | None:
    """Returns what left a closing in TensorFlow."""
    left: Name | None = scene.own.event.get("out") or scene.own.error
    return left


def closing_errors(story: Story, scene: Scene) -> list[Name]:
    """Returns what closing raised, unless the generation was lost anyway."""
    faults = story.scenario.get("faults", {}).get("close", {}).values()
    errors = [item.error for item in scene.of_kind("raw_close") if item.error in faults]
    lost = scene.own.state.lost
    return [error for error in errors if error and not (lost and _is_exception(error))]


def leaving_error(scene: Scene, closing: Sequence[Name] = ()) -> Name | list[Name] | None:
    """Returns what leaves a closing: an error, or a group of several.

    Args:
        scene: the closing.
        closing: what closing the raw session raised.
    """
    body = scene.own.event.get("in")
    primary = scene.before.raises if is_clean(scene) else body
    errors = [scene.before.raises, *_end_errors(scene)]
    if scene.before.held is None and scene.own.state.raises:
        errors.append(scene.own.state.raises)
    errors += closing
    urgent = [each for each in (primary, *errors) if each and not _is_exception(each)]
    if urgent or primary:
        return urgent[0] if urgent else primary
    known = [error for error in errors if error]
    return known if len(known) > 1 else next(iter(known), None)


def _end_errors(scene: Scene) -> list[Name | None]:
    return [item.error for item in scene.of_kind("raised") if item.callback == "end"]


def _is_exception(error: Name) -> bool:
    return error["type"] not in BASE_EXCEPTIONS


def lost_is_no_stop(story: Story) -> bool:
    """There is no generation when `should_stop` is asked, or at a clean end with hooks."""
    closing = story.given > 0 and any(
        not scene.before.live and is_clean(scene) for scene in _first_closings(story)
    )
    asked = any(
        scene.own.kind == "should_stop"
        and not scene.before.live
        and not scene.before.closed
        and not scene.before.stop
        for scene in story.scenes
    )
    return closing or asked


def tasks_are_cancelled(story: Story) -> bool:
    """A background task outlived its session."""
    stuck = any(
        item.action.get("mode") == "stuck" for scene in story.scenes for item in scene.items
    )
    started = any(scene.step.get("mode") == "stuck" for scene in story.scenes)
    alive = any("alive" in item.event for scene in story.scenes for item in scene.items)
    return alive and (stuck or started)
