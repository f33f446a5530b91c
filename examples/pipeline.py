"""Stores the world's airports in SQLite, loses the connection in the middle, stops at Ctrl-C."""

import argparse
import signal
import sqlite3
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from itertools import count, islice

import airportsdata
import anyio
from anyio import to_thread

import asynchooks as ah

PREPARE = """PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS airport (icao PRIMARY KEY, name, country, metres)"""
STORE = "INSERT OR REPLACE INTO airport VALUES (:icao, :name, :country, :metres)"
COUNT = "SELECT count(*), count(DISTINCT icao), count(DISTINCT country) FROM airport"


async def read() -> AsyncGenerator[list[airportsdata.Airport]]:
    airports = await to_thread.run_sync(airportsdata.load, "ICAO")
    rows = iter(airports.values())
    while batch := list(islice(rows, 100)):
        yield batch


@asynccontextmanager
async def connect(path: str) -> AsyncGenerator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, check_same_thread=False)) as db:
        yield db


@ah.op
async def convert(rows: list[airportsdata.Airport]) -> list[dict[str, object]]:
    # Await here what you like: a thread as below, a service, a model, another database.
    return await to_thread.run_sync(lambda: [r | {"metres": r["elevation"] * 0.3048} for r in rows])


@ah.op(thread=True)
def store(db: sqlite3.Connection, rows: list[dict[str, object]], fail: bool) -> int:
    # A run that is lost between this commit and its own is repeated with the same rows. They are
    # in one SQL transaction and each under its own key: storing them twice leaves them there once.
    with db:
        db.executemany(STORE, rows)
    if fail:
        db.close()
        raise sqlite3.OperationalError("the connection is lost")
    return len(rows)


@ah.op(thread=True)
def summarize(db: sqlite3.Connection) -> str:
    return "{} stored, {} different, in {} countries".format(*db.execute(COUNT).fetchone())


class Prepare(ah.SessionRunHook):
    """Sets each new connection up: the first one, and the one after a loss."""

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        db = await session.run("db")
        await to_thread.run_sync(db.executescript, PREPARE)
        print("connected", flush=True)


async def stop_on_signal(session: ah.MonitoredSession) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            session.request_stop()


async def main(path: str, lose_at: int = 140) -> None:
    with ah.Graph().as_default() as graph:
        db = ah.resource(connect, path, name="db")
        rows = ah.from_iterable(read).get_next()
        total, fail = ah.Variable(0), ah.placeholder()
        step = total.assign_add(store(db, convert(rows), fail))
        final = ah.FinalOpsHook([total, summarize(db)])

    attempts = count(1)
    hooks = [Prepare(), ah.FeedFnHook(lambda: {fail: next(attempts) == lose_at}), final]
    session = ah.MonitoredSession(graph, hooks, recovery=ah.Recovery(on=sqlite3.OperationalError))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_on_signal, session)
        async with session:
            while not session.should_stop():
                await session.run(step)
        tasks.cancel_scope.cancel()
    print("{} airports read, {}".format(*final.final_ops_values))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="asyncio", choices=["asyncio", "trio"])
    parser.add_argument("--database", help="a file, instead of a temporary one")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, args.database or f"{folder}/airports.db", backend=args.backend)
