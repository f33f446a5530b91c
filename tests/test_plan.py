"""Run plans: which ops, in which order, and whether any may overlap."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

import asynchooks as ah
from asynchooks._graph import OpKind
from asynchooks._plan import Plan, compile_plan


def make(name: str, *needs: ah.Op[Any], kind: str = "async") -> ah.Op[Any]:
    """Makes an op of the default graph that may suspend, unless it is plain."""

    async def suspends(*args: Any) -> None:
        return None

    fn = suspends if kind == "async" else lambda *args: None
    return ah.op(name=name, thread=kind == "thread")(fn)(*needs)


def story(plan: Plan) -> list[str]:
    """Returns the ops that a plan evaluates, in its order, after checking the order."""
    order = started(plan) if plan.concurrent else plan.order
    place = {plan.ops[op]: place for place, op in enumerate(order)}
    for op, own in place.items():
        assert all(place.get(each, -1) < own for each in (*op.inputs, *op.control_inputs))
    return [op.name for op in place]


def started(plan: Plan) -> list[int]:
    """Returns the ops of a concurrent plan in the order in which they become ready."""
    ready, waiting = list(plan.first), list(plan.waiting)
    for op in ready:
        step = plan.steps[op]
        ready += step.freed
        for successor in step.awaited:
            waiting[successor] -= 1
            if not waiting[successor]:
                ready.append(successor)
    return ready


def inputs(plan: Plan, op: ah.Op[Any]) -> list[ah.Op[Any]]:
    """Returns the ops whose values the call of `op` takes."""
    step = plan.steps[plan.ops.index(op)]
    if step.arguments is None:
        return [plan.ops[step.place]]
    return list(step.arguments(plan.ops))


def test_plan_holds_what_is_needed_only() -> None:
    """Only what the fetches need is evaluated, each op once, inputs before what takes them."""
    with ah.Graph().as_default():
        a, b = make("a"), make("b")
        c = make("c", a, a)
        make("d", c)
        e = make("e", c, a)
    plan = compile_plan([e, a], [])
    assert story(plan) == ["a", "c", "e"]
    assert [op.name for op in plan.ops[:2]] == ["e", "a"]
    assert b not in plan.ops


def test_plan_stops_at_what_is_fed() -> None:
    """A fed op is not evaluated, nor what only it needs; its value is where others look for it."""
    with ah.Graph().as_default():
        a = make("a")
        b = make("b", a)
        c = make("c", b)
        unused = make("unused")
    plan = compile_plan([c, b], [unused, b])
    assert story(plan) == ["c"]
    assert [plan.ops[op] for op in plan.fed] == [unused, b]
    assert inputs(plan, c) == [b]
    assert plan.steps[plan.ops.index(b)].kind is OpKind.PLACEHOLDER


def test_control_inputs_order_but_give_nothing() -> None:
    """A control input is evaluated before, and its value is not taken."""
    with ah.Graph().as_default():
        a, b = make("a"), make("b")
        with ah.control_dependencies([b, a]):
            c = make("c", a)
    plan = compile_plan([c], [])
    assert sorted(story(plan)[:2]) == ["a", "b"]
    assert inputs(plan, c) == [a]


def test_nothing_fetched_is_an_empty_plan() -> None:
    """A plan without fetches evaluates nothing."""
    plan = compile_plan([], [])
    assert (plan.ops, plan.order, plan.concurrent, plan.stateful) == ((), (), False, False)


def test_placeholder_is_refused_only_where_it_is_needed() -> None:
    """A plan that needs a placeholder without a value is refused."""
    with ah.Graph().as_default():
        p = ah.placeholder("p")
        x = make("x", p)
    with pytest.raises(ah.InvalidArgumentError, match="'p' is needed and not fed"):
        compile_plan([x], [])
    assert story(compile_plan([x], [p])) == ["x"]
    assert story(compile_plan([x], [x])) == []


def chain(kinds: str) -> list[ah.Op[Any]]:
    """Makes ops that follow one another: s may suspend, p is plain, t runs in a thread."""
    ops: list[ah.Op[Any]] = []
    words = {"s": "async", "p": "plain", "t": "thread"}
    for number, kind in enumerate(kinds):
        ops.append(make(f"{kind}{number}", *ops[-1:], kind=words[kind]))
    return ops


@pytest.mark.parametrize("kinds", ["s", "ssss", "pspsp", "tst", "pppp"])
def test_line_of_ops_needs_no_concurrency(kinds: str) -> None:
    """Ops that follow one another never overlap."""
    with ah.Graph().as_default():
        assert not compile_plan(chain(kinds), []).concurrent


def test_ops_beside_one_another_may_overlap() -> None:
    """Two that may suspend and do not follow one another overlap; a plain one does not count."""
    with ah.Graph().as_default():
        a, b, p, t = make("a"), make("b"), make("p", kind="plain"), make("t", kind="thread")
        after_a = make("after_a", a)
    assert compile_plan([a, b], []).concurrent
    assert compile_plan([a, t], []).concurrent
    assert compile_plan([after_a, b], []).concurrent
    assert not compile_plan([a, p], []).concurrent
    assert not compile_plan([a, b], [b]).concurrent
    assert not compile_plan([after_a, a], []).concurrent


def follows(op: ah.Op[Any], other: ah.Op[Any]) -> bool:
    """Tells whether `op` needs `other`, directly or not."""
    return any(each is other or follows(each, other) for each in op.inputs)


@pytest.mark.parametrize("seed", range(40))
def test_concurrency_is_found_exactly(seed: int) -> None:
    """In random graphs, a plan is concurrent just if two that may suspend are not ordered."""
    draw = random.Random(seed)
    ops: list[ah.Op[Any]] = []
    with ah.Graph().as_default():
        for number in range(draw.randint(1, 7)):
            needs = [op for op in ops if draw.random() < 0.6]
            ops.append(make(f"op{number}", *needs, kind=draw.choice(["async", "plain"])))
    suspend = [op for op in ops if op.kind is OpKind.ASYNC]
    unordered = [
        (a, b)
        for a in suspend
        for b in suspend
        if a is not b and not (follows(a, b) or follows(b, a))
    ]
    plan = compile_plan(ops, [])
    assert plan.concurrent == bool(unordered)
    assert sorted(story(plan)) == sorted(op.name for op in ops)


def test_plan_says_whether_it_needs_a_transaction() -> None:
    """A plan is stateful if an op that it evaluates reads or changes state; what is fed is not."""
    with ah.Graph().as_default():
        v = ah.Variable(1)
        x = make("x", v)
        item = ah.from_iterable([1]).get_next()
    assert compile_plan([x], []).stateful
    assert compile_plan([item], []).stateful
    assert not compile_plan([x], [v]).stateful
    assert not compile_plan([make("y", x)], [x]).stateful


def named(plan: Plan, ops: Sequence[int]) -> list[str]:
    """Returns the names of some ops of a plan."""
    return [plan.ops[op].name for op in ops]


def test_plan_knows_the_last_use_of_each_value() -> None:
    """In a line, each value that is not fetched is done with after the last call that takes it."""
    with ah.Graph().as_default():
        a = make("a")
        b = make("b", a)
        c = make("c", a, b)
    plan = compile_plan([c, b], [])
    done = [named(plan, plan.steps[op].done_with) for op in plan.order]
    assert (story(plan), done) == (["a", "b", "c"], [[], [], ["a"]])


def test_plan_knows_which_uses_to_count() -> None:
    """A value that one call takes is done with after it; those that several take are counted."""
    with ah.Graph().as_default():
        a, b, fetched = make("a"), make("b"), make("fetched")
        c, d = make("c", a, b, fetched), make("d", a)
    plan = compile_plan([fetched, c, d], [])
    steps = dict(zip([op.name for op in plan.ops], plan.steps, strict=True))
    assert plan.concurrent
    assert (named(plan, steps["c"].done_with), named(plan, steps["c"].shared)) == (["b"], ["a"])
    assert (named(plan, steps["d"].done_with), named(plan, steps["d"].shared)) == ([], ["a"])
    assert plan.uses[plan.ops.index(a)] == 2


def test_plan_knows_what_an_op_frees() -> None:
    """Ops that wait for one op only are free after it; where any waits for more, all count."""
    with ah.Graph().as_default():
        a, b = make("a"), make("b")
        alone, too = make("alone", a), make("too", a)
        both, after_b = make("both", alone, b), make("after_b", b)
    plan = compile_plan([both, too, after_b], [])
    steps = dict(zip([op.name for op in plan.ops], plan.steps, strict=True))
    assert (named(plan, steps["a"].freed), steps["a"].awaited) == (["alone", "too"], ())
    assert (steps["b"].freed, named(plan, steps["b"].awaited)) == ((), ["both", "after_b"])
