"""Run metadata: when each op of a run was evaluated, taken down for runs that ask."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import asynchooks as ah


def names(metadata: ah.RunMetadata) -> list[str]:
    """Returns the ops in the order in which they ended."""
    return [each.node_name for each in metadata.step_stats]


def overlap(one: ah.NodeExecStats, other: ah.NodeExecStats) -> bool:
    """Tells whether two ops were under way at the same time."""
    return one.start < other.end and other.start < one.end


async def traced(graph: ah.Graph, fetches: Any, feed_dict: Any = None) -> tuple[Any, list[str]]:
    """Runs with run metadata; returns the results and the ops."""
    metadata = ah.RunMetadata()
    async with ah.Session(graph) as session:
        options = ah.RunOptions(run_metadata=metadata)
        results = await session.run(fetches, feed_dict, options)
    assert all(each.start <= each.end for each in metadata.step_stats)
    return results, names(metadata)


@pytest.mark.parametrize("kind", ["plain", "async", "thread", "plain that returns an awaitable"])
async def test_ops_of_each_kind_are_timed(kind: str) -> None:
    """From the call of an op until its value is there, in whatever way that comes."""
    spans: list[tuple[float, float]] = []

    def plain(x: int) -> int:
        start = time.perf_counter()
        spans.append((start, time.perf_counter()))
        return x + 1

    async def suspending(x: int) -> int:
        start = time.perf_counter()
        await anyio.lowlevel.checkpoint()
        spans.append((start, time.perf_counter()))
        return x + 1

    def returning(x: int) -> Any:
        return suspending(x)

    makers: dict[str, Callable[[], ah.OpFunction[Any]]] = {
        "plain": lambda: ah.op(name="work")(plain),
        "async": lambda: ah.op(name="work")(suspending),
        "thread": lambda: ah.op(name="work", thread=True)(plain),
        "plain that returns an awaitable": lambda: ah.op(name="work")(returning),
    }
    with ah.Graph().as_default() as graph:
        work = makers[kind]()(ah.constant(1, "one"))
    metadata = ah.RunMetadata()
    async with ah.Session(graph) as session:
        assert await session.run(work, options=ah.RunOptions(run_metadata=metadata)) == 2
    [one, stats], [span] = metadata.step_stats, spans
    assert (one.node_name, one.inputs) == ("one", ())
    assert (stats.node_name, stats.inputs) == ("work", ("one",))
    assert one.end <= stats.start <= span[0] <= span[1] <= stats.end


async def test_only_what_is_evaluated_is_taken_down() -> None:
    """Each op once; not what is fed, nor what only that needs, nor what is not asked for."""
    with ah.Graph().as_default() as graph:
        double = ah.op(name="double")(lambda x: 2 * x)
        add = ah.op(name="add")(lambda x, y: x + y)
        a = double(ah.constant(1, "not needed"))
        b = ah.placeholder("b")
        with ah.control_dependencies([ah.constant(0, "before")]):
            total = add(a, b)
        twice = add.options(name="twice")(total, total)
        double.options(name="other")(b)
    assert await traced(graph, [twice, total], {a: 10, b: 5}) == (
        [30, 15],
        ["before", "add", "twice"],
    )


async def test_traced_run_is_a_run_like_any_other() -> None:
    """It reads and assigns variables, takes items, and gives back those of a run that fails."""
    with ah.Graph().as_default() as graph:
        item = ah.from_iterable([1, 2, 3]).get_next()
        total = ah.Variable(0, "total")
        added = total.assign_add(item)

        @ah.op
        def checked(value: int) -> int:
            if value == 3 and not failed:
                failed.append(value)
                raise ValueError("three")
            return value

        fetched = checked(added)
    failed: list[int] = []
    seen: list[object] = []
    async with ah.Session(graph) as session:
        while True:
            metadata = ah.RunMetadata()
            try:
                seen.append(
                    await session.run(fetched, options=ah.RunOptions(run_metadata=metadata))
                )
            except ValueError as error:
                seen.append([str(error), error.__notes__, names(metadata)[-1]])
            except ah.OutOfRangeError:
                break
        assert await session.run(total) == 6
    assert seen == [1, ["three", ["raised by op 'checked'"], "checked"], 3, 6]


async def test_ops_that_overlap_do_so_in_their_times() -> None:
    """Two ops that wait for each other overlap; one that takes their values comes after both."""
    with ah.Graph().as_default() as graph:
        here, there = anyio.Event(), anyio.Event()

        @ah.op
        async def meet(mine: anyio.Event, theirs: anyio.Event) -> int:
            mine.set()
            await theirs.wait()
            return 1

        joined = ah.op(name="joined")(lambda x, y: x + y)(meet(here, there), meet(there, here))
    metadata = ah.RunMetadata()
    async with ah.Session(graph) as session:
        assert await session.run(joined, options=ah.RunOptions(run_metadata=metadata)) == 2
    one, other, last = metadata.step_stats
    assert {one.node_name, other.node_name} == {"meet", "meet_1"}
    assert overlap(one, other)
    assert max(one.end, other.end) <= last.start


async def test_cancelled_op_is_taken_down() -> None:
    """An op that is cancelled by the failure of another one ends there."""
    with ah.Graph().as_default() as graph:

        @ah.op
        async def wait() -> None:
            await anyio.sleep_forever()

        @ah.op
        async def fail() -> None:
            await anyio.wait_all_tasks_blocked()
            raise ValueError("no")

        both = [wait(), fail()]
    metadata = ah.RunMetadata()
    async with ah.Session(graph) as session:
        with pytest.raises(ValueError, match="no"):
            await session.run(both, options=ah.RunOptions(run_metadata=metadata))
    assert names(metadata) == ["fail", "wait"]


async def test_end_of_input_names_its_function() -> None:
    """A function that raises StopIteration is called by its name, traced or not."""

    class Reader:
        def __call__(self) -> int:
            raise StopIteration

    def read() -> int:
        raise StopIteration

    with ah.Graph().as_default() as graph:
        ops = [ah.op(Reader())(), ah.op(read)()]
    said: list[str] = []
    async with ah.Session(graph) as session:
        for op in ops:
            for options in None, ah.RunOptions(run_metadata=ah.RunMetadata()):
                with pytest.raises(ah.OutOfRangeError) as caught:
                    await session.run(op, options=options)
                said.append(str(caught.value))
    assert said == ["'Reader' raised StopIteration"] * 2 + ["'read' raised StopIteration"] * 2


async def test_awaitable_constant_is_a_value() -> None:
    """What an internal op gives is not awaited, traced or not."""
    value = anyio.sleep(0)
    with ah.Graph().as_default() as graph:
        kept = ah.constant(value, "kept")
    assert await traced(graph, kept) == (value, ["kept"])
    value.close()


async def test_placeholder_that_is_not_fed_is_named() -> None:
    """A traced run that lacks a feed is refused like any other."""
    with ah.Graph().as_default() as graph:
        x = ah.placeholder("x")
    with pytest.raises(ah.InvalidArgumentError, match="placeholder 'x' is needed and not fed"):
        await traced(graph, x)


async def test_long_chain_is_traced() -> None:
    """A chain of 10,000 ops does not exhaust the stack."""
    with ah.Graph().as_default() as graph:
        last: Any = ah.constant(0)
        add_one = ah.op(name="add_one")(lambda x: x + 1)
        for _ in range(10_000):
            last = add_one(last)
    result, ops = await traced(graph, last)
    assert (result, len(ops)) == (10_000, 10_001)


async def test_all_who_ask_get_the_times() -> None:
    """The metadata of the caller and of each hook are filled by the same run."""

    class Asks(ah.SessionRunHook):
        async def before_run(self, run_context: ah.SessionRunContext) -> ah.SessionRunArgs:
            self.metadata = ah.RunMetadata()
            return ah.SessionRunArgs(options=ah.RunOptions(run_metadata=self.metadata))

    with ah.Graph().as_default() as graph:
        one = ah.constant(1, "one")
    hooks, own = [Asks(), Asks()], ah.RunMetadata()
    async with ah.MonitoredSession(graph, hooks) as session:
        assert await session.run(one, options=ah.RunOptions(run_metadata=own)) == 1
    assert names(own) == ["one"]
    assert [hook.metadata.step_stats for hook in hooks] == [own.step_stats] * 2


def test_options_without_metadata_are_merged_without() -> None:
    """Options are equal to others of the same values, merged or not."""
    assert ah.RunOptions(timeout=1).merged(ah.RunOptions()) == ah.RunOptions(timeout=1)


def test_bad_metadata_is_refused() -> None:
    """The message names the option and what was expected."""
    with pytest.raises(TypeError, match="run_metadata is to be a RunMetadata or None"):
        ah.RunOptions(run_metadata={})  # type: ignore[arg-type]
