"""The peers that there are to compare with."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec


@dataclass(frozen=True, slots=True)
class Peer:
    """Something that does some of what we do.

    Attributes:
        name: what tables and the command call it.
        package: what is imported of it.
        distributions: what may have been installed of it.
        module: has a function `jobs`, which takes an `Effort` and yields each `Job` that the peer
            does and each that it is `Unable` to do.
    """

    name: str
    package: str
    distributions: tuple[str, ...]
    module: str

    @property
    def installed(self) -> bool:
        """Whether it is installed."""
        return find_spec(self.package) is not None

    @property
    def title(self) -> str:
        """Returns its name, and its version if that is known."""
        for distribution in self.distributions:
            with suppress(PackageNotFoundError):
                return f"{self.name} {version(distribution)}"
        return self.name


def _peer(name: str, package: str, *distributions: str) -> Peer:
    return Peer(name, package, distributions or (name,), f"tests.benchmarks.peers.with_{package}")


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        _peer("pluggy", "pluggy"),
        _peer("apluggy", "apluggy"),
        _peer("tenacity", "tenacity"),
        _peer("pytorch-ignite", "ignite"),
        _peer("hamilton", "hamilton", "sf-hamilton"),
        _peer("pydantic-graph", "pydantic_graph"),
        _peer("langgraph", "langgraph"),
        _peer("tensorflow", "tensorflow", "tensorflow-cpu", "tensorflow"),
    )
}
"""The peers by name; TensorFlow, which is large, is not in the extra `bench`."""
