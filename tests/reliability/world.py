"""A session with everything that can go wrong, and a record of what it did."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import tenacity
import trio

import asynchooks as ah
from asynchooks.testing import Trial
from tests.testing.journal import Journal

ROWS = [(1, "a"), (2, "b"), (3, "c")]
"""What the session makes of its two sources, run by run."""

LOST_AT = 2
"""The number at which the connection is lost once."""


class World:
    """One session, made from scratch for one trial.

    Its source gives three numbers, another one letters; each run makes a row of both and keeps it
    in a variable. The connection is lost once, so one run is repeated on a second generation.

    Attributes:
        journal: the calls of user code.
        broken: promises that were seen not to hold while the session was at work.
        alive: the resources that are open now.
        owed: the runs for which a hook still has to be told the end.
        ends: what the hooks' `close` got.
        attempt_errors: what the hooks' `on_run_error` got.
        logged: the errors that were only logged.
        left_with: the errors that the caller met.
        stops_at: the number at which an op requests a stop; 0 for never.
        closes_inside: whether `close` is called inside the block, which then may be left with its
            error, and swallows the end of the input.
        generations: how many raw sessions were asked for.
    """

    def __init__(
        self, trial: Trial, is_point: Callable[[str], bool] = lambda _: True, seed: int = 0
    ) -> None:
        # The same schedule in each trial: else a point could move from trial n + 1 to n meanwhile.
        trio._core._run._r.seed(seed)
        self.trial = trial
        self.journal = Journal(trial, is_point)
        self.broken: list[str] = []
        self.alive: list[str] = []
        self.beating = 0
        self.owed: list[tuple[str, ah.SessionRunContext]] = []
        self.ends: list[ah.SessionEnd] = []
        self.generations = 0
        self.losses = 1
        self.stops_at = 0
        self.closes_inside = False
        self.attempt_errors: list[BaseException] = []
        self.logged: list[BaseException] = []
        self.left_with: list[BaseException] = []
        self.state = ah.SessionState()
        with ah.Graph().as_default() as self.graph:
            self._build()
        self.hooks = [WitnessHook(self, name) for name in "ABC"]
        self.session = ah.MonitoredSession(
            self.graph,
            self.hooks,
            session_creator=Creator(self),
            recovery=ah.Recovery(stop=tenacity.stop_after_attempt(4), wait=self._wait),
        )

    def _build(self) -> None:
        call, plain_call = self.journal.call, self.journal.plain_call

        @ah.op
        async def read(connection: str, number: int) -> int:
            async with call("read.op"):
                self.expect(connection in self.alive, "an op got a connection that is not open")
                if number == self.stops_at:
                    self.session.request_stop()
            return number

        @ah.op
        async def store(number: int) -> int:
            async with call("store.op"):
                self._lose(number)
            return number

        @ah.op
        async def spell(letter: str) -> str:
            async with call("spell.op"):
                return letter

        @ah.op
        def join(number: int, letter: str, suffix: str) -> tuple[tuple[int, str], ...]:
            with plain_call("join.op"):
                return ((number, letter + suffix),)

        pool = ah.resource(self._open_pool)
        self.connection = ah.resource(self._open_connection, pool)
        self.suffix = ah.placeholder("suffix")
        self.number = ah.from_iterable(self._numbers).get_next()
        self.letter = ah.from_iterable(self._letters).get_next()
        row = join(store(read(self.connection, self.number)), spell(self.letter), self.suffix)
        self.rows = ah.Variable[tuple[tuple[int, str], ...]]((), "rows")
        self.count = ah.Variable(0, "count")
        self.fetches = {
            "row": row,
            "rows": self.rows.assign_add(row),
            "n": self.count.assign_add(1),
        }

    def expect(self, holds: bool, otherwise: str) -> None:
        """Records a broken promise."""
        if not holds:
            self.broken.append(otherwise)

    async def beat(self) -> None:
        """A background task, which lives as long as its generation."""
        self.beating += 1
        try:
            async with self.journal.call("beat.task"):
                await self._beat_on()
        finally:
            self.beating -= 1

    async def _beat_on(self) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with self.journal.plain_call("beat.farewell"):
                pass

    async def _numbers(self) -> AsyncIterator[int]:
        for number, _ in ROWS:
            async with self.journal.call("numbers.source"):
                pass
            yield number

    def _letters(self) -> Iterator[str]:
        for letter in "abcdef":
            with self.journal.plain_call("letters.source"):
                pass
            yield letter

    def _lose(self, number: int) -> None:
        if number == LOST_AT and self.losses:
            self.losses -= 1
            raise ah.UnavailableError("the connection is lost")

    def _wait(self, retry_state: tenacity.RetryCallState) -> float:
        with self.journal.plain_call("recovery.back_off"):
            return 0.0005

    @asynccontextmanager
    async def _open_pool(self) -> AsyncIterator[str]:
        async with self._resource("pool", needs=[]):
            descriptors = os.pipe()
            try:
                yield "pool"
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)

    @asynccontextmanager
    async def _open_connection(self, pool: str) -> AsyncIterator[str]:
        async with self._resource("connection", needs=[pool]):
            yield "connection"

    @asynccontextmanager
    async def _resource(self, name: str, needs: list[str]) -> AsyncIterator[None]:
        async with self.journal.call(f"{name}.open"):
            self.expect(self.alive == needs, f"{name} opened while {self.alive} were open")
            self.alive.append(name)
        try:
            yield
        finally:
            self.expect(self.alive == [*needs, name], f"{name} closed with {self.alive} open")
            self.expect(not self.beating, f"{name} closed before the background task had ended")
            self.alive.remove(name)
            async with self.journal.call(f"{name}.release"):
                pass


class WitnessHook(ah.SessionRunHook):
    """Suspends in each method, and looks whether what it is promised is there."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name

    async def begin(self) -> None:
        async with self._call("begin"):
            self.world.expect(ah.get_default_graph() is self.world.graph, "begin without graph")

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        async with self._call("after_create_session"):
            self.world.expect(
                self.world.alive == ["pool", "connection"], "set up without resources"
            )
        if self.name == "B":
            self.world.expect(not self.world.beating, "the last generation's task still runs")
            coord.start_soon(self.world.beat, name="beat")

    async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs | None:
        async with self._call("before_run"):
            pass
        self.world.owed.append((self.name, run_context))
        asks = {
            "A": None,
            "B": ah.SessionRunArgs(self.world.connection),
            "C": ah.SessionRunArgs({"rows": [self.world.rows]}, {self.world.suffix: ""}),
        }
        return asks[self.name]

    async def after_run(
        self, run_context: ah.SessionRunContext, run_values: ah.SessionRunValues
    ) -> None:
        self._settle(run_context)
        async with self._call("after_run"):
            self._check(run_values.results)

    async def on_run_error(self, run_context: ah.SessionRunContext, error: BaseException) -> None:
        self._settle(run_context)
        self.world.attempt_errors.append(error)
        async with self._call("on_run_error"):
            pass

    async def end(self, session: ah.Session) -> None:
        async with self._call("end"):
            self.world.expect(not session.closed, "end on a closed session")
            self.world.expect(not self.world.owed, "end before the end of a run")

    async def close(self, session_end: ah.SessionEnd) -> None:
        self.world.ends.append(session_end)
        self.world.expect(not self.world.alive, "a hook was closed before the resources")
        async with self._call("close"):
            pass

    def _call(self, method: str) -> AbstractAsyncContextManager[None]:
        return self.world.journal.call(f"{self.name}.{method}")

    def _settle(self, run_context: ah.SessionRunContext) -> None:
        debt = (self.name, run_context)
        self.world.expect(debt in self.world.owed, f"{self.name} was told twice how a run ended")
        if debt in self.world.owed:
            self.world.owed.remove(debt)

    def _check(self, results: Any) -> None:
        right: dict[str, Callable[[], bool]] = {
            "A": lambda: results is None,
            "B": lambda: results == "connection",
            "C": lambda: list(results) == ["rows"] and len(results["rows"]) == 1,
        }
        self.world.expect(right[self.name](), f"{self.name} got {results!r} for its fetches")


class Creator:
    """Makes raw sessions, and is user code like the rest."""

    def __init__(self, world: World) -> None:
        self.world = world

    @asynccontextmanager
    async def create_session(
        self, graph: ah.Graph, state: ah.SessionState
    ) -> AsyncIterator[ah.Session]:
        self.world.generations += 1
        self.world.state = state
        async with self.world.journal.call("creator.create"):
            pass
        async with ah.ChiefSessionCreator().create_session(graph, state) as session:
            yield session
