"""What runs change, and the transaction in which one run changes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from asynchooks._closing import conclude
from asynchooks._graph import Op

Change = Callable[[Any], Any]
"""Gives a variable's new value from the old."""


class SourceMark(NamedTuple):
    """Which items of a source were taken by runs that have committed.

    Attributes:
        next_number: all below this number, counted from 0 at the start of the data,
        uncommitted: but for these, in ascending order.
    """

    next_number: int
    uncommitted: tuple[int, ...] = ()


class SourcePosition(Protocol):
    """Where one session stands in a source; closed with the session."""

    name: str

    def mark(self) -> SourceMark:
        """Returns which items were committed."""
        ...

    async def aclose(self) -> None:
        """Ends reading; may be awaited again until it has come to its end."""
        ...

    def is_closed(self) -> bool:
        """Tells whether reading has ended."""
        ...


class SessionState:
    """The committed values of variables and the positions in sources.

    It outlives the raw sessions that work on it: a `MonitoredSession` hands it from one generation
    to the next. Values and positions may have come out of a checkpoint.
    """

    __slots__ = ("positions", "restored", "restored_from", "values")

    def __init__(self) -> None:
        self.values: dict[Op[Any], Any] = {}
        self.positions: dict[object, SourcePosition] = {}
        # Whether a checkpoint was looked for, and what its store calls the one that was found.
        self.restored: bool = False
        self.restored_from: str | None = None

    async def aclose(self) -> None:
        """Ends reading from the sources; a session on this state reads on where it ended.

        A session that made its state itself closes it; one that was given the state leaves that to
        its owner.

        Raises:
            BaseException: what the clean-up of a source raised, a group if several did.
        """
        errors: list[BaseException] = []
        for position in self.positions.values():
            try:
                await position.aclose()
            except BaseException as error:
                errors.append(error)
        leaving = conclude(None, errors)
        if leaving is not None:
            raise leaving


class _Changes(list[Change]):
    """The changes of one variable in one run, in order."""

    __slots__ = ("initial_value",)

    def __init__(self, initial_value: Any) -> None:
        super().__init__()
        self.initial_value = initial_value

    def applied(self, value: Any) -> Any:
        for change in self:
            value = change(value)
        return value


class Transaction:
    """One run's view of the state: all of its changes are committed at once, or none.

    Attributes:
        state: what is changed.
        resources: what the generation has opened, by op.
        waiting: how many ops of the run wait at the end of a source for what others may give back.
    """

    __slots__ = (
        "_changes",
        "_changes_nothing",
        "_current",
        "_settle",
        "_snapshot",
        "resources",
        "state",
        "waiting",
    )

    def __init__(self, state: SessionState, resources: Mapping[Op[Any], Any]) -> None:
        self.state: SessionState = state
        self.resources: Mapping[Op[Any], Any] = resources
        self.waiting: int = 0
        # A commit replaces the dict of values, so this one stays as it is at the run's start.
        self._snapshot = state.values
        self._current: dict[Op[Any], Any] = {}
        self._changes: dict[Op[Any], _Changes] = {}
        self._settle: list[Callable[[bool], None]] = []
        self._changes_nothing = False

    def read(self, variable: Op[Any], initial_value: Any) -> Any:
        """Returns the value that `variable` had when the run started."""
        return self._snapshot.get(variable, initial_value)

    def change(self, variable: Op[Any], initial_value: Any, change: Change) -> Any:
        """Plans a change and returns the value that it gives within this run."""
        old = self._current.get(variable, self.read(variable, initial_value))
        new = self._current[variable] = change(old)
        self._changes.setdefault(variable, _Changes(initial_value)).append(change)
        return new

    def change_nothing(self) -> None:
        """Has the run commit without its changes of variables; items that it took stay taken."""
        self._changes_nothing = True

    def on_end(self, settle: Callable[[bool], None]) -> None:
        """Has `settle` called at the end of the run, with whether it has committed."""
        self._settle.append(settle)

    def commit(self) -> None:
        """Applies the planned changes to what is committed by now, in one step."""
        if self._changes and not self._changes_nothing:
            values = dict(self.state.values)
            for variable, changes in self._changes.items():
                values[variable] = changes.applied(values.get(variable, changes.initial_value))
            self.state.values = values
        self._end(committed=True)

    def rollback(self) -> None:
        """Forgets the planned changes, and gives back the items that the run took."""
        self._end(committed=False)

    def _end(self, *, committed: bool) -> None:
        for settle in self._settle:
            settle(committed)
        self._settle.clear()
