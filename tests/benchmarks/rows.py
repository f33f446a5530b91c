"""Rows of the table: one measurement beside its limit, with a goal and a verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from tests.benchmarks.measuring import Timing

_PER_SECOND = {"us": 1e6, "ms": 1e3}


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement.

    Attributes:
        group: which part of the table it stands in.
        what: what is measured.
        loop: the event loop, `"asyncio"` or `"trio"`.
        value: what we need, in `unit`.
        limit: what the hand-written code that does the same needs, in `unit`; or what else
            `value` is compared with.
        unit: what `value` and `limit` are counted in: `"us"`, `"ms"`, `"B"`, or nothing.
        goal: what `value / limit` is not to exceed; not to fall short of, if `at_least`. None if
            there is no goal.
        limit_is: what `limit` is.
        at_least: whether more is better.
        noise: how far the middle round lay above the best one, as a share; None where one reading
            is all there is.
        rounds: `value` in each round, where it was read round by round.
    """

    group: str
    what: str
    loop: str
    value: float
    limit: float
    unit: str
    goal: float | None
    limit_is: str = "hand-written"
    at_least: bool = False
    noise: float | None = None
    rounds: tuple[float, ...] = ()

    @property
    def ratio(self) -> float:
        """How many times the limit the value is."""
        return self.value / self.limit

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None if there is none."""
        if self.goal is None:
            return None
        return self.ratio >= self.goal if self.at_least else self.ratio <= self.goal

    @property
    def verdict(self) -> str:
        """Returns `"reached"`, `"missed"`, or `"-"` where there is no goal."""
        return {True: "reached", False: "missed", None: "-"}[self.reached]

    def as_json(self) -> dict[str, object]:
        """Returns all of it, with ratio and verdict, as what `json` writes."""
        return asdict(self) | {"ratio": self.ratio, "verdict": self.verdict}


def timed(
    group: str,
    what: str,
    loop: str,
    ours: Timing,
    limit: Timing | float,
    *,
    goal: float | None,
    unit: str = "us",
    per: int = 1,
    limit_is: str = "hand-written",
) -> Row:
    """Returns the row of a timing, its best round beside that of its limit.

    Args:
        group: see `Row`.
        what: see `Row`.
        loop: see `Row`.
        ours: what we took.
        limit: what the limit took; or a figure, in `unit`.
        goal: see `Row`.
        unit: `"us"` or `"ms"`.
        per: how many of what is counted are done in a repetition.
        limit_is: see `Row`.
    """
    scale = _PER_SECOND[unit] / per
    return Row(
        group,
        what,
        loop,
        ours.best * scale,
        limit.best * scale if isinstance(limit, Timing) else limit,
        unit,
        goal,
        limit_is,
        noise=ours.noise,
        rounds=tuple(seconds * scale for seconds in ours.seconds),
    )
