"""C45, C47, C48: the data ends, and so does the block, without an error."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import anyio
import pytest

import asynchooks as ah
from tests.cases.spies import CountingCreator, monitored, spies, steps


class OutOfRows(ah.OutOfRangeError):
    """A subclass."""


def raises(error: type[BaseException], *, plain: bool = False, thread: bool = False) -> Any:
    """Returns an op function, async or plain, that raises an error."""

    async def async_op() -> None:
        raise error

    def plain_op() -> None:
        raise error

    return ah.op(thread=thread)(plain_op) if plain else ah.op(async_op)


@ah.op
async def two_ends() -> None:
    raise ExceptionGroup(
        "both", [ah.OutOfRangeError(), ExceptionGroup("in", [StopAsyncIteration()])]
    )


WAYS = {
    "OutOfRangeError": raises(ah.OutOfRangeError),
    "subclass": raises(OutOfRows),
    "StopAsyncIteration": raises(StopAsyncIteration),
    "EndOfStream": raises(anyio.EndOfStream),
    "StopIteration in a plain op": raises(StopIteration, plain=True),
    "StopIteration in a thread": raises(StopIteration, plain=True, thread=True),
    "OutOfRangeError in a thread": raises(ah.OutOfRangeError, plain=True, thread=True),
    "group": two_ends,
}


def infos(caplog: pytest.LogCaptureFixture) -> int:
    """Counts the INFO lines of the library, and fails if it logged anything else."""
    records = [record for record in caplog.records if record.name == "asynchooks"]
    assert {record.levelname for record in records} <= {"INFO"}
    return len(records)


@pytest.mark.parametrize("way", WAYS)
async def test_c45_ways_to_say_end_of_data(way: str, caplog: pytest.LogCaptureFixture) -> None:
    """Each way to say that the data has ended leaves the block cleanly, with one line logged."""
    caplog.set_level("INFO", "asynchooks")
    with ah.Graph().as_default() as graph:
        x = WAYS[way]()
    creator = CountingCreator()
    hooks = spies("A", creator)
    with anyio.fail_after(2):
        async with monitored(graph, creator, hooks) as session:
            await session.run(x)
            pytest.fail("the run ended")
    assert [step.partition("(")[0] for step in creator.log] == steps(
        "A.begin A.acs A.before A.error A.end S1.closed A.close"
    )
    assert creator.log[-1] == "A.close(out_of_input)"
    assert infos(caplog) == 1


@pytest.mark.parametrize("way", WAYS)
async def test_c45_end_of_data_is_an_error_that_can_be_caught(way: str) -> None:
    """Caught in the block, the end of the data is an exception, and the session is usable."""
    with ah.Graph().as_default() as graph:
        x, seven = WAYS[way](), ah.constant(7)
    creator = CountingCreator()
    async with monitored(graph, creator, spies("A", creator)) as session:
        try:
            await session.run(x)
        except (ah.OutOfRangeError, StopAsyncIteration, anyio.EndOfStream, ExceptionGroup):
            assert await session.run(seven) == 7
        else:
            pytest.fail("no error")
    assert creator.log[-3:] == ["A.end(S1)", "S1.closed", "A.close(completed)"]


@pytest.mark.parametrize("error", [ah.OutOfRangeError, StopAsyncIteration, anyio.EndOfStream])
async def test_c45_end_of_data_out_of_the_body(error: type[Exception]) -> None:
    """The end of data that the body itself raises ends the block like that of a run."""
    creator = CountingCreator()
    async with monitored(ah.Graph(), creator, spies("A", creator)):
        raise error
    assert creator.log == steps("A.begin A.acs(S1) A.end(S1) S1.closed A.close(out_of_input)")


@pytest.mark.parametrize("method", ["before", "after"])
async def test_c45_end_of_data_out_of_a_hook(method: str) -> None:
    """The end of data that a hook meets in a run ends the block like that of an op."""
    with ah.Graph().as_default() as graph:
        x = ah.constant(7)
    creator = CountingCreator()
    hooks = spies("AB", creator, A={method: [ah.OutOfRangeError()]})
    async with monitored(graph, creator, hooks) as session:
        await session.run(x)
        pytest.fail("the run ended")
    after = {"before": "", "after": "B.before A.after B.error(OutOfRangeError)"}[method]
    assert creator.log[4:] == steps(
        f"A.before {after} A.end(S1) B.end(S1) S1.closed",
        "B.close(out_of_input) A.close(out_of_input)",
    )


async def test_c45_end_of_data_out_of_a_step_function() -> None:
    """The end of data that a step function meets ends the block."""
    creator = CountingCreator()

    async def step(context: ah.StepContext) -> None:
        raise StopAsyncIteration

    async with monitored(ah.Graph(), creator, spies("A", creator)) as session:
        while not session.should_stop():
            await session.run_step_fn(step)
    assert creator.log == steps("A.begin A.acs(S1) A.end(S1) S1.closed A.close(out_of_input)")


async def test_c45_end_of_data_and_an_error() -> None:
    """A group that holds the end of the data and an error is an error."""
    group = ExceptionGroup("both", [ah.OutOfRangeError(), ValueError()])
    creator = CountingCreator()
    with pytest.raises(ExceptionGroup) as caught:
        async with monitored(ah.Graph(), creator, spies("A", creator)):
            raise group
    assert caught.value is group
    assert creator.log[-2:] == ["S1.closed", "A.close(failed)"]


async def test_c45_end_of_a_source() -> None:
    """A loop over a source ends after its last item, with one run for each."""
    with ah.Graph().as_default() as graph:
        item = ah.from_iterable([1, 2, 3]).get_next()
    creator = CountingCreator()
    results = []
    async with monitored(graph, creator, spies("A", creator)) as session:
        while not session.should_stop():
            results.append(await session.run(item))
    assert results == [1, 2, 3]
    assert creator.log.count("A.after") == 3
    assert creator.log[-3:] == ["A.end(S1)", "S1.closed", "A.close(out_of_input)"]


def feeds(p: ah.Op[int]) -> Iterator[dict[Any, int]]:
    for value in (1, 2, 3):
        yield {p: value}


async def async_feeds(p: ah.Op[int]) -> AsyncIterator[dict[Any, int]]:
    for value in (1, 2, 3):
        await anyio.lowlevel.checkpoint()
        yield {p: value}


FEEDERS: dict[str, Callable[[ah.Op[int]], Callable[[], Any]]] = {
    "next": lambda p: partial(next, feeds(p)),
    "__next__": lambda p: feeds(p).__next__,
    "anext": lambda p: partial(anext, async_feeds(p)),
    "__anext__": lambda p: async_feeds(p).__anext__,
}


@pytest.mark.parametrize("feeder", FEEDERS)
async def test_c47_feed_function_runs_dry(feeder: str) -> None:
    """A feed function that has nothing more to give ends the loop cleanly."""
    with ah.Graph().as_default() as graph:
        p = ah.placeholder("p")
    creator = CountingCreator()
    hook = ah.FeedFnHook(FEEDERS[feeder](p))
    results = []
    async with monitored(graph, creator, [*spies("A", creator), hook]) as session:
        while not session.should_stop():
            results.append(await session.run(p))
    assert results == [1, 2, 3]
    assert creator.log[:2] == ["A.begin", "A.acs(S1)"]
    assert creator.log[2:8] == ["A.before", "A.after"] * 3
    assert [step.partition("(")[0] for step in creator.log[8:]] == steps(
        "A.before A.error A.end S1.closed A.close"
    )
    assert creator.log[-1] == "A.close(out_of_input)"


async def test_c48_final_values_after_the_end_of_data() -> None:
    """Final ops are evaluated once, with their feeds, on the live session, when the data ends."""
    evaluations: list[int] = []

    @ah.op
    async def c(p: int) -> int:
        evaluations.append(p)
        return p * 10

    with ah.Graph().as_default() as graph:
        item = ah.from_iterable([1, 2, 3]).get_next()
        p = ah.placeholder("p")
        final = ah.FinalOpsHook({"c": c(p)}, {p: 2})
    creator = CountingCreator()
    async with monitored(graph, creator, [final, *spies("A", creator)]) as session:
        while not session.should_stop():
            await session.run(item)
            assert final.final_ops_values is None
    assert final.final_ops_values == {"c": 20}
    assert evaluations == [2]
    assert creator.log.count("A.before") == 4
    assert creator.log[-3:] == ["A.end(S1)", "S1.closed", "A.close(out_of_input)"]


async def test_c48_final_values_of_variables() -> None:
    """Final ops see what the runs before the end of the data committed, and no more."""
    with ah.Graph().as_default() as graph:
        total = ah.Variable(0, name="total")
        add = total.assign_add(ah.from_iterable([1, 2, 3]).get_next())
        final = ah.FinalOpsHook([total])
    async with ah.MonitoredSession(graph, [final]) as session:
        while not session.should_stop():
            await session.run(add)
    assert final.final_ops_values == [6]


async def test_c48_no_final_values_after_a_failure() -> None:
    """Final ops are not evaluated when the block fails."""
    with ah.Graph().as_default() as graph:
        final = ah.FinalOpsHook(ah.constant(7))
    with pytest.raises(ValueError, match="body"):
        async with ah.MonitoredSession(graph, [final]):
            raise ValueError("body")
    assert final.final_ops_values is None
