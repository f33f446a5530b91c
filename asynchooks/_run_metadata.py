"""What the ops of a run did when."""

from __future__ import annotations

from typing import NamedTuple


class NodeExecStats(NamedTuple):
    """When one op was evaluated.

    Carries over TensorFlow's message of that name; times are in seconds on the clock of
    `time.perf_counter`.

    Attributes:
        node_name: the op's name.
        inputs: the names of the ops whose values it took.
        start: when it was called.
        end: when its value was there, or it failed or was cancelled.
    """

    node_name: str
    inputs: tuple[str, ...]
    start: float
    end: float


class RunMetadata:
    """Is filled by a run that is given it in its `RunOptions`; one for each run.

    A run that is repeated after a recovery adds the ops of each attempt. Carries over
    ``tf.compat.v1.RunMetadata``.

    Attributes:
        step_stats: the ops that were evaluated, in the order in which they ended. Those that were
            fed, or were not needed, are not in it.
    """

    __slots__ = ("_others", "step_stats")

    def __init__(self, others: tuple[RunMetadata, ...] = ()) -> None:
        """Makes metadata of no op yet.

        Args:
            others: are filled as well.
        """
        self.step_stats: list[NodeExecStats] = []
        self._others = others

    def record(self, stats: NodeExecStats) -> None:
        """Adds an op that has ended; may be called in any thread."""
        self.step_stats.append(stats)
        for other in self._others:
            other.record(stats)
