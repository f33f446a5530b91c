"""A program that commits checkpoints until it is killed: `python -m tests.checkpoint.crash.victim`.

For each directory that it reads from its standard input, it forks a process that goes on from the
newest checkpoint there; forking saves the time of importing. What it writes, line by line:

    pid NUMBER          of the process that was forked
    begun STEP          before each commit
    acknowledged STEP   after each commit
    dead                the process has ended
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from functools import partial
from itertools import count

import anyio
from anyio import to_thread
from anyio.lowlevel import checkpoint

import asynchooks as ah
from tests.checkpoint.crash.work import Worker


class InPlaceStore(ah.DirectoryStore):
    """The planted bug: it writes a checkpoint under its final name, and takes its time."""

    async def write(self, step: int, data: bytes) -> None:
        """Writes the file piece by piece."""
        await to_thread.run_sync(self._write_in_place, step, data)

    def _write_in_place(self, step: int, data: bytes) -> None:
        os.makedirs(os.path.dirname(self.name), exist_ok=True)
        with open(self.name_of(step), "wb", buffering=0) as file:
            for start in range(0, len(data), 4096):
                file.write(data[start : start + 4096])
                os.fsync(file)


STORES: dict[str, type[ah.DirectoryStore]] = {
    "directory": ah.DirectoryStore,
    "in place": InPlaceStore,
}


def say(event: str, number: int) -> None:
    """Writes a line at once, so that a kill cannot take it back."""
    os.write(1, f"{event} {number}\n".encode())


async def commit_for_ever(directory: str, store: str, size: int) -> None:
    """Commits one step after the other."""
    worker = Worker(STORES[store](directory), size=size)
    for step in count(await worker.restore() + 1):
        say("begun", step)
        await worker.commit(step)
        say("acknowledged", step)


def main() -> None:
    """Forks a process for each line that is read."""
    parser = ArgumentParser()
    parser.add_argument("--store", choices=STORES, default="directory")
    parser.add_argument("--loop", choices=["asyncio", "trio"], default="asyncio")
    parser.add_argument("--size", type=int, default=65536)
    options = parser.parse_args()
    # Imports the event loop here, once.
    anyio.run(checkpoint, backend=options.loop)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                commits = partial(commit_for_ever, line.rstrip("\n"), options.store, options.size)
                anyio.run(commits, backend=options.loop)
            finally:
                os._exit(1)
        say("pid", pid)
        os.waitpid(pid, 0)
        os.write(1, b"dead\n")


if __name__ == "__main__":
    main()
