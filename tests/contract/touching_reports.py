"""Where differences in errors that are reported to a session's coordinator show in a story."""

from __future__ import annotations

from tests.contract.state import BASE_EXCEPTIONS, State
from tests.contract.story import Item, Scene, Story
from tests.contract.touching_ends import closing_errors, is_clean, leaving_error, out


def report_is_raised(story: Story) -> bool:
    """An error that was reported is raised, recovered from or a clean end in another place."""
    return any(CHECKS[scene.do](story, scene) for scene in story.scenes if scene.do in CHECKS)


def _construct(story: Story, scene: Scene) -> bool:
    return scene.own.error is None and scene.own.state.held is not None


def _asked(story: Story, scene: Scene) -> bool:
    state, own = scene.own.state, scene.own
    if scene.before.closed:
        return False
    if scene.of_kind("create", "raw_close"):
        return True
    if state.raises:
        return own.error != state.raises
    return state.end is not None and own.event.get("v") is not True


def _run(story: Story, scene: Scene) -> bool:
    state: State = scene.before
    if state.closed:
        return False
    if state.raises or state.end:
        return len(scene.items) > 1 or scene.own.error != state.raises
    if state.lost:
        refused = scene.do == "run" and state.stop and len(scene.items) == 1
        return not refused and scene.step.get("sig") not in ("two_args", "no_args")
    return _within_run(story, scene)


def _within_run(story: Story, scene: Scene) -> bool:
    attempts = _attempts(scene)
    return any(
        _reported_in_set_up(attempt)
        or _interrupted(story, attempt)
        or _ended_otherwise(scene, attempt, last=attempt is attempts[-1])
        for attempt in attempts
    )


def _attempts(scene: Scene) -> list[list[Item]]:
    """Splits the items of a run where a generation is replaced."""
    attempts: list[list[Item]] = [[]]
    for item in scene.items:
        attempts[-1].append(item)
        if item.kind == "raw_close":
            attempts.append([])
    return attempts


def _reported_in_set_up(attempt: list[Item]) -> bool:
    starts = [item for item in attempt if item.kind in ("before_run", "raw_run", "step_fn")]
    return bool(starts) and starts[0].state.held is not None


def _interrupted(story: Story, attempt: list[Item]) -> bool:
    """Tells whether something was done that would have been prevented."""
    return any(
        (item.kind == "raw_run" and item.state.held)
        or (item.kind == "before_run" and item.state.held and item.state.phase == "body")
        or (
            item.event.get("e") == "direct_run"
            and item.state.interrupted
            and not _fails_first(story, item)
        )
        for item in attempt
    )


def _fails_first(story: Story, item: Item) -> bool:
    error = item.error
    if error is None:
        return False
    faults = story.scenario.get("faults", {}).values()
    late = any(each == error | {"after": True} for where in faults for each in where.values())
    return not late and error["key"] != "end_of_sequence"


def _ended_otherwise(scene: Scene, attempt: list[Item], *, last: bool) -> bool:
    """Tells whether the error that ends an attempt is another one."""
    ended = attempt[-1]
    state: State = ended.state
    if ended.kind == "raw_close":
        # TensorFlow raises what its coordinator holds when it closes the lost session.
        return state.recorded is not None and not state.recovers(state.recorded)
    if not last or ended.error is None or ended.error["type"] in BASE_EXCEPTIONS:
        return False
    if state.interrupted:
        return state.lost or ended.error != state.held
    return False


def _closing(story: Story, scene: Scene) -> bool:
    before: State = scene.before
    after: State = scene.own.state
    if before.closed or not (after.held or after.end):
        return False
    clean = is_clean(scene)
    if clean and before.lost and story.given:
        return True
    ended = clean and before.raises and scene.of_kind("end")
    ours = (leaving_error(scene), leaving_error(scene, closing_errors(story, scene)))
    return bool(ended) or out(scene) not in ours


CHECKS = {
    "construct": _construct,
    "should_stop": _asked,
    "run": _run,
    "step_fn": _run,
    "close": _closing,
    "exit": _closing,
}
