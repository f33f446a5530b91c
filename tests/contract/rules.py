"""The table of deliberate differences from TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.contract import touching_alone as alone
from tests.contract import touching_ends as ends
from tests.contract import touching_reports as reports
from tests.contract import touching_runs as runs
from tests.contract import touching_setup as setup
from tests.contract import touching_state as state
from tests.contract import touching_timers as timers
from tests.contract.scenarios import Line
from tests.contract.state import story_of


@dataclass(frozen=True)
class Rule:
    """One deliberate difference.

    Attributes:
        id: what reports call it.
        sentence: what asynchooks does instead.
        shows: tells whether the difference shows: in a story, or in a line of another kind.
        kind: the kind of scenario that it is about.
    """

    id: str
    sentence: str
    shows: Callable[[Any], bool]
    kind: str = "session"

    def touches(self, line: Line) -> bool:
        """Tells from a line's scenario and TensorFlow's trace whether the rule touches it."""
        if line["scenario"].get("kind", "session") != self.kind:
            return False
        return self.shows(story_of(line) if self.kind == "session" else line)


RULES = [
    Rule(
        "state-survives",
        "Variables and positions in sources survive the recreation of the session, and an attempt "
        "that failed leaves no trace in them.",
        state.state_survives,
    ),
    Rule(
        "hooks-begin-anew",
        "A hook that serves a second session starts anew in `begin`: `FinalOpsHook` forgets its "
        "values, `StopAtStepHook` and `StepCounterHook` count their steps again.",
        state.hooks_begin_anew,
    ),
    Rule(
        "global-step",
        "The global step counts the runs by itself if no op of the graph assigns it, and hooks "
        "that need it make it.",
        state.step_counts_itself,
    ),
    Rule(
        "failed-entry",
        "An error while a session is created or set up closes what was opened, background tasks "
        "included, and opens the graph again.",
        setup.failed_entry_is_undone,
    ),
    Rule(
        "hooks-are-fixed",
        "The list of hooks is copied when the session is made, and a hook that stands in it twice "
        "or serves another live session is refused.",
        setup.hooks_are_fixed,
    ),
    Rule(
        "stop-is-kept",
        "A stop is one flag, whoever asks for it, be it a hook, the coordinator or a step "
        "function: it survives failing runs and recovery, and every further run is refused.",
        runs.stop_is_kept,
    ),
    Rule(
        "stop-ends-recovery",
        "After a stop recovery makes one more attempt and then gives up with `RecoveryError`.",
        runs.stop_ends_recovery,
    ),
    Rule(
        "new-raw-session",
        "A step function gets the raw session of the live generation, also when it is repeated.",
        runs.new_raw_session,
    ),
    Rule(
        "any-argument-name",
        "The name of a step function's argument does not matter.",
        runs.any_argument_name,
    ),
    Rule(
        "after-run-once",
        "A recoverable error out of `after_run` never repeats the run, whose work is done: it is "
        "raised, and the generation is replaced before the next run.",
        runs.after_run_is_not_repeated,
    ),
    Rule(
        "junk-is-a-type-error",
        "A `before_run` that returns neither `SessionRunArgs` nor None is a `TypeError`.",
        runs.junk_is_a_type_error,
    ),
    Rule(
        "unknown-is-refused-first",
        "A run that asks for what is not in the graph is refused before any hook is called.",
        runs.unknown_is_refused_first,
    ),
    Rule(
        "no-reentrance",
        "A hook cannot use the monitored session that is calling it: `ReentrantRunError`.",
        runs.reentrance_is_refused,
    ),
    Rule(
        "closed-once",
        "Closing a session twice, and leaving the block of a closed one, does nothing.",
        ends.closed_once,
    ),
    Rule(
        "used-after-close",
        "A closed session that is used raises `SessionClosedError`, a `RuntimeError`.",
        ends.used_after_close,
    ),
    Rule(
        "all-ends",
        "Every hook's `end` is called even if one fails; several errors leave as a group.",
        ends.all_ends_are_called,
    ),
    Rule(
        "subclasses-end-cleanly",
        "A block that is left with a subclass of an end of the input ends cleanly, too.",
        ends.subclasses_end_cleanly,
    ),
    Rule(
        "closing-error-is-raised",
        "An error of closing the last raw session is raised at a clean end.",
        ends.closing_error_is_raised,
    ),
    Rule(
        "lost-is-no-stop",
        "A session that could not be recreated has not stopped: the next run, or `end`, which is "
        "only called on a live session, tries again.",
        ends.lost_is_no_stop,
    ),
    Rule(
        "tasks-are-cancelled",
        "Background tasks that outlive `stop_grace` are cancelled: none outlives its generation.",
        ends.tasks_are_cancelled,
    ),
    Rule(
        "report-is-raised",
        "An error that is reported to the coordinator means the same in all sessions: the end of "
        "the input is a clean end; a recoverable error replaces the generation before the next run "
        "or `end`; any other interrupts the runs in flight and leaves `run`, `should_stop` and the "
        "block, without `end`. It never takes the place of the body's own error.",
        reports.report_is_raised,
    ),
    Rule(
        "first-error-is-kept",
        "A coordinator keeps the first error also if a plain stop came before it.",
        alone.first_error_is_kept,
        "coordinator",
    ),
    Rule(
        "error-object-is-taken",
        "`Coordinator.request_stop` takes any error object, not only one that is being handled.",
        alone.error_object_is_taken,
        "coordinator",
    ),
    Rule(
        "interrupts-pass",
        "`Coordinator.stop_on_exception` lets `KeyboardInterrupt`, `SystemExit` and "
        "`GeneratorExit` through; out of a background task they are raised before any other error.",
        alone.interrupts_pass,
        "coordinator",
    ),
    Rule(
        "join-waits-again",
        "`Coordinator.join` waits for all tasks that the coordinator started and that still run, a "
        "second time too, and for no others.",
        alone.join_waits_again,
        "coordinator",
    ),
    Rule(
        "loss-is-guarded",
        "`NanTensorHook` minds infinity as it does NaN, and a run whose loss is not finite changes "
        "no variable.",
        state.loss_is_guarded,
    ),
    Rule(
        "no-rate-without-time",
        "`StepCounterHook` tells no rate while the clock stands still; the steps count for the "
        "next one.",
        state.no_rate_without_time,
    ),
    Rule(
        "stop-ends-the-wait",
        "A request to stop ends the wait of `GlobalStepWaiterHook`; the run that waits goes on.",
        runs.stop_ends_the_wait,
    ),
    Rule(
        "earlier-step-triggers",
        "A step before the last one triggers a timer, which counts on from there.",
        timers.earlier_step_triggers,
        "timer",
    ),
]


def rules_for(line: Line) -> list[Rule]:
    """Returns the rules that touch a line."""
    return [rule for rule in RULES if rule.touches(line)]
