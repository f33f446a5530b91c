"""What a story's runs give when variables and sources outlive generations and failed runs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from tests.contract.graph_model import GraphModel, NotGivenError, is_finite, is_nan
from tests.contract.nodes import encoded
from tests.contract.rate_model import RateModel
from tests.contract.story import Item, Scene, Story

NOTHING = object()


@dataclass
class Replay:
    """Replays the runs of a story and notes where they give something else.

    Attributes:
        story: what is replayed.
        survives: whether state outlives generations; TensorFlow starts afresh with each.
        keeps_failed: whether what a failing run did until then is kept, as in TensorFlow by chance.
        counts_itself: whether a global step that no node assigns counts the runs with hooks.
        begins_anew: whether hooks forget an earlier session in `begin`.
        guards_loss: whether a run whose loss is not finite assigns nothing, and infinity counts.
        divides_by_zero: whether a rate is told while the clock stands still, as in TensorFlow.
        differences: where a value, an end of the input, a stop, a rate or an error of a loss
            differs: the scene, the item in it, and what of it.
    """

    story: Story
    survives: bool = True
    keeps_failed: bool = False
    counts_itself: bool = True
    begins_anew: bool = True
    guards_loss: bool = True
    divides_by_zero: bool = False
    differences: set[tuple[int, int, str]] = field(default_factory=set)
    place: tuple[int, int] = (-1, -1)
    nodes: dict[str, Any] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    # What the last run with hooks gives: by hook, and to the caller under -1.
    given: dict[int, Any] = field(default_factory=dict)
    last_steps: dict[int, int] = field(default_factory=dict)
    steps_before: dict[int, int] = field(default_factory=dict)
    final_values: dict[int, Any] = field(default_factory=dict)
    rates: dict[int, RateModel] = field(default_factory=dict)
    clock: float = 1000.0

    def __post_init__(self) -> None:
        self.nodes = dict(self.story.scenario.get("graph", {}))
        self.model = GraphModel(self.nodes)
        self.stop_requested = False
        for number, scene in enumerate(self.story.scenes):
            self.stop_requested = False
            if scene.do == "construct":
                self.model = GraphModel(self.nodes)
            elif scene.do == "clock":
                self.clock += scene.step["secs"]
            for index, item in enumerate(scene.items):
                self.place = number, index
                self._take(scene, item, scene.items[index + 1 :])
        self.place = -1, -1
        for h, values in self.story.trace["final"].get("final_ops", {}).items():
            self._compare(f"final_ops {h}", self.final_values.get(int(h)), values)

    def _take(self, scene: Scene, item: Item, later: list[Item]) -> None:
        handler = getattr(self, f"_on_{item.kind}", None)
        if handler is not None:
            handler(scene, item, later)
        elif item is scene.own and scene.do == "raw_run":
            self._direct(item, scene.step["fetches"], scene.step.get("feeds"))
        if item.kind in ("add_op", "action") and item.event.get("e") == "add_op":
            self._added(item.event, item.action or scene.step)

    def _added(self, event: dict[str, Any], said: dict[str, Any]) -> None:
        if "error" not in event:
            self.nodes[event["name"]] = said["node"]

    def _compare(self, what: str, ours: Any, theirs: Any) -> None:
        if encoded(ours) != theirs:
            self.differences.add((*self.place, what))

    def _on_raw_run(self, scene: Scene, item: Item, later: list[Item]) -> None:
        event = item.event
        fault = self._fault("run", event["n"])
        fetches = {-1: event["fetches"], **{int(h): f for h, f in event.get("hooks", {}).items()}}
        losses = {h: self.story.hooks[h]["loss"] for h in self._hooks("nan")}
        for h in self._hooks("stop_at_step", "step_counter"):
            self.steps_before[h] = self._step()
        self.clock += self.story.scenario.get("tick", 0)
        fetches |= losses | self._logged(later)
        feeds = event.get("feeds")
        self.given = self._run(event, fault, fetches, feeds, losses=losses) or {}

    def _logged(self, later: list[Item]) -> dict[int, dict[str, str]]:
        """Returns what the hooks fetch that log a run of a scene, of which these items come."""
        own = takewhile(lambda item: item.kind not in ("raw_run", "end"), later)
        return {
            item.h: self._tensors(item.h)
            for item in own
            if item.kind == "log" and item.h is not None
        }

    def _tensors(self, h: int) -> dict[str, str]:
        tensors = self.story.hooks[h]["tensors"]
        return tensors if isinstance(tensors, dict) else {name: name for name in tensors}

    def _on_end(self, scene: Scene, item: Item, later: list[Item]) -> None:
        assert item.h is not None
        if any(each.kind == "log" and each.h == item.h for each in later[:2]):
            tensors = self._tensors(item.h)
            self.given[item.h] = self.model.run(tensors, {}, keeps_failed=self.keeps_failed)

    def _on_log(self, scene: Scene, item: Item, later: list[Item]) -> None:
        assert item.h is not None
        values, spec = encoded(self.given.get(item.h, {})), self.story.hooks[item.h]
        if spec.get("formatter"):
            text = f"F:{json.dumps(values, sort_keys=True)}"
        else:
            order = sorted(values) if isinstance(spec["tensors"], dict) else values
            text = ", ".join(f"{tag} = {values[tag]}" for tag in order)
        self._compare("text", text, item.event["text"])

    def _on_sleep(self, scene: Scene, item: Item, later: list[Item]) -> None:
        asleep = self.story.scenario["on_sleep"]["fetches"]
        self.model.run(asleep, {}, keeps_failed=self.keeps_failed)

    def _on_run(self, scene: Scene, item: Item, later: list[Item]) -> None:
        if scene.do == "run" and "value" in item.event:
            self._compare("value", self.given.get(-1), item.event["value"])

    def _on_create(self, scene: Scene, item: Item, later: list[Item]) -> None:
        self.stop_requested = False
        if not self.survives:
            self.model = GraphModel(self.nodes)

    def _on_action(self, scene: Scene, item: Item, later: list[Item]) -> None:
        if item.action["do"] == "run":
            self._direct(item, item.action["fetches"], item.action.get("feeds"))
        elif item.action["do"] == "stop":
            self.stop_requested = True
        elif item.action["do"] == "clock":
            self.clock += item.action["secs"]
        elif item.action["do"] == "final_values" and item.event:
            self._compare("value", self.final_values.get(item.event["of"]), item.event["value"])

    def _on_body(self, scene: Scene, item: Item, later: list[Item]) -> None:
        if item.action["do"] == "raw_run":
            self._direct(item, item.action["fetches"], item.action.get("feeds"))
        elif item.action["do"] == "run_with_hooks":
            self.stop_requested = False
            if "value" in item.event:
                self._compare("value", self.given.get(-1), item.event["value"])

    def _run(
        self,
        event: dict[str, Any],
        fault: Any,
        fetches: Any,
        feeds: Any,
        *,
        losses: dict[int, str] | None = None,
    ) -> Any:
        """Runs what an event tells of; returns the results, None if there are none.

        `losses` is there if hooks take part.
        """
        if fault and not fault.get("after"):
            return None
        error = event.get("error")
        failed = error is not None and not (fault and error["key"] == fault["key"])
        if failed and error["key"] == "raw_closed":
            return None
        try:
            watched = losses.values() if losses and self.guards_loss else ()
            results = self.model.run(
                fetches, feeds or {}, keeps_failed=self.keeps_failed, losses=watched
            )
        except NotGivenError:
            results = None
        self._compare("failed", results is None, failed)
        if losses is not None and self.counts_itself and results is not None:
            self.model.count_run()
        return results

    def _direct(self, item: Item, fetches: Any, feeds: Any) -> Any:
        fault = self._fault("direct_run", self.counts["direct_run"])
        self.counts["direct_run"] += 1
        results = self._run(item.event, fault, {0: fetches}, feeds)
        if results is not None and "value" in item.event:
            self._compare("value", results[0], item.event["value"])
        return results[0] if results is not None and not item.error else NOTHING

    def _fault(self, where: str, n: int) -> Any:
        return self.story.scenario.get("faults", {}).get(where, {}).get(str(n))

    def _on_final_run(self, scene: Scene, item: Item, later: list[Item]) -> None:
        assert item.h is not None
        spec = self.story.hooks[item.h]
        values = self._direct(item, spec["ops"], spec.get("feeds"))
        if values is not NOTHING:
            self.final_values[item.h] = encoded(values)

    def _on_final_values(self, scene: Scene, item: Item, later: list[Item]) -> None:
        self._compare("value", self.final_values.get(item.event["of"]), item.event["value"])

    def _on_begin(self, scene: Scene, item: Item, later: list[Item]) -> None:
        assert item.h is not None
        if self.begins_anew:
            self.last_steps.pop(item.h, None)
            self.final_values.pop(item.h, None)
            self.rates.pop(item.h, None)

    def _on_after_create(self, scene: Scene, item: Item, later: list[Item]) -> None:
        assert item.h is not None
        spec = self.story.hooks[item.h]
        if spec.get("kind") == "stop_at_step":
            last = spec.get("last_step")
            counted = self._step() + spec.get("num_steps", 0) if last is None else last
            self.last_steps.setdefault(item.h, counted)

    def _on_after_run(self, scene: Scene, item: Item, later: list[Item]) -> None:
        assert item.h is not None
        if "results" in item.event:
            self._compare("results", self.given.get(item.h), item.event["results"])
        if item.h in self.last_steps and not self.stop_requested:
            wanted = self._wants_to_stop(item.h)
            stopped = any(each.kind == "stop" and each.h == item.h for each in later[:2])
            self._compare("stop", wanted, stopped)
            self.stop_requested = stopped
        kind = self.story.hooks[item.h].get("kind")
        if kind == "nan":
            self._compare("loss", self._minds_loss(item.h), _acts_on_loss(item.h, later))
        elif kind == "step_counter":
            self._compare("rate", self._rate(item.h), _rate_told(item.h, later))

    def _wants_to_stop(self, h: int) -> bool:
        last = self.last_steps[h]
        return self.steps_before.get(h, 0) + 1 >= last and self._step() >= last

    def _minds_loss(self, h: int) -> bool:
        loss = self.given.get(h, 0.0)
        return not is_finite(loss) if self.guards_loss else is_nan(loss)

    def _rate(self, h: int) -> float | None:
        rates = self.rates.setdefault(h, RateModel(self.story.hooks[h], self.divides_by_zero))
        return rates.told(self.steps_before.get(h, 0), self._step(), self.clock)

    def _hooks(self, *kinds: str) -> list[int]:
        return [h for h, spec in enumerate(self.story.hooks) if spec.get("kind") in kinds]

    def _step(self) -> int:
        return self.model.step()


def _acts_on_loss(h: int, later: list[Item]) -> bool:
    if any(each.kind == "stop" and each.h == h for each in later[:2]):
        return True
    after = (each for each in later if each.event.get("e") in ("after_run", "run", "hooked_run"))
    ended = next(after, None)
    return ended is not None and ended.error is not None and ended.error["type"] == "NanLoss"


def _rate_told(h: int, later: list[Item]) -> Any:
    told = (each.event["value"] for each in later[:2] if each.kind == "rate" and each.h == h)
    return next(told, None)
