"""The graph: names, members, the default graph, control dependencies, being final."""

from __future__ import annotations

from contextvars import copy_context
from typing import Any

import anyio
import pytest

import asynchooks as ah


def names(graph: ah.Graph) -> list[str]:
    """Returns the names of the graph's ops, in order."""
    return [op.name for op in graph.get_operations()]


def test_names_are_made_unique_as_in_tensorflow() -> None:
    """A name that is taken gets _1, _2, ..., past those that were chosen by hand."""
    with ah.Graph().as_default() as graph:
        for name in ["x", "x", "x_2", "x", "x", "x_1", "y"]:
            ah.no_op(name)
    assert names(graph) == ["x", "x_1", "x_2", "x_3", "x_4", "x_1_1", "y"]


def test_ops_are_found_by_name() -> None:
    """Each op is found under its name, and only in its graph."""
    with ah.Graph().as_default() as graph:
        x = ah.constant(1, "x")
    assert graph.get_operation_by_name("x") is x
    assert graph.get_operations() == [x]
    with pytest.raises(ValueError, match="no op named 'x'; it has no ops"):
        ah.Graph().get_operation_by_name("x")


def test_unknown_name_shows_some_of_the_known() -> None:
    """The error of an unknown name lists at most 20 names."""
    with ah.Graph().as_default() as graph:
        for number in range(21):
            ah.no_op(f"op{number}")
    with pytest.raises(ValueError, match=r"it has 'op0', .*'op19', \.\.\.$"):
        graph.get_operation_by_name("q")


def test_list_of_ops_is_a_copy() -> None:
    """What is done to the list of ops is not done to the graph."""
    graph = ah.Graph()
    graph.get_operations().append(ah.Op)  # type: ignore[arg-type]
    assert graph.get_operations() == []


def test_collections_keep_what_was_added() -> None:
    """A collection holds its values in order; an unknown one is empty; the list is a copy."""
    graph = ah.Graph()
    graph.add_to_collection("c", 1)
    graph.add_to_collection("c", "two")
    graph.get_collection("c").append(3)
    assert graph.get_collection("c") == [1, "two"]
    assert graph.get_collection("d") == []


def test_default_graph_is_that_of_the_innermost_block() -> None:
    """Blocks nest, and leaving one by an error restores the outer one."""
    first, outer, inner = ah.get_default_graph(), ah.Graph(), ah.Graph()
    with outer.as_default() as given:
        assert given is outer
        with pytest.raises(ValueError, match="x"), inner.as_default():
            assert ah.get_default_graph() is inner
            raise ValueError("x")
        assert ah.get_default_graph() is outer
    assert ah.get_default_graph() is first


def test_default_graph_belongs_to_the_context() -> None:
    """Another context does not see the block of this one."""
    context = copy_context()
    with ah.Graph().as_default() as graph:
        assert context.run(ah.get_default_graph) is not graph


async def test_tasks_have_default_graphs_of_their_own() -> None:
    """Tasks that build graphs at the same time do not mix them."""

    async def build(name: str) -> None:
        with ah.Graph().as_default() as graph:
            for _ in range(3):
                ah.no_op(name)
                await anyio.lowlevel.checkpoint()
        assert names(graph) == [name, f"{name}_1", f"{name}_2"]

    async with anyio.create_task_group() as tasks:
        for name in "abc":
            tasks.start_soon(build, name)


def test_op_goes_to_the_graph_of_its_inputs() -> None:
    """An op that takes an op belongs to that one's graph, whatever the default is."""
    with ah.Graph().as_default() as graph:
        x = ah.constant(1, "x")
    with ah.Graph().as_default():
        y = ah.op(lambda x: x)(x)
        z = ah.group(x)
    assert y.graph is z.graph is x.graph is graph


def test_ops_show_what_they_are() -> None:
    """The repr of an op says kind and name."""
    with ah.Graph().as_default():
        made = [ah.placeholder("p"), ah.Variable(1, "v")]
    assert [repr(each) for each in made] == ["<Op 'p'>", "<Variable 'v'>"]


def test_final_graph_takes_no_more_ops() -> None:
    """After finalize() every way to make an op is refused, with its name, and nothing is added."""
    with ah.Graph().as_default() as graph:
        x = ah.constant(1, "x")
        v = ah.Variable(1, "v")
        source = ah.from_iterable([1], "s")
        graph.finalize()
        graph.finalize()
        ways: dict[str, Any] = {
            "<lambda>": lambda: ah.op(lambda x: x)(x),
            "p": lambda: ah.placeholder("p"),
            "v/assign": lambda: v.assign(2),
            "w": lambda: ah.Variable(1, "w"),
            "s/get_next": source.get_next,
            "print": lambda: ah.resource(print),
            "group": lambda: ah.group(x),
            "global_step": ah.get_or_create_global_step,
        }
        for name, way in ways.items():
            with pytest.raises(ah.GraphFinalizedError, match="the graph is final") as caught:
                way()
            assert caught.value.op_name == name
    assert graph.finalized
    assert names(graph) == ["x", "v"]
    assert not v.assigned


async def test_graph_is_final_while_sessions_live() -> None:
    """A graph is final from the first of its live sessions' start to the last one's end."""
    graph = ah.Graph()
    seen = [graph.finalized]
    async with ah.MonitoredSession(graph):
        async with ah.MonitoredSession(graph):
            seen.append(graph.finalized)
        seen.append(graph.finalized)
    seen.append(graph.finalized)
    graph.finalize()
    async with ah.MonitoredSession(graph):
        seen.append(graph.finalized)
    assert [*seen, graph.finalized] == [False, True, True, False, True, True]


async def test_graph_is_open_again_after_entering_failed() -> None:
    """A session that could not be entered does not keep the graph final."""

    class A(ah.SessionRunHook):
        async def after_create_session(self, session: ah.Session, coord: ah.Coordinator) -> None:
            raise ValueError("A")

    graph = ah.Graph()
    with pytest.raises(ValueError, match="A"):
        async with ah.MonitoredSession(graph, [A()]):
            pass
    assert not graph.finalized


async def test_control_dependencies_come_first() -> None:
    """Ops of the block are evaluated after the dependencies, once each, in every run."""
    log: list[str] = []

    def note(name: str) -> ah.Op[Any]:
        return ah.op(name=name)(lambda: log.append(name))()

    with ah.Graph().as_default() as graph:
        a, b = note("a"), note("b")
        with graph.control_dependencies([a]), ah.control_dependencies(iter([b, a])):
            c = note("c")
        d = note("d")
    assert c.control_inputs == (a, b)
    assert (c.inputs, d.control_inputs) == ((), ())
    async with ah.Session(graph) as session:
        await session.run(d)
        await session.run([c, a])
    assert log == ["d", "a", "b", "c"]


@pytest.mark.parametrize("how", ["decorator", "options", "block"])
async def test_control_dependencies_can_be_said_in_three_ways(how: str) -> None:
    """The decorator, its options and a block all order an op after others."""
    with ah.Graph().as_default() as graph:
        a = ah.no_op("a")
        if how == "decorator":
            b = ah.op(control_dependencies=[a])(lambda: 1)()
        elif how == "options":
            b = ah.op(lambda: 1).options(control_dependencies=[a])()
        else:
            with ah.control_dependencies([a]):
                b = ah.op(lambda: 1)()
    assert b.control_inputs == (a,)
    async with ah.Session(graph) as session:
        assert await session.run(b) == 1


def test_control_dependencies_add_up_without_doubles() -> None:
    """Dependencies of block, decorator and options are one list in which each stands once."""
    with ah.Graph().as_default():
        a, b, c = ah.no_op("a"), ah.no_op("b"), ah.no_op("c")
        fn = ah.op(control_dependencies=[b])(lambda: 1)
        with ah.control_dependencies([a]), ah.control_dependencies([b]):
            d = fn.options(control_dependencies=[c, a])()
        e = fn()
    assert d.control_inputs == (a, b, c)
    assert e.control_inputs == (b,)


def test_control_dependencies_touch_only_their_graph() -> None:
    """An op that is made in a block for another graph does not depend on the block's ops."""
    with ah.Graph().as_default():
        other = ah.constant(1)
    with ah.Graph().as_default() as graph:
        a = ah.no_op()
        with graph.control_dependencies([a]):
            here, there = ah.constant(1), ah.op(lambda x: x)(other)
    assert (here.control_inputs, there.control_inputs) == ((a,), ())


async def test_fed_op_takes_its_control_dependencies_out() -> None:
    """What only a fed op comes after is not evaluated."""
    log: list[str] = []
    with ah.Graph().as_default() as graph:
        a = ah.op(lambda: log.append("a"))()
        with graph.control_dependencies([a]):
            b = ah.constant(1)
    async with ah.Session(graph) as session:
        assert await session.run(b, {b: 2}) == 2
    assert log == []
