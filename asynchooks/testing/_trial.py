"""One run of a program, disturbed at one point."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, TypeVarTuple

import anyio
from anyio.lowlevel import checkpoint

from asynchooks._errors import leaves
from asynchooks.testing._faults import Cancel, Fault, PointKind, Target
from asynchooks.testing._native import NativeCancels, has_native_cancel
from asynchooks.testing._suspensions import Watched

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Ts = TypeVarTuple("Ts")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T_co]):
    """How a disturbed program ended.

    Attributes:
        number: the point that was to be disturbed, from 1.
        where: the entry into user code that was disturbed, or the last one before the
            suspension that was; None if the program ended before that point.
        value: what the program returned; None if it did not return.
        error: what left the program; None if it returned, or left with the cancellation.
        cancelled: whether the cancellation left the program as the event loop's own exception
            (for kinds "scope" and "deadline": whether the scope caught it).
        stray_cancels: native requests to cancel that the program left on its task, without the
            trial's own; negative if it took back some of another party. Always 0 on trio.
    """

    number: int
    where: str | None
    value: T_co | None = None
    error: BaseException | None = None
    cancelled: bool = False
    stray_cancels: int = 0

    @property
    def struck(self) -> bool:
        """Whether the point was reached."""
        return self.where is not None

    @property
    def completed(self) -> bool:
        """Whether the program returned."""
        return self.error is None and not self.cancelled


class Trial:
    """One run of a program, with a fault at its n-th point; made by a `Sweep`.

    Attributes:
        fault: what is done to the program.
        number: the point at which it is done, from 1.
        entries: the entries into user code that were announced, in order.
        raised: the errors that were raised into user code, in order.
        outcome: how the program ended; None before that.
    """

    def __init__(self, fault: Fault, number: int, *, timeout: float = 10.0) -> None:
        self.fault = fault
        self.number = number
        self.entries: list[str] = []
        self.raised: list[BaseException] = []
        self.outcome: Outcome[object] | None = None
        self._timeout = timeout
        self._reached = 0
        self._where: str | None = None
        self._target: Target | None = None
        self._started = False

    def __str__(self) -> str:
        """Says what is done and where, for assertion messages."""
        where = "not reached" if self._where is None else f"in {self._where}"
        return f"{self.fault} {self.number} ({where})"

    def enter(self, name: str) -> None:
        """Announces an entry into user code; what is to be failed fails here.

        Call it on the first line of plain functions. Cancelling at an entry needs it called in
        the event loop's thread. Entries while no program runs are recorded, not counted.

        Args:
            name: says where, in `Outcome.where`.
        """
        self.entries.append(name)
        self._reach("entry", name)

    async def pause(self, name: str) -> None:
        """Announces an entry into user code like `enter`, and then suspends once."""
        self.enter(name)
        await checkpoint()

    async def run(self, program: Callable[[*Ts], Awaitable[T]], *args: *Ts) -> Outcome[T]:
        """Awaits `program(*args)`, disturbs it at this trial's point, and says how it ended.

        Errors of the program are part of the outcome, `KeyboardInterrupt` and the like only if
        the fault raised them.

        Raises:
            RuntimeError: if this trial has run before, or the running event loop does not have
                its kind of cancellation.
            TimeoutError: if the program did not end within the sweep's timeout.
        """
        if self._started:
            raise RuntimeError("a trial runs once: take the next one from the sweep")
        self.fault.require()
        self._started = True
        with anyio.move_on_after(self._timeout) as limit:
            outcome = await self._observe(program(*args))
            if not limit.cancel_called:
                self.outcome = outcome
                return outcome
        raise TimeoutError(f"not over after {self._timeout} s: {self}")

    async def _observe(self, program: Awaitable[T]) -> Outcome[T]:
        native = NativeCancels()
        scope = anyio.CancelScope()
        value: T | None = None
        error: BaseException | None = None
        self._target = Target(scope, native)
        try:
            with scope:
                value = await Watched(program, self._suspended)
        except BaseException as raised:
            if not self._is_result(raised):
                raise
            error = raised
        finally:
            self._target = None
            stray = native.stray
            await native.withdraw()
        return self._outcome(value, error, scope.cancelled_caught, stray)

    def _outcome(
        self, value: T | None, error: BaseException | None, caught: bool, stray: int
    ) -> Outcome[T]:
        native = isinstance(self.fault, Cancel) and self.fault.kind == "native"
        if native and self._is_cancellation(error):
            error, caught = None, True
        return Outcome(self.number, self._where, value, error, caught, stray)

    def _suspended(self) -> None:
        self._reach("suspension", self.entries[-1] if self.entries else "the start")

    def _reach(self, point: PointKind, where: str) -> None:
        if self._target is None or point != self.fault.at:
            return
        self._reached += 1
        missed = self._reached < self.number
        late = self._reached > self.number and not self.fault.forever
        if not missed and not late:
            self._where = self._where or where
            self._strike(self._target)

    def _strike(self, target: Target) -> None:
        error = self.fault.strike(target)
        if error is not None:
            self.raised.append(error)
            raise error

    def _is_result(self, error: BaseException) -> bool:
        """Tells the program's errors from what comes from outside, such as Ctrl-C."""
        return (
            isinstance(error, Exception)
            or any(leaf in self.raised for leaf in leaves(error))
            or self._is_cancellation(error)
        )

    def _is_cancellation(self, error: BaseException | None) -> bool:
        """Tells whether `error` may be asyncio's answer to this trial's cancellation."""
        return (
            self._where is not None
            and isinstance(self.fault, Cancel)
            and has_native_cancel()
            and isinstance(error, anyio.get_cancelled_exc_class())
        )
