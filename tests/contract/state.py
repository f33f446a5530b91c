"""What asynchooks' session knows at each moment of a story."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tests.contract.scenarios import Line
from tests.contract.story import Item, Scene, Story

Name = dict[str, Any]

RECOVERABLE = {"Aborted", "Unavailable", "AbortedSub"}
END_OF_INPUT = {"OutOfRange", "StopIteration", "OutOfRangeSub", "StopIterationSub"}
SUBCLASSES = {"OutOfRangeSub", "StopIterationSub"}
BASE_EXCEPTIONS = {"KeyboardInterrupt", "SystemExit", "GeneratorExit"}

# Where an item puts the attempt that is under way.
PHASES = {"step_fn": "body", "before_run": "before", "raw_run": "run", "after_run": "after"}


@dataclass
class State:
    """The state of one session.

    Attributes:
        monitored: whether it recovers.
        stop: whether a plain stop was requested, by whomever.
        held: the error that was reported to the generation's coordinator.
        end: the end of the input that was reported to it.
        g: the number of the last generation.
        live: whether that one can be used.
        closed: whether the session is closed.
        phase: where the attempt is, if one is under way.
        interrupted: whether a reported error has interrupted it.
        repeated_after_stop: whether a step function is called again after a stop.
        broken: whether an attempt failed recoverably since the last run that committed.
        last_attempt: whether the attempt that is under way is the one that a stop allows.
        plain: whether TensorFlow's coordinator was asked for a plain stop.
        asked: whether a hook asked for a stop in the attempt that is under way.
        refusing: whether TensorFlow's session refuses further runs.
        recorded: the error that TensorFlow's coordinator holds.
    """

    monitored: bool
    stop: bool = False
    held: Name | None = None
    end: Name | None = None
    g: int = -1
    live: bool = False
    closed: bool = False
    phase: str = ""
    interrupted: bool = False
    repeated_after_stop: bool = False
    broken: bool = False
    last_attempt: bool = False
    plain: bool = False
    asked: bool = False
    refusing: bool = False
    recorded: Name | None = None

    def recovers(self, error: Name | None) -> bool:
        """Tells whether an error loses the generation."""
        return self.monitored and error is not None and error["type"] in RECOVERABLE

    @property
    def lost(self) -> bool:
        """Whether a recoverable error was reported."""
        return self.recovers(self.held)

    @property
    def raises(self) -> Name | None:
        """The reported error that is raised to whoever asks."""
        return None if self.lost else self.held

    @property
    def gives_up(self) -> bool:
        """Whether recovery makes no further attempt."""
        return self.broken and self.last_attempt

    @property
    def refuses(self) -> bool:
        """Whether a run is refused because of a stop."""
        return self.stop and not self.repeated_after_stop

    def report(self, error: Name | None) -> None:
        """Takes in a request to stop that the coordinator gets."""
        if error is None:
            self.stop = self.plain = True
            return
        if not self.plain and self.recorded is None:
            self.recorded = error
        if error["type"] in END_OF_INPUT:
            self.end = self.end or error
        elif self.held is None:
            self.held = error
            self.interrupted = self.interrupted or self.phase in ("body", "before", "run")

    def enter(self, phase: str) -> None:
        """Takes the attempt on to another phase."""
        self.phase = phase
        self.interrupted = self.interrupted or (phase != "after" and self.held is not None)

    def end_run(self, item: Item) -> None:
        """Ends a run with hooks; TensorFlow keeps a stop only if the run succeeded."""
        self.refusing = self.refusing or (self.asked and item.error is None)
        self.asked = False

    @property
    def says_stop(self) -> bool:
        """Whether TensorFlow's session says that it is to stop."""
        return self.refusing or self.plain or self.recorded is not None

    def generation(self, g: int) -> None:
        """Starts a generation, with a coordinator of its own."""
        self.g, self.live = g, True
        self.held = self.end = self.recorded = None
        self.interrupted = self.plain = self.asked = self.refusing = False
        self.phase = ""


_latest: list[tuple[Line, Story]] = []


def story_of(line: Line) -> Story:
    """Returns the story of a line, with the state before each item."""
    if not _latest or _latest[0][0] is not line:
        _latest[:] = [(line, _followed(Story(line)))]
    return _latest[0][1]


def _followed(story: Story) -> Story:
    state = State(monitored=False)
    for scene in story.scenes:
        if scene.do == "construct":
            state = State(monitored=scene.session["type"] == "monitored")
        scene.before = replace(state)
        for item in scene.items:
            item.state = replace(state)
            _take_item(state, item)
        _end_scene(state, scene)
    return story


def _take_item(state: State, item: Item) -> None:
    if item.kind == "create":
        _take_creation(state, item)
    elif item.kind == "raw_close":
        state.live, state.broken = False, True
    elif item.kind == "stop":
        state.stop = state.asked = True
    elif item.kind in ("action", "body"):
        _take_action(state, item)
    if item.kind == "step_fn":
        state.repeated_after_stop = item.event["k"] > 0 and state.stop
    if item.kind in PHASES:
        state.enter(PHASES[item.kind])
    if item.kind == "raw_run" and item.error is None:
        state.broken = state.last_attempt = False


def _take_creation(state: State, item: Item) -> None:
    state.last_attempt = state.stop
    if item.error is None:
        state.generation(item.event["g"])
    else:
        state.broken = state.recovers(item.error)


def _take_action(state: State, item: Item) -> None:
    do = item.action["do"]
    if do in ("stop", "request_stop"):
        state.stop = True
        state.asked = state.asked or do == "stop"
    elif do == "coord_stop":
        state.report(item.action.get("error"))
    elif do == "worker":
        _take_worker(state, item.action)
    elif do == "run_with_hooks" and item.kind == "body":
        state.enter("body")
        state.end_run(item)


def _take_worker(state: State, worker: dict[str, Any]) -> None:
    if worker["mode"] == "stop":
        state.report(None)
    elif worker["mode"] == "fail":
        if worker["error"]["type"] in BASE_EXCEPTIONS:
            state.held = None
        state.report(worker["error"])


def _end_scene(state: State, scene: Scene) -> None:
    if scene.do == "run":
        state.end_run(scene.own)
    state.phase = ""
    state.interrupted = state.repeated_after_stop = False
    if scene.do == "coord_stop":
        state.report(scene.step.get("error"))
    elif scene.do == "worker":
        _take_worker(state, scene.step)
    elif scene.do in ("close", "exit"):
        state.closed, state.live = True, False
