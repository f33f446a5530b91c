"""What is checkpointed in the proofs: a session that fills one variable with its step."""

from __future__ import annotations

import asynchooks as ah

KEEP = 2
"""How many checkpoints are kept in the proofs."""


def payload(step: int, size: int) -> bytes:
    """Returns what the variable holds after a step: no part of it fits another step."""
    return step.to_bytes(8, "big") * (size // 8)


class Worker:
    """Commits steps into a store, and goes on as a new process would."""

    def __init__(self, store: ah.CheckpointStore, *, size: int = 64) -> None:
        self.store = store
        self.saver = ah.Saver(max_to_keep=KEEP, clock=lambda: 0.0)
        self.size = size
        with ah.Graph().as_default() as self.graph:
            self.state = ah.Variable(b"", name="state")
            self.news = ah.placeholder("news")
            self.fill = self.state.assign(self.news)

    async def commit(self, step: int) -> None:
        """Returns once the checkpoint of a step is acknowledged."""
        async with ah.Session(self.graph) as session:
            await session.run(self.fill, {self.news: payload(step, self.size)})
            await self.saver.save(session, self.store, step)

    async def restore(self, step: int | None = None) -> int:
        """Returns the step that is gone on from, 0 for none that is whole.

        Raises AssertionError for a checkpoint that holds anything but what its step has committed.
        """
        async with ah.Session(self.graph) as session:
            try:
                found = await self.saver.restore(session, self.store, step)
            except ah.CheckpointError:
                return 0
            assert await session.run(self.state) == payload(found, self.size), found
            return found

    async def whole(self) -> list[int]:
        """Returns the steps whose checkpoints can be restored."""
        steps = sorted(await self.store.steps())
        return [step for step in steps if await self.restore(step)]
