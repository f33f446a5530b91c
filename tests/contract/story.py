"""A recorded trace, put back together with the program and the hooks that made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.contract.scenarios import Line

Event = dict[str, Any]
Action = dict[str, Any]

CALLBACKS = {"begin", "after_create", "before_run", "after_run", "end"}
# The actions of hooks and step functions that leave an event, and its name.
HOOK_EVENTS = {
    "run": "direct_run",
    "monitored_run": "run",
    "coord_stop": "coord_stop",
    "coord_should_stop": "coord_should_stop",
    "add_op": "add_op",
    "final_values": "final_values",
}
BODY_EVENTS = {
    "run_with_hooks": "hooked_run",
    "raw_run": "direct_run",
    "coord_stop": "coord_stop",
}
STEP_EVENTS = {"loop": "loop_cap", "step_fn": "run", "raw_run": "direct_run"}
SILENT_STEPS = {"raise", "worker", "clock", "append_hook"}


@dataclass
class Item:
    """Something that happened in a scene.

    Attributes:
        kind: the name of an event; "action" of a hook, "body" action of a step function,
            "returned" or "raised" at the end of a hook's method.
        event: the event, if it left one.
        action: what a script or a step function says.
        h: the hook that it is about.
        callback: the method that the hook is in.
        state: asynchooks' state before it, filled in later.
    """

    kind: str
    event: Event = field(default_factory=dict)
    action: Action = field(default_factory=dict)
    h: int | None = None
    callback: str = ""
    state: Any = None

    @property
    def error(self) -> dict[str, Any] | None:
        """What the event ended with."""
        error: dict[str, Any] | None = self.event.get("error")
        return error


@dataclass
class Scene:
    """One step of the program, or the making or leaving of a session, with all that it led to.

    Attributes:
        do: the kind of step, "construct" or "exit".
        step: the step, as the scenario has it.
        session: the session that it is taken with, as the scenario has it.
        number: which session that is.
        items: what happened, the scene's own event last; none for steps that leave no event.
        before: asynchooks' state before it, filled in later.
    """

    do: str
    step: Action
    session: dict[str, Any]
    number: int
    items: list[Item] = field(default_factory=list)
    before: Any = None

    @property
    def own(self) -> Item:
        """The scene's own event, which comes last."""
        return self.items[-1] if self.items else Item(self.do, state=self.before)

    def of_kind(self, *kinds: str) -> list[Item]:
        """Returns the items of some kinds."""
        return [item for item in self.items if item.kind in kinds]


class Story:
    """The scenes of a session scenario, in order."""

    def __init__(self, line: Line) -> None:
        self.scenario: dict[str, Any] = line["scenario"]
        self.trace: dict[str, Any] = line["trace"]
        self.hooks: list[dict[str, Any]] = list(self.scenario.get("hooks", ()))
        self.given = len(self.hooks)
        self._events: list[Event] = list(self.trace["events"])
        self._at = 0
        self._calls: Counter[tuple[int, str]] = Counter()
        self.scenes = list(self._scenes())

    def _scenes(self) -> Iterator[Scene]:
        for number, session in enumerate(self.scenario["sessions"]):
            construct = self._scene("construct", {}, session, number)
            yield construct
            if construct.own.error:
                continue
            yield from self._program(session["steps"], session, number)
            if session.get("with", True):
                yield self._scene("exit", {}, session, number)
            elif self._next() == "uncaught":
                self._at += 1
            yield from self._program(session.get("after", []), session, number)
            if self._next() == "uncaught":
                self._at += 1

    def _next(self) -> str:
        return self._events[self._at]["e"] if self._at < len(self._events) else ""

    def _program(
        self, steps: list[Action], session: dict[str, Any], number: int
    ) -> Iterator[Scene]:
        for step in steps:
            error = None
            for scene in self._step(step, session, number):
                yield scene
                error = scene.own.error or ({} if scene.do == "raise" else None)
            if error is not None and not step.get("catch"):
                return

    def _step(self, step: Action, session: dict[str, Any], number: int) -> Iterator[Scene]:
        if step["do"] != "loop":
            if step["do"] == "append_hook":
                self.hooks.append(step["hook"])
            yield self._scene(step["do"], step, session, number)
            return
        for _ in range(step["max"]):
            asked = self._scene("should_stop", step, session, number)
            yield asked
            if asked.own.error or asked.own.event.get("v", True):
                return
            run = self._scene("step_fn" if "body" in step else "run", step, session, number)
            yield run
            if run.own.error:
                return
        yield self._scene("loop_cap", step, session, number)

    def _scene(self, do: str, step: Action, session: dict[str, Any], number: int) -> Scene:
        scene = Scene(do, step, session, number)
        if do not in SILENT_STEPS:
            events = self._until_own(STEP_EVENTS.get(do, do))
            scene.items = _Items(self, scene, events).read()
        return scene

    def _until_own(self, name: str) -> list[Event]:
        """Takes the events up to the scene's own, which runs inside of it do not hide."""
        start = self._at
        r = None
        while self._at < len(self._events):
            event = self._events[self._at]
            self._at += 1
            r = event.get("r") if r is None else r
            inside = "h" in event or "step_fn" in event or (name == "run" and event.get("r") != r)
            if event["e"] == name and not inside:
                return self._events[start : self._at]
        self._at = start
        return []

    def script(self, h: int, callback: str) -> list[Action]:
        """Returns what a hook does at the next call of a method."""
        n = self._calls[h, callback]
        self._calls[h, callback] += 1
        spec = self.hooks[h]
        if spec.get("kind") == "feed_fn" and callback == "before_run":
            error = spec.get("raise", {}).get(str(n))
            return [{"do": "raise", "error": error}] if error else []
        actions = spec.get(callback, {})
        if "kind" in spec or not isinstance(actions, dict):
            return []
        script: list[Action] = actions.get(str(n), actions.get("*", []))
        return script


class _Items:
    """Takes the events of a scene apart into items."""

    def __init__(self, story: Story, scene: Scene, events: list[Event]) -> None:
        self.story = story
        self.scene = scene
        self.events = events
        self.at = 0
        self.items: list[Item] = []
        self.body: list[Action] = []

    def read(self) -> list[Item]:
        while self.at < len(self.events):
            event = self.events[self.at]
            self.at += 1
            self._event(event)
        return self.items

    def _event(self, event: Event) -> None:
        kind = event["e"]
        if kind in CALLBACKS:
            self.items.append(Item(kind, event, h=event["h"], callback=kind))
            self._callback(event["h"], kind)
        elif kind == "step_fn":
            self.items.append(Item(kind, event))
            body = self.scene.step["body"]
            self.body = [each for each in body if event["k"] in each.get("only", [event["k"]])]
            self._silent_body()
        elif self.body and BODY_EVENTS.get(self.body[0]["do"]) == kind and "h" not in event:
            self._body(self.body.pop(0), event)
        else:
            self.items.append(Item(kind, event, h=event.get("h")))

    def _callback(self, h: int, callback: str) -> None:
        error = None
        for action in self.story.script(h, callback):
            error = self._action(h, callback, action)
            if error is not None:
                break
        if error is None and callback == "end" and self._next_is("final_run", h):
            event = self.events[self.at]
            self.at += 1
            self.items.append(Item("final_run", event, h=h, callback=callback))
            error = event.get("error")
        ended = Item("raised" if error else "returned", {"error": error}, h=h, callback=callback)
        self.items.append(ended)

    def _next_is(self, kind: str, h: int) -> bool:
        more = self.at < len(self.events)
        return more and self.events[self.at]["e"] == kind and self.events[self.at].get("h") == h

    def _action(self, h: int, callback: str, action: Action) -> dict[str, Any] | None:
        """Adds the item of a hook's action; returns what leaves the hook's method with it."""
        event: Event = {"error": action["error"]} if action["do"] == "raise" else {}
        if action["do"] == "monitored_run":
            event = self._nested_run()
        elif action["do"] in HOOK_EVENTS and self.at < len(self.events):
            event = self.events[self.at]
            self.at += 1
        self.items.append(Item("action", event, action, h, callback))
        return None if action.get("catch") else event.get("error")

    def _nested_run(self) -> Event:
        own = self.events[-1].get("r")
        while self.at < len(self.events):
            event = self.events[self.at]
            self.at += 1
            if event["e"] == "run" and event.get("r") != own:
                return event
        return {}

    def _body(self, action: Action, event: Event) -> None:
        self.items.append(Item("body", event, action))
        if event.get("error") and not action.get("catch"):
            self.body = []
        self._silent_body()

    def _silent_body(self) -> None:
        while self.body and self.body[0]["do"] not in BODY_EVENTS:
            action = self.body.pop(0)
            event: Event = {"error": action["error"]} if action["do"] == "raise" else {}
            self.items.append(Item("body", event, action))
            if action["do"] in ("return", "request_stop") or (event and not action.get("catch")):
                self.body = []
