"""Where differences in entering sessions and listing hooks show in a story."""

from __future__ import annotations

from tests.contract.story import CALLBACKS, Story


def failed_entry_is_undone(story: Story) -> bool:
    """An `after_create_session` raised, or one sees the graph of a session that failed before."""
    raised = any(
        item.callback == "after_create"
        for scene in story.scenes
        for item in scene.of_kind("raised")
    )
    return raised or _graph_is_opened(story)


def _graph_is_opened(story: Story) -> bool:
    theirs = ours = prefinalized = bool(story.scenario.get("prefinalized"))
    was_final, holders = [False] * len(story.scenario["sessions"]), 0
    for scene in story.scenes:
        if scene.do == "construct":
            was_final[scene.number] = theirs
        for item in scene.items:
            if item.event.get("e") == "add_op" and (item.error is not None) == theirs != ours:
                return True
            if item.kind == "create" and scene.do == "construct":
                theirs = ours = True
        if scene.do == "construct":
            holders += scene.own.error is None
        elif scene.do in ("close", "exit") and not scene.before.closed:
            holders -= 1
            theirs = was_final[scene.number]
        ours = prefinalized or holders > 0
    seen: bool = story.trace["final"]["finalized"]
    return seen == theirs != ours


def hooks_are_fixed(story: Story) -> bool:
    """Hooks were appended or given as an iterator, or one is not free."""
    return _list_is_copied(story) or _hook_is_refused(story)


def _list_is_copied(story: Story) -> bool:
    late = any(
        item.kind in CALLBACKS and item.h is not None and item.h >= story.given
        for scene in story.scenes
        for item in scene.items
    )
    once = story.scenario.get("hooks_as") == "iterator" and story.given > 0
    created = any(item.error is None for scene in story.scenes for item in scene.of_kind("create"))
    return late or (once and created)


def _hook_is_refused(story: Story) -> bool:
    if any(spec.get("kind") == "same_as" for spec in story.hooks[: story.given]):
        return True
    left_open = 0
    for scene in story.scenes:
        if scene.do == "construct":
            if left_open and story.given:
                return True
            left_open += scene.own.error is None
        elif scene.do in ("close", "exit") and not scene.before.closed:
            left_open -= 1
    return False
