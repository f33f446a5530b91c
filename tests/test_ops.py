"""Ops: the decorator, arguments, constants, groups, and how their functions are called."""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

import anyio
import pytest

import asynchooks as ah


async def run(op: ah.Op[Any], feeds: Any = None) -> Any:
    """Runs one op of its graph."""
    async with ah.Session(op.graph) as session:
        return await session.run(op, feeds)


class Pair(NamedTuple):
    """A named tuple among the arguments."""

    left: Any
    right: Any


async def plus(a: int, b: int = 1, *more: int, c: int = 0) -> int:
    """Adds up, awaiting."""
    await anyio.lowlevel.checkpoint()
    return a + b + sum(more) + c


class Callables:
    """Objects of all shapes that can be the function of an op."""

    @staticmethod
    async def static(a: int) -> int:
        return a + 1

    async def method(self, a: int) -> int:
        return a + 1

    def plain(self, a: int) -> int:
        return a + 1

    async def __call__(self, a: int) -> int:
        return a + 1


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "async function": plus,
    "plain function": Callables().plain,
    "lambda": lambda a: a + 1,
    "plain function of an awaitable": lambda a: plus(a, 1),
    "partial": partial(plus, b=1),
    "bound method": Callables().method,
    "static method": Callables.static,
    "callable object": Callables(),
    "built-in without a signature": partial(max, 2),
}


@pytest.mark.parametrize("fn", FUNCTIONS.values(), ids=FUNCTIONS)
async def test_whatever_can_be_called_can_be_an_op(fn: Callable[..., Any]) -> None:
    """Each shape of function gives its value, awaited where it is to be."""
    with ah.Graph().as_default():
        x = ah.op(fn)(ah.constant(1))
    assert await run(x) == 2


def positional_only(a: int, b: int = 0, /) -> None: ...
def named_too(a: int, b: int, *, c: int = 0) -> None: ...
def needs_a_name(a: int, *, c: int) -> None: ...
def any_number(a: int, *more: int, **named: int) -> None: ...


TAKING = [positional_only, named_too, needs_a_name, any_number, plus, partial(plus, b=1), print]


@pytest.mark.parametrize("names", [(), ("c",), ("c", "d")])
@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("fn", TAKING)
def test_arguments_are_checked_when_the_op_is_made(
    fn: Callable[..., Any], number: int, names: tuple[str, ...]
) -> None:
    """A call is refused exactly if the function could not be called like that."""
    values, named = range(number), dict.fromkeys(names, 1)
    try:
        inspect.signature(fn).bind(*values, **named)
    except TypeError as error:
        expected = str(error)
    else:
        expected = ""
    with ah.Graph().as_default() as graph:
        if not expected:
            assert ah.op(fn)(*values, **named) in graph.get_operations()
            return
        with pytest.raises(TypeError, match=re.escape(expected)):
            ah.op(fn)(*values, **named)
        assert graph.get_operations() == []


def test_nothing_runs_until_a_session_runs_it() -> None:
    """Calling a decorated function only makes an op."""
    calls: list[int] = []
    with ah.Graph().as_default() as graph:
        made = ah.op(calls.append)(1)
    assert isinstance(made, ah.Op)
    assert (calls, graph.get_operations()) == ([], [made])


async def test_ops_inside_nested_arguments_are_found() -> None:
    """Lists, tuples, named tuples and dicts get the values in place of the ops."""
    with ah.Graph().as_default():
        x, y = ah.constant(1), ah.constant(2)
        args = [x, (y, {"a": Pair(x, [y, "s"])}), {"plain": [0]}]
        made = ah.op(lambda *args, **kwargs: (args, kwargs))(args, key={"x": (x,)})
    assert made.inputs == (x, y)
    assert await run(made) == (
        ([1, (2, {"a": Pair(1, [2, "s"])}), {"plain": [0]}],),
        {"key": {"x": (1,)}},
    )


async def test_arguments_without_ops_stay_the_objects_they_are() -> None:
    """A mutable argument in which no op stands is passed on as itself, not as a copy."""
    plain = {"a": [1, (2,)]}
    with ah.Graph().as_default():
        made = ah.op(lambda first, second: (first, second))(plain, [ah.constant(1), plain])
    first, second = await run(made)
    assert first is plain
    assert second[1] is plain


async def test_input_that_is_taken_twice_is_evaluated_once() -> None:
    """An op that stands twice in the arguments is one input."""
    calls: list[int] = []
    with ah.Graph().as_default():
        x = ah.op(lambda: calls.append(1) or 5)()
        made = ah.op(lambda *values: sum(values))(x, x)
    assert made.inputs == (x,)
    assert (await run(made), calls) == (10, [1])


@pytest.mark.parametrize("fn", FUNCTIONS.values(), ids=FUNCTIONS)
def test_decorated_function_keeps_the_plain_one(fn: Callable[..., Any]) -> None:
    """`__wrapped__` is the plain function."""
    assert ah.op(fn).__wrapped__ is fn


def test_names_come_from_function_decorator_and_options() -> None:
    """The function's name is used unless the decorator or its options give another."""
    with ah.Graph().as_default() as graph:
        ah.op(plus)(1)
        named = ah.op(name="sum")(plus)
        named(1)
        named.options(name="more")(1)
        named.options()(1)
        ah.op(partial(plus, 1))()
    assert [op.name for op in graph.get_operations()] == ["plus", "sum", "more", "sum_1", "partial"]


class Counter:
    """A class whose methods make ops."""

    def __init__(self, start: int) -> None:
        self.start = start

    @ah.op
    async def count(self, by: int) -> int:
        return self.start + by

    @ah.op(name="plain", thread=True)
    def count_in_thread(self, by: int) -> int:
        return self.start + by


async def test_methods_can_be_decorated() -> None:
    """A decorated method is bound to its object; on the class it is the decorated function."""
    with ah.Graph().as_default():
        op = ah.group(
            *(made := [Counter(1).count(by=2), Counter(10).count(ah.constant(3))]),
            *(made_too := [Counter(20).count_in_thread(4), Counter.count(Counter(5), 5)]),
        )
    async with ah.Session(op.graph) as session:
        assert await session.run(made + made_too) == [3, 13, 24, 10]
    assert isinstance(Counter.count, ah.OpFunction)


async def test_plain_function_can_run_in_a_thread() -> None:
    """With thread=True the function runs in another thread, with the context of the run."""
    context: ContextVar[str] = ContextVar("context", default="none")
    with ah.Graph().as_default():
        fn = ah.op(thread=True)(lambda a: (threading.get_ident(), context.get(), a))
        here, there = ah.op(threading.get_ident)(), fn(ah.constant("a"))
    context.set("the run's")
    assert await run(here) == threading.get_ident()
    ident, seen, value = await run(there)
    assert ident != threading.get_ident()
    assert (seen, value) == ("the run's", "a")


async def test_awaitable_out_of_a_thread_is_awaited() -> None:
    """A function called in a thread that returns an awaitable has it awaited in the loop."""
    threads: list[int] = []

    async def later() -> str:
        threads.append(threading.get_ident())
        return "value"

    def calls() -> Any:
        threads.append(threading.get_ident())
        return later()

    with ah.Graph().as_default():
        op = ah.op(thread=True)(calls)()
    assert await run(op) == "value"
    assert threads[0] != threads[1] == threading.get_ident()


async def test_threads_leave_the_loop_free() -> None:
    """Two ops in threads that wait for each other, and one in the loop, all get on."""
    barrier = threading.Barrier(2, timeout=5)
    in_loop = anyio.Event()

    async def sets() -> None:
        in_loop.set()

    with ah.Graph().as_default() as graph:
        meet = ah.op(thread=True)(barrier.wait)
        ops = [meet(), meet(), ah.op(sets)()]
    async with ah.Session(graph) as session:
        with anyio.fail_after(5):
            assert sorted((await session.run(ops))[:2]) == [0, 1]
    assert in_loop.is_set()


async def test_constant_gives_its_value_as_it_is() -> None:
    """The value is not copied, not taken apart, and not awaited or called."""
    value = [plus, {"a": ah.Graph()}]

    class Later:
        """An awaitable that must not be awaited."""

        def __await__(self) -> Any:
            raise AssertionError

    later: Awaitable[Any] = Later()
    with ah.Graph().as_default() as graph:
        ops = [ah.constant(value), ah.constant(later, "later"), ah.constant(None)]
    async with ah.Session(graph) as session:
        got = await session.run(ops)
    assert got[0] is value
    assert got[1] is later
    assert got[2] is None
    assert [op.name for op in ops] == ["constant", "later", "constant_1"]


async def test_group_evaluates_its_members() -> None:
    """A group gives None after all of its members; no_op is an empty one."""
    log: list[str] = []
    with ah.Graph().as_default() as graph:
        a, b = ah.op(lambda: log.append("a"))(), ah.op(lambda: log.append("b"))()
        both, named, nothing = ah.group(a, b), ah.group(a, name="g"), ah.no_op()
    async with ah.Session(graph) as session:
        assert await session.run([both, nothing]) == [None, None]
        assert sorted(log) == ["a", "b"]
        assert await session.run(named) is None
    assert sorted(log) == ["a", "a", "b"]
    assert [both.name, named.name, nothing.name] == ["group", "g", "no_op"]


async def test_placeholder_has_the_value_that_is_fed() -> None:
    """A placeholder gives what is fed, None too, and is refused where it is not fed."""
    with ah.Graph().as_default() as graph:
        p, q = ah.placeholder(), ah.placeholder("q")
    async with ah.Session(graph) as session:
        assert await session.run([p, q], {p: None, "q": [1]}) == [None, [1]]
        with pytest.raises(ah.InvalidArgumentError, match="'placeholder' is needed and not fed"):
            await session.run([q, p], {"q": 1})
        assert await session.run(q, {"q": 1}) == 1


async def test_placeholder_that_is_not_needed_is_not_asked_for() -> None:
    """What only a fed op needs may stay without a value."""
    with ah.Graph().as_default():
        p = ah.placeholder("p")
        x = ah.op(lambda p: p)(p)
        y = ah.op(lambda x: x + 1)(x)
    assert await run(y, {x: 1}) == 2
