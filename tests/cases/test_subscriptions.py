"""C02: what a hook sets up on a connection is set up again on the next one, once."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

import asynchooks as ah
from tests.cases.spies import attempts


class Connection:
    """One client's connection to a `Broker`."""

    def __init__(self) -> None:
        self.topics: list[str] = []
        self.dropped = self.closed = False
        self._send, self.messages = anyio.create_memory_object_stream[str](math.inf)

    async def subscribe(self, topic: str) -> None:
        await self.ping()
        self.topics.append(topic)

    async def ping(self) -> None:
        await anyio.lowlevel.checkpoint()
        if self.dropped:
            raise ah.UnavailableError("connection reset")

    def deliver(self, topic: str, message: str) -> None:
        for _ in range(self.topics.count(topic)):
            self._send.send_nowait(message)

    def drop(self) -> None:
        self.dropped = True
        self.topics.clear()
        self._send.close()

    def close(self) -> None:
        self.drop()
        self.messages.close()
        self.closed = True


class Broker:
    """Remembers every connection, and delivers each message once for each subscription."""

    def __init__(self) -> None:
        self.connections: list[Connection] = []

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Connection]:
        connection = Connection()
        self.connections.append(connection)
        try:
            yield connection
        finally:
            connection.close()

    def publish(self, topic: str, message: str) -> None:
        for connection in self.connections:
            connection.deliver(topic, message)

    def drop_all(self) -> None:
        for connection in self.connections:
            connection.drop()


class Sub(ah.SessionRunHook):
    """Subscribes to a topic with each session, and reads the messages in the background."""

    def __init__(self, connection: ah.Op[Connection], *, reports: bool) -> None:
        self.received: list[str] = []
        self.got_one = anyio.Event()
        self._connection = connection
        self._reports = reports

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        connection = await session.run(self._connection)
        await connection.subscribe("t")
        coord.start_soon(self._read, connection)

    async def _read(self, connection: Connection) -> None:
        async for message in connection.messages:
            self.received.append(message)
            self.got_one.set()
        if self._reports:
            raise ah.UnavailableError("stream ended")


@pytest.mark.parametrize("reports", [False, True], ids=["run finds out", "reader finds out"])
async def test_c02_subscription_comes_back_once(reports: bool) -> None:
    """A subscription lost with its connection is made again on the next one, and only there."""
    broker = Broker()

    @ah.op
    async def ping(connection: Connection) -> int:
        await connection.ping()
        return broker.connections.index(connection)

    with ah.Graph().as_default() as graph:
        connection = ah.resource(broker.connect)
        used = ping(connection)
    hook = Sub(connection, reports=reports)
    with anyio.fail_after(1):
        async with ah.MonitoredSession(graph, [hook], recovery=attempts(3)) as session:
            runs = [await session.run(used)]
            broker.drop_all()
            runs.append(await session.run(used))
            broker.publish("t", "m2")
            await hook.got_one.wait()
            runs.append(await session.run(used))
            topics = [connection.topics[:] for connection in broker.connections]
    assert runs == [0, 1, 1]
    assert topics == [[], ["t"]]
    assert hook.received == ["m2"]
    assert [connection.closed for connection in broker.connections] == [True, True]


async def test_c02_each_loss_brings_one_subscription() -> None:
    """After several losses there is one subscription, on the newest connection."""
    broker = Broker()
    with ah.Graph().as_default() as graph:
        connection = ah.resource(broker.connect)
    hook = Sub(connection, reports=True)
    with anyio.fail_after(1):
        async with ah.MonitoredSession(graph, [hook], recovery=attempts(3)) as session:
            for n in range(4):
                newest = await session.run(connection)
                assert newest is broker.connections[-1]
                broker.publish("t", f"m{n}")
                await hook.got_one.wait()
                hook.got_one = anyio.Event()
                broker.drop_all()
                await anyio.wait_all_tasks_blocked()
    assert hook.received == ["m0", "m1", "m2", "m3"]
    assert [len(connection.topics) for connection in broker.connections] == [0] * 4
