"""What a program under test did: each call of user code, and whether it ended well."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from anyio.lowlevel import checkpoint

from asynchooks.testing import Trial

State = Literal["entered", "done", "broken"]


@dataclass(frozen=True)
class Event:
    """One call entered, done or broken; `call` is like "A.begin"."""

    call: str
    state: State

    @cached_property
    def method(self) -> str:
        return self.call.rpartition(".")[2]

    @cached_property
    def who(self) -> str:
        return self.call.rpartition(".")[0]


class Journal:
    """Records calls and makes each one a point of the trial.

    Attributes:
        events: what happened, in order.
        errors: what broke calls, by call.
    """

    def __init__(self, trial: Trial, is_point: Callable[[str], bool] = lambda _: True) -> None:
        self.trial = trial
        self.events: list[Event] = []
        self.errors: list[tuple[str, BaseException]] = []
        self._is_point = is_point

    @asynccontextmanager
    async def call(self, name: str) -> AsyncIterator[None]:
        """Brackets an async call; a suspension comes before the body."""
        with self._bracket(name):
            if self._is_point(name):
                self.trial.enter(name)
            await checkpoint()
            yield

    @contextmanager
    def plain_call(self, name: str) -> Iterator[None]:
        """Brackets a call of a plain function."""
        with self._bracket(name):
            if self._is_point(name):
                self.trial.enter(name)
            yield

    def calls(self, method: str, state: State = "entered") -> list[str]:
        """Returns who had `method` called with this state, in order."""
        return [
            event.who for event in self.events if (event.method, event.state) == (method, state)
        ]

    @contextmanager
    def _bracket(self, name: str) -> Iterator[None]:
        self.events.append(Event(name, "entered"))
        try:
            yield
        except BaseException as error:
            self.events.append(Event(name, "broken"))
            self.errors.append((name, error))
            raise
        self.events.append(Event(name, "done"))
