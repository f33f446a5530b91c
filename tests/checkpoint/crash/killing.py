"""Kills the victim at random times, and looks at what it leaves, as the next process would."""

from __future__ import annotations

import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import anyio

from tests.checkpoint.crash.victim import STORES
from tests.checkpoint.crash.work import Worker

ROOT = Path(__file__).parents[3]
FOREIGN = ("model.ckpt-9.txt", "other.ckpt-1", "other.ckpt-1.unfinished")
"""Files of others, which nobody is to touch."""


@dataclass(frozen=True, slots=True)
class Death:
    """What a victim had said when it was dead.

    Attributes:
        acknowledged: the last step whose commit had returned; None if it had come to none.
        begun: the last step whose commit had begun.
    """

    acknowledged: int | None
    begun: int


class Victim:
    """The program that forks processes to be killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout
        self._numbers: dict[str, int] = {}

    def kill_after(self, delay: float, directory: Path) -> Death:
        """Kills a process so many seconds after its first commit has begun."""
        self._start(directory)
        self._hear("begun")
        time.sleep(delay)
        return self._kill()

    def commit_time(self, directory: Path) -> float:
        """Returns how long a commit takes, in seconds: the median of some."""
        self._start(directory)
        times: list[float] = []
        for _ in range(11):
            self._hear("acknowledged")
            times.append(time.perf_counter())
        self._kill()
        return statistics.median(after - before for before, after in pairwise(times))

    def _start(self, directory: Path) -> None:
        self._numbers = {}
        print(directory, file=self._stdin, flush=True)

    def _kill(self) -> Death:
        if "pid" not in self._numbers:
            self._hear("pid")
        os.kill(self._numbers["pid"], signal.SIGKILL)
        self._hear("dead")
        return Death(self._numbers.get("acknowledged"), self._numbers["begun"])

    def _hear(self, wanted: str) -> None:
        heard = ""
        while heard != wanted:
            line = self._stdout.readline()
            if not line:
                raise RuntimeError("the victim has ended by itself")
            heard, _, number = line.rstrip("\n").partition(" ")
            self._numbers[heard] = int(number or 0)


@contextmanager
def victim(loop: str, store: str, size: int) -> Iterator[Victim]:
    """Starts the program, and ends it."""
    command = [sys.executable, "-m", "tests.checkpoint.crash.victim", "--store", store]
    command += ["--loop", loop, "--size", str(size)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        yield Victim(process)


class Inspector:
    """Looks at what is left in a directory, as the next process would."""

    def __init__(self, directory: Path, store: str, size: int) -> None:
        self._directory = directory
        self._store = store
        self._size = size
        self._last = 0

    async def broken_promises(self, death: Death) -> list[str]:
        """Names what is wrong after a death, and commits the next step."""
        worker = Worker(STORES[self._store](self._directory), size=self._size)
        acknowledged = self._last if death.acknowledged is None else death.acknowledged
        visible, whole = await worker.store.steps(), await worker.whole()
        found = whole[-1] if whole else 0
        self._last = found + 1
        await worker.commit(self._last)
        broken = {
            "torn": len(whole) < len(visible),
            "lost": found not in {acknowledged, death.begun},
            "left over": await self._files() != self._wanted(found),
        }
        return [name for name, is_broken in broken.items() if is_broken]

    async def _files(self) -> set[str]:
        return {path.name async for path in anyio.Path(self._directory).iterdir()}

    def _wanted(self, found: int) -> set[str]:
        kept = {f"model.ckpt-{step}" for step in (found, found + 1) if step}
        return kept | set(FOREIGN)


def kill_again_and_again(
    folder: Path, kills: int, *, loop: str = "asyncio", store: str = "directory", size: int = 65536
) -> Counter[str]:
    """Kills, restarts and looks; counts kills, and by name the promises that were broken."""
    dice = random.Random(kills)
    counted: Counter[str] = Counter()
    directory = folder / "killed"
    directory.mkdir()
    for name in FOREIGN:
        (directory / name).touch()
    inspector = Inspector(directory, store, size)
    with victim(loop, store, size) as program:
        longest = 3 * program.commit_time(folder / "timed")
        for _ in range(kills):
            death = program.kill_after(dice.uniform(0, longest), directory)
            counted.update(["kills", *anyio.run(inspector.broken_promises, death, backend=loop)])
    return counted
