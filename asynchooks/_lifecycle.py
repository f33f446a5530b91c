"""The phases of a session, its legal moves with the one guard, and how it can end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum

from asynchooks._errors import LifecycleError, SessionClosedError


class SessionPhase(Enum):
    """Where a session is in its life."""

    NEW = "not entered yet"
    OPENING = "being entered"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"


# To read a member off its enum takes Python 3.11 about as long as to await an empty hook.
_OPEN = SessionPhase.OPEN

_MOVES = {
    SessionPhase.NEW: (SessionPhase.OPENING, SessionPhase.CLOSING),
    SessionPhase.OPENING: (SessionPhase.OPEN, SessionPhase.CLOSING),
    SessionPhase.OPEN: (SessionPhase.CLOSING,),
    SessionPhase.CLOSING: (SessionPhase.CLOSED,),
    SessionPhase.CLOSED: (),
}


class Lifecycle:
    """One session's phase; every change of it goes through `move`."""

    __slots__ = ("_story", "phase")

    def __init__(self) -> None:
        self.phase = SessionPhase.NEW
        self._story = [self.phase]

    def move(self, to: SessionPhase) -> None:
        """Goes on to another phase.

        Raises:
            LifecycleError: the move is not legal; the message tells the phases so far.
        """
        if to not in _MOVES[self.phase]:
            story = " -> ".join(phase.value for phase in self._story)
            raise self._error(f"the session cannot become {to.value!r}; so far it was: {story}")
        self.phase = to
        self._story.append(to)

    @property
    def is_over(self) -> bool:
        """Whether the session is closing or closed."""
        return self.phase in (SessionPhase.CLOSING, SessionPhase.CLOSED)

    def require_open(self) -> None:
        """Is passed only while the session is open.

        Raises:
            SessionClosedError: the session is closing or closed.
            LifecycleError: it was not entered yet.
        """
        if self.phase is not _OPEN:
            raise self._error(f"the session is {self.phase.value}; use it inside `async with`")

    def _error(self, message: str) -> LifecycleError:
        return SessionClosedError(message) if self.is_over else LifecycleError(message)


class EndReason(StrEnum):
    """Why a session ended."""

    COMPLETED = "completed"
    STOPPED = "stopped"
    OUT_OF_INPUT = "out of input"
    CANCELLED = "cancelled"
    FAILED = "failed"
    GAVE_UP = "gave up"


class Phase(StrEnum):
    """Where in a session's life something happened."""

    BEGIN = "begin"
    CREATE = "create"
    AFTER_CREATE_SESSION = "after_create_session"
    BEFORE_RUN = "before_run"
    RUN = "run"
    AFTER_RUN = "after_run"
    BODY = "body"
    END = "end"
    CLOSE = "close"


# As `_OPEN`: the phases that each run enters.
BEFORE_RUN, RUN, AFTER_RUN, BODY = Phase.BEFORE_RUN, Phase.RUN, Phase.AFTER_RUN, Phase.BODY


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """How a session ended; `SessionRunHook.close` gets it.

    Attributes:
        reason: why it ended.
        error: what ended it; None if nothing was raised.
        phase: where `error` was raised; None if there is none.
    """

    reason: EndReason
    error: BaseException | None = None
    phase: Phase | None = None
