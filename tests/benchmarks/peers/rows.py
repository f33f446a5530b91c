"""Rows of the table of peers: what a peer needs for a job, beside what we need for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class PeerRow:
    """One job, done by a peer and by us.

    Attributes:
        work: the job.
        peer: the name of the peer, and its version where it is installed.
        value: what the peer needs in its best round, in `unit`; None where there is no figure.
        ours: what we need for the same job in the same process, in turns with the peer.
        note: how large the job was and how it was done, or why there is no figure.
        unit: what `value` and `ours` are counted in.
    """

    work: str
    peer: str
    value: float | None = None
    ours: float | None = None
    note: str = ""
    unit: str = "us"

    @property
    def times_ours(self) -> float | None:
        """How many times as long as we the peer needs; None where there is no figure."""
        if self.value is None or self.ours is None:
            return None
        return self.value / self.ours

    def as_json(self) -> dict[str, object]:
        """Returns all of it, with the ratio, as what `json` writes."""
        return asdict(self) | {"times_ours": self.times_ours}

    @classmethod
    def from_json(cls, fields: dict[str, object]) -> PeerRow:
        """Returns the row of which `as_json` returned `fields`."""
        kept = {name: value for name, value in fields.items() if name != "times_ours"}
        return cls(**kept)  # type: ignore[arg-type]
