"""Hooks, a session creator and ops that follow a plan and write what happens to one log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import tenacity

import asynchooks as ah

Outcome = object | BaseException | type[BaseException]


class CountingCreator:
    """Numbers the raw sessions S1, S2, ... and logs when each is closed.

    The n-th of `errors` is raised by the n-th call, where it is not None.
    """

    def __init__(self, errors: Iterable[BaseException | None] = ()) -> None:
        self.log: list[str] = []
        self.calls = 0
        self._errors = iter(errors)
        self._names: dict[ah.Session, str] = {}

    @asynccontextmanager
    async def create_session(
        self, graph: ah.Graph, state: ah.SessionState
    ) -> AsyncIterator[ah.Session]:
        self.calls += 1
        name = f"S{self.calls}"
        error = next(self._errors, None)
        if error is not None:
            raise error
        try:
            async with ah.ChiefSessionCreator().create_session(graph, state) as session:
                self._names[session] = name
                yield session
        finally:
            self.log.append(f"{name}.closed")

    def name_of(self, session: ah.Session) -> str:
        return self._names[session]


class Spy(ah.SessionRunHook):
    """Logs `name.method(session)` for each call, and keeps the errors and ends it is told of.

    `fails` holds for a method, by the name it has in the log, the errors that its first calls
    raise.
    """

    def __init__(
        self,
        name: str,
        creator: CountingCreator,
        fails: Mapping[str, Iterable[BaseException]] | None = None,
    ) -> None:
        self.name = name
        self.creator = creator
        self.run_errors: list[BaseException] = []
        self.session_ends: list[ah.SessionEnd] = []
        self._fails = {method: iter(errors) for method, errors in (fails or {}).items()}

    async def begin(self) -> None:
        self._note("begin")

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        self._note("acs", self.creator.name_of(session))

    async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs | None:
        self._note("before")
        return None

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        self._note("after")

    async def on_run_error(self, run_context: ah.SessionRunContext, error: BaseException) -> None:
        self.run_errors.append(error)
        self._note("error", type(error).__name__)

    async def end(self, session: ah.Session) -> None:
        self._note("end", self.creator.name_of(session))

    async def close(self, session_end: ah.SessionEnd) -> None:
        self.session_ends.append(session_end)
        self._note("close", session_end.reason.name.lower())

    def _note(self, method: str, detail: str | None = None) -> None:
        self.creator.log.append(f"{self.name}.{method}" + (f"({detail})" if detail else ""))
        error = next(self._fails.get(method, iter(())), None)
        if error is not None:
            raise error


class Plan:
    """Planned outcomes of calls: errors are raised, other values returned, the last for ever."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.calls = 0
        self._outcomes = outcomes

    def take(self) -> Any:
        outcome = self._outcomes[min(self.calls, len(self._outcomes) - 1)]
        self.calls += 1
        if isinstance(outcome, BaseException):
            raise outcome
        if isinstance(outcome, type) and issubclass(outcome, BaseException):
            raise outcome("planned")
        return outcome

    async def step(self) -> Any:
        return self.take()

    def op(self, name: str = "x") -> ah.Op[Any]:
        """Makes an op of the default graph that follows the plan."""

        @ah.op(name=name)
        async def planned() -> Any:
            return self.take()

        return planned()


class LongWait(tenacity.wait.wait_base):
    """A back-off, of 60 s unless told, that tells when it begins and calls `on_begin`."""

    def __init__(
        self, on_begin: Callable[[], object] = lambda: None, seconds: float = 60.0
    ) -> None:
        self.begun = anyio.Event()
        self._on_begin = on_begin
        self._seconds = seconds

    def __call__(self, retry_state: tenacity.RetryCallState) -> float:
        self.begun.set()
        self._on_begin()
        return self._seconds


def planned_graph(*outcomes: Outcome) -> tuple[ah.Graph, ah.Op[Any], Plan]:
    """Returns a graph of one op that follows a plan."""
    plan = Plan(*outcomes)
    with ah.Graph().as_default() as graph:
        return graph, plan.op(), plan


def attempts(
    number: int, wait: tenacity.wait.wait_base | None = None, **options: Any
) -> ah.Recovery:
    """Returns a recovery that gives up with the n-th lost generation in a row."""
    return ah.Recovery(
        stop=tenacity.stop_after_attempt(number), wait=wait or tenacity.wait_none(), **options
    )


def monitored(
    graph: ah.Graph,
    creator: CountingCreator,
    hooks: Iterable[ah.SessionRunHook] = (),
    **options: Any,
) -> ah.MonitoredSession:
    """Returns a session that recovers without waiting, unless `options` say otherwise."""
    options.setdefault("recovery", attempts(10))
    return ah.MonitoredSession(graph, list(hooks), session_creator=creator, **options)


def spies(
    names: str,
    creator: CountingCreator,
    **fails: Mapping[str, Iterable[BaseException]],
) -> list[Spy]:
    """Returns a spy for each letter; `B={"end": [error]}` lets B fail."""
    return [Spy(name, creator, fails.get(name)) for name in names]


def notes(error: BaseException) -> str:
    """Returns the notes of an error as one text."""
    return "\n".join(getattr(error, "__notes__", ()))


def steps(*texts: str) -> list[str]:
    """Returns the words of the texts as the log has them."""
    return " ".join(texts).split()
