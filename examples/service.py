"""Serves 100 callers over one connection; when it is lost, it is replaced once for all of them."""

import argparse
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from itertools import count

import anyio
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream

import asynchooks as ah

LOST = (anyio.IncompleteRead, anyio.BrokenResourceError, OSError)


class Client:
    """Asks over one connection; the answers may come in any order."""

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream
        self.sending = anyio.Lock()
        self.numbers = count()
        self.arrived: dict[int, anyio.Event] = {}
        self.answers: dict[int, int] = {}

    async def ask(self, question: int) -> int:
        number, arrived = next(self.numbers), anyio.Event()
        self.arrived[number] = arrived
        async with self.sending:
            await self.stream.send(f"{number} {question}\n".encode())
        await arrived.wait()
        return self.answers.pop(number)

    async def listen(self) -> None:
        lines = BufferedByteReceiveStream(self.stream)
        while True:
            number, answer = map(int, (await lines.receive_until(b"\n", 100)).split())
            self.answers[number] = answer
            self.arrived.pop(number).set()


@asynccontextmanager
async def connect(port: int) -> AsyncGenerator[Client]:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        yield Client(stream)


@ah.op
async def ask(client: Client, question: int) -> int:
    return await client.ask(question)


class Listen(ah.SessionRunHook):
    """Listens on each new connection; if that fails, the runs that wait for it are repeated."""

    async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
        client = await session.run("client")
        coord.start_soon(client.listen)
        print("connected", flush=True)


async def backend(stream: ByteStream) -> None:
    # Squares 4,000 numbers, then hangs up on whoever still waits.
    lines = BufferedByteReceiveStream(stream)
    async with stream:
        with suppress(*LOST):
            for _ in range(4000):
                number, question = map(int, (await lines.receive_until(b"\n", 100)).split())
                await stream.send(f"{number} {question**2}\n".encode())


async def call(session: ah.MonitoredSession, answers: dict[int, int], first: int) -> None:
    for number in range(first, 10_000, 100):
        if session.should_stop():
            break
        answers[number] = await session.run("ask", {"question": number})


async def stop_on_signal(session: ah.MonitoredSession) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            session.request_stop()


async def main() -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    with ah.Graph().as_default() as graph:
        client = ah.resource(connect, listener.extra(SocketAttribute.local_port), name="client")
        ask(client, ah.placeholder("question"))
    answers: dict[int, int] = {}
    session = ah.MonitoredSession(graph, [Listen()], recovery=ah.Recovery(on=LOST))
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, backend)
        tasks.start_soon(stop_on_signal, session)
        async with session, anyio.create_task_group() as callers:
            for first in range(100):
                callers.start_soon(call, session, answers, first)
        tasks.cancel_scope.cancel()
    right = sum(answer == number**2 for number, answer in answers.items())
    print(f"{len(answers)} answers, {right} of them right")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="asyncio", choices=["asyncio", "trio"])
    anyio.run(main, backend=parser.parse_args().backend)
