"""What rounds, rows and tables make of planted figures, and proofs of planted contenders."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest

import asynchooks as ah
from tests.benchmarks import proof
from tests.benchmarks.fuse import check_large_graph
from tests.benchmarks.graph_contenders import anyio_group, repeated, straight_line, task_group
from tests.benchmarks.hooks import ByHand
from tests.benchmarks.measuring import Contender, Timing, measure, measure_on
from tests.benchmarks.rows import Row, timed
from tests.benchmarks.shapes import FEW, SHAPES, Shape, graph_of, inline
from tests.benchmarks.step_contenders import steps
from tests.benchmarks.table import summary_text, table_text

Work = Callable[[int], Awaitable[None]]


def row(value: float, goal: float | None, *, at_least: bool = False) -> Row:
    """Returns a row whose limit is 2 us."""
    return Row("group", "what", "trio", value, 2, "us", goal, at_least=at_least, noise=0.25)


def logging(name: str, log: list[str]) -> Contender:
    """Returns a contender that writes down each turn of several repetitions."""

    async def work(count: int) -> None:
        if count > 1:
            log.append(name)
        for _ in range(count):
            await anyio.lowlevel.checkpoint()

    async def check() -> None:
        log.append(f"check {name}")

    return Contender(name, work, check)


async def test_rounds_are_interleaved() -> None:
    """Contenders are checked, then have one turn each in every round, in order."""
    log: list[str] = []
    contenders = [logging("a", log), logging("b", log)]
    taken = await measure(contenders, rounds=3, seconds=0.001)
    assert log[-6:] == ["a", "b"] * 3
    assert log[0] == "check a"
    assert [log.count("check a"), log.count("check b")] == [1, 1]
    assert [len(taken[name].seconds) for name in ("a", "b")] == [3, 3]
    assert all(seconds > 0 for timing in taken.values() for seconds in timing.seconds)


def test_each_round_visits_each_loop() -> None:
    """On several event loops each round sets up anew on each, and checks once on each."""
    log: list[str] = []

    @asynccontextmanager
    async def bench(loop: str) -> AsyncGenerator[list[Contender]]:
        log.append(loop)
        yield [logging("a", log)]

    taken = measure_on(["asyncio", "trio"], bench, rounds=2, seconds=0.001)
    assert [entry for entry in log if entry in {"asyncio", "trio"}] == ["asyncio", "trio"] * 2
    assert log.count("check a") == 2
    assert {loop: len(timings["a"].seconds) for loop, timings in taken.items()} == {
        "asyncio": 2,
        "trio": 2,
    }


def test_timing_of_planted_rounds() -> None:
    """The best round counts, and noise is how far the middle one lies above it."""
    timing = Timing((3.0, 2.0, 4.0))
    assert (timing.best, timing.median, timing.noise) == (2.0, 3.0, 0.5)


@pytest.mark.parametrize(
    ("planted", "verdict"),
    [
        (row(2.4, 1.2), "reached"),
        (row(2.5, 1.2), "missed"),
        (row(2.5, None), "-"),
        (row(1.9, 0.95, at_least=True), "reached"),
        (row(1.8, 0.95, at_least=True), "missed"),
        (row(-1, 1), "reached"),
    ],
)
def test_verdict_of_planted_row(planted: Row, verdict: str) -> None:
    """A goal is not to be exceeded, or not to be fallen short of."""
    assert planted.verdict == verdict
    assert planted.as_json()["verdict"] == verdict


def test_timed_row_is_per_op() -> None:
    """A timing is told in its unit, for each of what a repetition does."""
    ours, limit = Timing((0.004, 0.002)), Timing((0.001, 0.003))
    made = timed("group", "what", "trio", ours, limit, goal=2, per=1_000)
    assert (made.value, made.limit, made.ratio) == pytest.approx((2, 1, 2))
    assert made.rounds == pytest.approx((4, 2))
    assert made.noise == pytest.approx(0.5)
    assert timed("g", "w", "trio", ours, 4.0, goal=2, unit="ms").ratio == pytest.approx(0.5)


def test_table_of_planted_rows() -> None:
    """A line of the table tells limit, value, unit, ratio, goal, verdict, noise and the limit."""
    head, rule, first, second = table_text([row(3, 1.2), row(1, 0.95, at_least=True)]).splitlines()
    assert head.split()[:5] == ["group", "what", "loop", "limit", "ours"]
    assert set(rule) == {"-", " "}
    assert " ".join(first.split()[2:]) == "trio 2 3 us 1.50 <= 1.2 missed 25% hand-written"
    assert " ".join(second.split()[2:]) == "trio 2 1 us 0.50 >= 0.95 missed 25% hand-written"


def test_summary_of_planted_rows() -> None:
    """The summary counts goals, names those that were missed, and tells the noise."""
    summary = summary_text([row(3, 1.2), row(2, 1.2), row(9, None)])
    assert "goals reached: 1 of 2" in summary
    assert summary.count("missed") == 1
    assert "25%" in summary


async def test_wrong_result_fails() -> None:
    """A contender that gives another result is not measured."""
    shape = SHAPES["chain"](3)

    async def wrong() -> tuple[int, ...]:
        return (1,)

    with pytest.raises(AssertionError, match=r"lazy gave \(1,\), not \(2,\)"):
        await measure([repeated("lazy", shape, wrong)], rounds=1)


@pytest.mark.parametrize("calls", [0, 1, 3])
async def test_missing_call_fails(calls: int) -> None:
    """A contender that calls a hook less or more often than it should is not measured."""
    hook = ByHand()

    async def work() -> None:
        for _ in range(calls):
            await hook.before_run(None)

    with pytest.raises(AssertionError, match=f"before_run {calls} times, not 2"):
        await proof.calls("lazy", ByHand.before_run, 2, work)
    await proof.calls("diligent", ByHand.before_run, calls, work)


def plainly(shape: Shape) -> tuple[int, ...]:
    """Evaluates a shape by following inputs from its ends."""

    def value(op: int) -> int:
        inputs = shape.inputs[op]
        if len(inputs) > FEW:
            return len(inputs)
        return value(inputs[0]) + 1 if inputs else 0

    return tuple(map(value, shape.ends))


@pytest.mark.parametrize("name", SHAPES)
async def test_contenders_agree(name: str) -> None:
    """Our session, straight-line code and tasks give the same values for each shape."""
    shape = SHAPES[name](200)
    functions = inline()
    graph, fetches = graph_of(shape, functions)
    expected = plainly(shape)
    assert shape.expected() == expected
    async with ah.Session(graph) as session:
        assert await session.run(fetches) == expected
    assert await straight_line(shape, functions)() == expected
    assert await anyio_group(shape, functions)() == expected


@pytest.mark.asyncio
@pytest.mark.parametrize("name", SHAPES)
async def test_tasks_agree(name: str) -> None:
    """One asyncio task for each op gives the same values too."""
    shape = SHAPES[name](200)
    assert await task_group(shape, inline())() == plainly(shape)


@pytest.mark.parametrize("name", SHAPES)
async def test_large_graph_fails_and_is_cancelled(name: str) -> None:
    """The proof that a run can fail and be cancelled in its middle holds for each shape."""
    shape = SHAPES[name](200)
    await check_large_graph(shape, *graph_of(shape, inline()))


async def test_steps_are_done(anyio_backend: str) -> None:
    """Each way to do a step passes its proof."""
    async with steps(anyio_backend) as contenders:
        names = [each.name for each in contenders]
        for each in contenders:
            if each.check is not None:
                await each.check()
    assert len(set(names)) == len(names)
    assert {"ours, 0 hooks", "ours, 10 fetches", "by hand, 10 hooks"} <= set(names)
