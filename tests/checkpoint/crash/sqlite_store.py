"""A store as a user may write it: checkpoints in a table of SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from anyio import CancelScope, to_thread

import asynchooks as ah


class SQLiteStore:
    """Keeps checkpoints in a database, which it opens for each call."""

    def __init__(self, path: str) -> None:
        self.name = path

    def name_of(self, step: int) -> str:
        """Returns the database with the step."""
        return f"{self.name}#{step}"

    async def steps(self) -> list[int]:
        """Returns the steps of the rows."""
        rows = await self._execute("SELECT step FROM checkpoints")
        return [int(step) for (step,) in rows]

    async def read(self, step: int) -> bytes:
        """Returns the data of a row."""
        rows = await self._execute("SELECT data FROM checkpoints WHERE step = ?", step)
        if not rows:
            raise ah.CheckpointError(self.name_of(step), "there is no such row")
        return bytes(rows[0][0])

    async def write(self, step: int, data: bytes) -> None:
        """Inserts a row or replaces it, in a transaction."""
        await self._execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?)", step, data)

    async def delete(self, step: int) -> None:
        """Deletes a row."""
        await self._execute("DELETE FROM checkpoints WHERE step = ?", step)

    async def _execute(self, statement: str, *values: object) -> list[Any]:
        # The thread is awaited to its end, so that nothing is written after a cancellation.
        with CancelScope(shield=True):
            return await to_thread.run_sync(self._execute_in_thread, statement, values)

    def _execute_in_thread(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        try:
            with closing(sqlite3.connect(self.name)) as database, database:
                database.execute("CREATE TABLE IF NOT EXISTS checkpoints (step PRIMARY KEY, data)")
                return database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise ah.CheckpointError(self.name, str(error)) from error
