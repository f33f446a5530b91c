"""Variables and the transaction: reading, assigning, overlapping runs, what does not commit."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import asynchooks as ah


class Gate:
    """An op function that waits until the gate is open, after saying that it is there."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self.open = anyio.Event()

    async def __call__(self, *inputs: Any) -> Any:
        self.reached.set()
        await self.open.wait()
        return inputs[0] if inputs else None


async def test_reading_gives_the_value_at_the_start_of_the_run() -> None:
    """A read, also as an input, is old where an assignment of the same run is new."""
    with ah.Graph().as_default() as graph:
        v = ah.Variable(1, "v")
        assign = v.assign(5)
        twice = ah.op(lambda v: 2 * v)(v)
    async with ah.Session(graph) as session:
        assert await session.run([v, assign, twice, v]) == [1, 5, 2, 1]
        assert await session.run([v, twice]) == [5, 10]


async def test_assignments_of_one_run_follow_one_another() -> None:
    """Each assignment of a run goes on from the one before it, and the last value is committed."""
    with ah.Graph().as_default() as graph:
        v = ah.Variable(1)
        first = v.assign_add(10)
        with ah.control_dependencies([first]):
            second = v.assign(first)
        with ah.control_dependencies([second]):
            third = v.assign_add(v)
    async with ah.Session(graph) as session:
        assert await session.run([third, second, first]) == [12, 11, 11]
        assert await session.run(v) == 12


async def test_assigned_value_can_be_nested_ops() -> None:
    """Lists, tuples and dicts with ops in them are assigned with their values in place."""
    with ah.Graph().as_default() as graph:
        v, w = ah.Variable(None), ah.Variable([0])
        x = ah.constant(3)
        assign, add = v.assign({"x": [x, (x, 4)]}), w.assign_add([x])
    async with ah.Session(graph) as session:
        assert await session.run([assign, add]) == [{"x": [3, (3, 4)]}, [0, 3]]
        assert await session.run([v, w]) == [{"x": [3, (3, 4)]}, [0, 3]]


async def test_additions_of_overlapping_runs_add_up() -> None:
    """Each of many runs that overlap adds its share, also where all started from the same value."""
    gate = Gate()
    with ah.Graph().as_default() as graph:
        total = ah.Variable(0)
        add = total.assign_add(ah.op(gate)(1))
    seen: list[int] = []

    async def run() -> None:
        seen.append(await session.run(add))

    async with ah.Session(graph) as session:
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(run)
            await anyio.wait_all_tasks_blocked()
            gate.open.set()
        assert await session.run(total) == 10
    assert seen == [1] * 10


async def test_last_assignment_of_overlapping_runs_wins() -> None:
    """Of two runs that overlap, the one that commits last decides, whichever started first."""
    gates = {"a": Gate(), "b": Gate()}
    with ah.Graph().as_default() as graph:
        v = ah.Variable("")
        ops = {name: v.assign(ah.op(gate)(name)) for name, gate in gates.items()}
    async with ah.Session(graph) as session, anyio.create_task_group() as tasks:
        for name in "ab":
            tasks.start_soon(session.run, ops[name])
            await gates[name].reached.wait()
        for name in "ba":
            gates[name].open.set()
            await anyio.wait_all_tasks_blocked()
            assert await session.run(v) == name


async def test_run_does_not_see_what_others_commit_meanwhile() -> None:
    """A run goes on with the values of its start, also where it reads late."""
    gate = Gate()
    seen: list[Any] = []
    with ah.Graph().as_default() as graph:
        v = ah.Variable(1)
        with ah.control_dependencies([ah.op(gate)()]):
            late = ah.op(lambda v: v)(v)
        assign = v.assign(2)

    async def run() -> None:
        seen.append(await session.run([late, v]))

    async with ah.Session(graph) as session:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await gate.reached.wait()
            await session.run(assign)
            gate.open.set()
        assert await session.run(v) == 2
    assert seen == [[1, 1]]


async def test_addition_meets_an_assignment_that_committed_meanwhile() -> None:
    """An addition is repeated on what is there when it commits."""
    gate = Gate()
    with ah.Graph().as_default() as graph:
        v = ah.Variable(1)
        add, assign = v.assign_add(ah.op(gate)(10)), v.assign(100)
    async with ah.Session(graph) as session:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.run, add)
            await gate.reached.wait()
            await session.run(assign)
            gate.open.set()
        assert await session.run(v) == 110


async def fail(*inputs: Any) -> Any:
    raise ValueError("fails")


async def test_failed_run_leaves_no_trace() -> None:
    """A run that fails after its assignments changes no variable."""
    with ah.Graph().as_default() as graph:
        v, w = ah.Variable(1), ah.Variable("w")
        done = [v.assign_add(1), w.assign("x")]
        last = ah.op(fail)(*done)
    async with ah.Session(graph) as session:
        with pytest.raises(ValueError, match="fails"):
            await session.run([last, *done])
        assert await session.run([v, w]) == [1, "w"]
        assert await session.run([*done]) == [2, "x"]


async def test_cancelled_run_leaves_no_trace() -> None:
    """A run that is cancelled after its assignments changes no variable."""
    gate = Gate()
    with ah.Graph().as_default() as graph:
        v = ah.Variable(1)
        last = ah.op(gate)(v.assign(2))
    async with ah.Session(graph) as session:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.run, last)
            await gate.reached.wait()
            tasks.cancel_scope.cancel()
        assert await session.run(v) == 1


async def test_failed_commit_leaves_no_trace() -> None:
    """A commit that cannot add to what others have assigned meanwhile changes nothing at all."""
    gate = Gate()
    errors: list[Exception] = []
    with ah.Graph().as_default() as graph:
        v, w = ah.Variable(1, "v"), ah.Variable(1, "w")
        source = ah.from_iterable([10, 20])
        waits = ah.op(gate)(source.get_next())
        run = [w.assign(waits), v.assign_add(waits)]
        spoil = v.assign("text")

    async def run_in_vain() -> None:
        try:
            await session.run(run)
        except TypeError as error:
            errors.append(error)

    async with ah.Session(graph) as session:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_in_vain)
            await gate.reached.wait()
            await session.run(spoil)
            gate.open.set()
        assert await session.run([v, w, waits]) == ["text", 1, 10]
    assert len(errors) == 1


async def test_values_live_as_long_as_their_session() -> None:
    """Each session starts with the initial values, unless it is given the state of another."""
    with ah.Graph().as_default() as graph:
        v = ah.Variable(1)
        add = v.assign_add(1)
    async with ah.Session(graph) as session, ah.Session(graph) as other:
        await session.run(add)
        assert (await session.run(v), await other.run(v)) == (2, 1)
    state = ah.SessionState()
    for expected in (2, 3):
        async with ah.Session(graph, state) as session:
            assert await session.run(add) == expected


async def test_value_can_be_none() -> None:
    """None is a value as any other."""
    with ah.Graph().as_default() as graph:
        v = ah.Variable(None)
        assign = v.assign("x")
        clear = v.assign(None)
    async with ah.Session(graph) as session:
        assert [await session.run(op) for op in (v, assign, v, clear, v)] == [
            None,
            "x",
            "x",
            None,
            None,
        ]


def test_names_of_variables_and_assignments() -> None:
    """Assignments are named after their variable unless they are given a name."""
    with ah.Graph().as_default() as graph:
        v = ah.Variable(1)
        v.assign(1)
        v.assign(1)
        v.assign_add(1)
        v.assign_add(1, "more")
        v.assign(1, "set")
    assert [op.name for op in graph.get_operations()] == [
        "variable",
        "variable/assign",
        "variable/assign_1",
        "variable/assign_add",
        "more",
        "set",
    ]


def test_get_variable_makes_it_once() -> None:
    """The first call makes the variable, later ones find it and its initial value."""
    with ah.Graph().as_default() as graph:
        v = ah.get_variable("v", 1)
        assert ah.get_variable("v", 2) is v
        graph.finalize()
        assert ah.get_variable("v", 3) is v
    assert (v.name, v.initial_value) == ("v", 1)


def test_global_step_is_made_once() -> None:
    """There is none until it is asked for; then it is the same for everybody, also by name."""
    graph, other = ah.Graph(), ah.Graph()
    assert ah.get_global_step(graph) is None
    with graph.as_default():
        step = ah.get_or_create_global_step()
        assert ah.get_global_step() is step
    assert ah.get_or_create_global_step(graph) is step
    assert graph.get_operation_by_name("global_step") is step
    assert step.initial_value == 0
    assert ah.get_or_create_global_step(other).graph is other


async def count(session: ah.MonitoredSession, fetches: Any, runs: int = 3) -> int:
    """Makes some runs and returns the global step after them."""
    for _ in range(runs):
        await session.run(fetches)
    step: int = await session.session.run("global_step")
    return step


async def test_global_step_counts_committed_runs() -> None:
    """If no op assigns it, each run of a monitored session that commits adds one."""
    with ah.Graph().as_default() as graph:
        step = ah.get_or_create_global_step()
        fails = ah.op(fail)()
    async with ah.MonitoredSession(graph) as session:
        assert await count(session, step) == 3
        with pytest.raises(ValueError, match="fails"):
            await session.run(fails)
        assert await session.run(step) == 3
        assert await count(session, [], 0) == 4


async def test_global_step_is_the_graphs_business_if_an_op_assigns_it() -> None:
    """Where the graph assigns the global step, runs do not count by themselves."""
    with ah.Graph().as_default() as graph:
        train = ah.get_or_create_global_step().assign_add(10)
    async with ah.MonitoredSession(graph) as session:
        assert await count(session, []) == 0
        assert await count(session, train) == 30


async def test_graph_without_global_step_stays_without() -> None:
    """Runs make no global step."""
    graph = ah.Graph()
    async with ah.MonitoredSession(graph) as session:
        await session.run([])
    assert graph.get_operations() == []
