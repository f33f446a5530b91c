"""Every error class, and which errors end the input, recover or fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn, cast

import anyio


class OutOfRangeError(Exception):
    """The input has ended: the normal end of a loop of runs.

    Leaving a `MonitoredSession` block with this error is a clean end.
    Carries over ``tf.errors.OutOfRangeError``.
    """


class StepFunctionStopped(OutOfRangeError):
    """Leaves a step function after its context's `request_stop()`.

    TensorFlow raises ``StopIteration`` there, which a coroutine cannot.
    """


class AbortedError(Exception):
    """What the session runs on was lost; recoverable by default.

    Carries over ``tf.errors.AbortedError``.
    """


class UnavailableError(Exception):
    """What the session runs on cannot be reached; recoverable by default.

    Carries over ``tf.errors.UnavailableError``.
    """


class DeadlineExceededError(TimeoutError):
    """A run took longer than its `RunOptions.timeout`.

    Carries over ``tf.errors.DeadlineExceededError``.

    Attributes:
        timeout: the limit that was exceeded, in seconds.
    """

    def __init__(self, timeout: float) -> None:
        super().__init__(timeout)
        self.timeout = timeout

    def __str__(self) -> str:
        return f"the run took longer than its timeout of {self.timeout} s"


class InvalidArgumentError(Exception):
    """A run needs a placeholder that was not fed.

    Carries over ``tf.errors.InvalidArgumentError``.
    """


class FeedConflictError(RuntimeError):
    """Two parties feed the same op in one run, be it with equal values.

    Attributes:
        op_name: the name of the op.
        parties: who feeds it: "the caller" or a hook's label.
    """

    def __init__(self, op_name: str, parties: tuple[str, str]) -> None:
        super().__init__(op_name, parties)
        self.op_name = op_name
        self.parties = parties

    def __str__(self) -> str:
        first, second = self.parties
        return f"op {self.op_name!r} is fed by {first} and by {second}; let one of them feed it"


class GraphFinalizedError(RuntimeError):
    """An op was added to a graph that is final.

    Attributes:
        op_name: the name that the op asked for.
    """

    def __init__(self, op_name: str) -> None:
        super().__init__(op_name)
        self.op_name = op_name

    def __str__(self) -> str:
        return (
            f"cannot add op {self.op_name!r}: the graph is final; add ops before the session is "
            "entered, or in a hook's begin()"
        )


class LifecycleError(RuntimeError):
    """A session or coordinator was used in a phase that does not allow it."""


class SessionClosedError(LifecycleError):
    """The session is closed, or was closed while this run waited."""


class RunAfterStopError(RuntimeError):
    """A run was asked for after a stop was requested."""


class ReentrantRunError(RuntimeError):
    """A hook method used the monitored session that is calling it.

    Use `run_context.session`, the raw session, inside a hook.
    """


class OpCancelledError(RuntimeError):
    """An op raised the event loop's cancellation though nothing cancelled it.

    Attributes:
        op_name: the name of the op.
    """

    def __init__(self, op_name: str) -> None:
        super().__init__(op_name)
        self.op_name = op_name

    def __str__(self) -> str:
        return (
            f"op {self.op_name!r} raised a cancellation that nobody asked for; it probably awaited "
            "a task or future that something else had cancelled"
        )


class NanLossDuringTrainingError(RuntimeError):
    """The loss of a run was NaN or infinite; the run has changed no variable.

    Carries over ``tf.compat.v1.train.NanLossDuringTrainingError``.

    Attributes:
        op_name: the name of the loss.
        value: the loss.
    """

    def __init__(self, op_name: str, value: object) -> None:
        super().__init__(op_name, value)
        self.op_name = op_name
        self.value = value

    def __str__(self) -> str:
        return f"the loss {self.op_name!r} is not finite: {self.value!r}"


class TasksStillRunningError(RuntimeError):
    """Tasks of a coordinator outlived the grace time of `Coordinator.join`.

    Attributes:
        names: the names of the tasks.
        grace: how long was waited after the stop, in seconds.
    """

    def __init__(self, names: tuple[str, ...], grace: float) -> None:
        super().__init__(names, grace)
        self.names = names
        self.grace = grace

    def __str__(self) -> str:
        return f"still running {self.grace} s after the stop: {', '.join(self.names)}"


class RecoveryError(Exception):
    """Recovery gave up.

    Attributes:
        attempts: the error that ended each lost generation, oldest first.
    """

    def __init__(self, attempts: tuple[Exception, ...]) -> None:
        super().__init__(attempts)
        self.attempts = attempts

    def __str__(self) -> str:
        lines = [f"  {n}. {_described(error)}" for n, error in enumerate(self.attempts, 1)]
        return "\n".join([f"gave up after {len(lines)} attempt(s):", *lines])


class CheckpointError(Exception):
    """A checkpoint could not be written or read; the ones before it are still there.

    Attributes:
        checkpoint: what its store calls it, such as the path of its file.
        reason: what is wrong.
    """

    def __init__(self, checkpoint: str, reason: str) -> None:
        super().__init__(checkpoint, reason)
        self.checkpoint = checkpoint
        self.reason = reason

    def __str__(self) -> str:
        return f"checkpoint {self.checkpoint}: {self.reason}"


def _described(error: BaseException) -> str:
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    return f"{type(error).__name__}: {error}{notes}"


CLEAN_STOPS: tuple[type[Exception], ...] = (OutOfRangeError, StopAsyncIteration)
"""The classes that stop a coordinator normally."""

END_OF_INPUT: tuple[type[Exception], ...] = (
    OutOfRangeError,
    StopAsyncIteration,
    anyio.EndOfStream,
)
"""The classes that end the input normally."""

PREEMPTION_ERRORS: tuple[type[Exception], ...] = (AbortedError, UnavailableError)
"""The classes that are recoverable unless `Recovery` says otherwise."""


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yields the errors inside `error`, which is its own leaf if it is no group."""
    pending = [error]
    while pending:
        current = pending.pop()
        inner = _inner(current)
        pending.extend(reversed(inner))
        if not inner:
            yield current


def _inner(error: BaseException) -> tuple[BaseException, ...]:
    if not isinstance(error, BaseExceptionGroup):
        return ()
    return cast("BaseExceptionGroup[BaseException]", error).exceptions


def every_leaf(error: BaseException, holds: Callable[[BaseException], bool]) -> bool:
    """Tells whether `holds` is true of each leaf of `error`."""
    return all(holds(leaf) for leaf in leaves(error))


def is_end_of_input(error: BaseException) -> bool:
    """Tells whether `error`, or each leaf of it, is a normal end of the input."""
    return every_leaf(error, lambda leaf: isinstance(leaf, END_OF_INPUT))


def are_error_types(value: object) -> bool:
    """Tells whether `value` is an exception class or a tuple of some."""
    types = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
    return bool(types) and all(
        isinstance(each, type) and issubclass(each, BaseException) for each in types
    )


def bare(error: BaseException) -> BaseException:
    """Returns the leaf of a group that has only one, else `error` itself."""
    while len(inner := _inner(error)) == 1:
        error = inner[0]
    return error


def note_once(error: BaseException, note: str) -> None:
    """Adds a note to `error` unless it is there already."""
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def combine(message: str, errors: list[BaseException]) -> BaseException:
    """Returns a lone error bare, and several as one group."""
    if len(errors) == 1:
        return bare(errors[0])
    return BaseExceptionGroup(message, errors)


def reraise(error: BaseException) -> NoReturn:
    """Raises an error that was caught before, or taken out of a group, as it was."""
    context = error.__context__
    try:
        raise error
    finally:
        error.__context__ = context
        del error, context
