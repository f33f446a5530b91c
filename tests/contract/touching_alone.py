"""Where differences of a coordinator that is used alone show in a trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.contract.scenarios import Line
from tests.contract.state import BASE_EXCEPTIONS

Name = dict[str, Any]
Step = dict[str, Any]

DEFAULT_CLEAN = ["OutOfRange"]
STILL_RUNNING = {"type": "RuntimeError", "key": "threads_still_running"}
SUPERTYPES = {
    "OutOfRangeSub": "OutOfRange",
    "StopIterationSub": "StopIteration",
    "AbortedSub": "Aborted",
}


@dataclass
class Alone:
    """asynchooks' coordinator, as far as its steps show."""

    clean: list[str]
    stop: bool = False
    error: Name | None = None
    kept_after_stop: bool = False
    interrupted: bool = False
    stopped_cleanly: bool = False
    joined: bool = False
    workers: list[Step] = field(default_factory=list)
    released: bool = False
    # Those that looked out for a stop and saw one.
    ended: list[Step] = field(default_factory=list)

    def take(self, step: Step) -> tuple[Any, Name | None]:
        """Takes a step; returns its value and what it raises."""
        result: tuple[Any, Name | None] = getattr(self, f"_{step['do']}")(step)
        if self.should_stop():
            self.ended += [worker for worker in self.workers if worker["mode"] == "loop"]
        return result

    def should_stop(self) -> bool:
        """Whether a stop was requested."""
        return self.stop or self.stopped_cleanly or self.error is not None

    def states(self) -> list[str]:
        """Returns the states of the workers."""
        return ["alive" if self._is_alive(worker) else "exited" for worker in self.workers]

    def _is_alive(self, worker: Step) -> bool:
        if worker["mode"] == "loop":
            return not any(worker is each for each in self.ended)
        return worker["mode"] == "stuck" and not self.released

    def _is_clean(self, error: Name) -> bool:
        kind = error["type"]
        return kind in self.clean or SUPERTYPES.get(kind) in self.clean

    def _request_stop(self, step: Step) -> tuple[None, Name | None]:
        error = step.get("error")
        if error is None:
            self.stop = True
        elif self._is_clean(error):
            self.stopped_cleanly = True
        elif self.joined:
            return None, error
        elif self.error is None:
            self.error = error
            self.kept_after_stop = self.stop or self.stopped_cleanly
        return None, None

    def _stop_on_exception(self, step: Step) -> tuple[None, Name | None]:
        error = step.get("error")
        if error is None:
            return None, None
        return (None, error) if error["type"] in BASE_EXCEPTIONS else self._request_stop(step)

    def _should_stop(self, step: Step) -> tuple[bool, None]:
        return self.should_stop(), None

    _wait_for_stop = _should_stop

    def _joined(self, step: Step) -> tuple[bool, None]:
        return self.joined, None

    def _clear_stop(self, step: Step) -> tuple[None, None]:
        self.stop = self.stopped_cleanly = self.joined = False
        self.error, self.interrupted = None, False
        return None, None

    def _raise_requested(self, step: Step) -> tuple[None, Name | None]:
        return None, self.error

    def _join(self, step: Step) -> tuple[None, Name | None]:
        self.joined = True
        own = [worker for worker in self.workers if worker.get("register", True)]
        left = any(self._is_alive(worker) for worker in own) and not step.get("ignore_live")
        return None, self.error or (STILL_RUNNING if left else None)

    def _worker(self, step: Step) -> tuple[None, None]:
        self.workers.append(step)
        if step["mode"] == "stop":
            self.stop = True
        elif step["mode"] == "fail" and step["error"]["type"] in BASE_EXCEPTIONS:
            self.interrupted = True
            self.error = step["error"] if step.get("register", True) else self.error
        elif step["mode"] == "fail":
            self._request_stop(step)
        return None, None

    def _workers(self, step: Step) -> tuple[list[str], None]:
        return self.states(), None

    def _release(self, step: Step) -> tuple[None, None]:
        self.released = True
        return None, None


@dataclass(frozen=True)
class Parting:
    """Where a coordinator first does something else than the trace.

    Attributes:
        step: the step.
        theirs: what the step raises there.
        ours: what it raises here.
        kept_after_stop: whether the error that is held was reported after a stop.
        interrupted: whether it is an interrupt out of a background task.
    """

    step: Step
    theirs: Name | None
    ours: Name | None
    kept_after_stop: bool
    interrupted: bool


def _parting(line: Line) -> Parting | None:
    scenario, events = line["scenario"], line["trace"]["events"]
    alone = Alone(scenario.get("clean_stop", DEFAULT_CLEAN))
    for step, event in zip(scenario["steps"], events, strict=False):
        value, ours = alone.take(step)
        theirs = event.get("error")
        if ours != theirs or (value is not None and value != event.get("v")):
            return Parting(step, theirs, ours, alone.kept_after_stop, alone.interrupted)
    if alone.should_stop() != line["trace"]["final"]["should_stop"]:
        return Parting({"do": "final"}, None, None, alone.kept_after_stop, alone.interrupted)
    return None


def first_error_is_kept(line: Line) -> bool:
    """An error that was reported after a stop is raised later on."""
    parting = _parting(line)
    return (
        parting is not None
        and parting.ours is not None
        and parting.kept_after_stop
        and not parting.interrupted
    )


def error_object_is_taken(line: Line) -> bool:
    """An error object was reported outside of the block that handles it."""
    parting = _parting(line)
    return parting is not None and parting.step.get("how") == "bare"


def interrupts_pass(line: Line) -> bool:
    """An interrupt was raised inside `stop_on_exception`, maybe in a background task."""
    parting = _parting(line)
    if parting is None:
        return False
    raised = (parting.ours or {}).get("type") in BASE_EXCEPTIONS
    return parting.interrupted or (raised and parting.step["do"] == "stop_on_exception")


def join_waits_again(line: Line) -> bool:
    """A task that was started outlives one `join`, or one that was not is passed to it."""
    parting = _parting(line)
    return (
        parting is not None
        and parting.step["do"] == "join"
        and STILL_RUNNING in (parting.theirs, parting.ours)
        and any(step.get("mode") == "stuck" for step in line["scenario"]["steps"])
    )
