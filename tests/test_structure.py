"""Nested structures, taken apart and put together again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asynchooks._structure import Build, Constant, compile_arguments, compile_fetches, leaf_at


class Pair(NamedTuple):
    """A named tuple."""

    left: Any
    right: Any


@dataclass(frozen=True)
class Record:
    """A frozen dataclass."""

    first: Any
    rest: Any


@dataclass
class Sized:
    """A dataclass that works something out of its fields."""

    items: Any
    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.size = len(self.items)


@dataclass
class Scaled:
    """A dataclass with an argument that is no field."""

    items: Any
    scale: InitVar[int] = 1


class View(Mapping[str, Any]):
    """A mapping that is no dict."""

    def __getitem__(self, key: str) -> Any:
        return {"a": 1, "b": [2]}[key]

    def __iter__(self) -> Iterator[str]:
        return iter("ab")

    def __len__(self) -> int:
        return 2


def leaves_of(structure: object) -> tuple[list[object], Build]:
    """Returns the leaves in the order in which they are found, and what builds the structure."""
    found: list[object] = []

    def leaf(value: object) -> Build:
        found.append(value)
        return leaf_at(len(found) - 1)

    return found, compile_fetches(structure, leaf)


SHAPES: list[tuple[Any, list[object]]] = [
    (1, [1]),
    ([], []),
    ((), []),
    ({}, []),
    ([1, [2, [3]]], [1, 2, 3]),
    ((1, (2,)), [1, 2]),
    ({"a": 1, "b": {"c": 2}}, [1, 2]),
    (Pair(1, Pair([2], (3,))), [1, 2, 3]),
    (Record(1, Record({"a": 2}, Pair(3, 4))), [1, 2, 3, 4]),
    ([1, 1, [1]], [1, 1, 1]),
    ("text", ["text"]),
]


@pytest.mark.parametrize(("structure", "expected"), SHAPES)
def test_leaves_are_found_in_order_and_put_back(structure: Any, expected: list[object]) -> None:
    """Every leaf is found once in order, and the same nesting is built from new values."""
    found, build = leaves_of(structure)
    assert found == expected
    assert build(found) == structure
    assert type(build(found)) is type(structure)


def test_special_kinds_become_the_nearest_builtin() -> None:
    """A dict of another class becomes a dict, with its keys in order."""
    for structure in (OrderedDict(b=1, a=2), View()):
        found, build = leaves_of(structure)
        built = build(found)
        assert type(built) is dict
        assert list(built.items()) == list(structure.items())


@pytest.mark.parametrize("record", [Sized([1]), Scaled([1])])
def test_dataclass_that_cannot_be_made_anew_is_refused(record: object) -> None:
    """A dataclass whose fields are not just its arguments cannot be built from new values."""
    with pytest.raises(TypeError, match=f"cannot fetch a {type(record).__name__}: the fields"):
        leaves_of(record)


def test_dataclass_itself_is_a_leaf() -> None:
    """A class is no instance: it is not taken apart."""
    assert leaves_of([Record])[0] == [Record]


def test_same_object_twice_is_no_cycle() -> None:
    """An object may stand in a structure several times, as long as it is not in itself."""
    shared = [1]
    found, build = leaves_of([shared, {"a": shared}, (shared, shared)])
    assert found == [1, 1, 1, 1]
    assert build([1, 2, 3, 4]) == [[1], {"a": [2]}, ([3], [4])]


def constants(structure: object) -> Build:
    """Compiles arguments in which strings are values to be filled in."""
    return compile_arguments(
        structure, lambda value: leaf_at(0) if value == "op" else Constant(value)
    )


def test_arguments_keep_what_is_constant() -> None:
    """A part without a leaf to fill in stays the very object; the rest is built anew."""
    plain: Any = {"a": [1, Record(1, 2)], "b": ()}
    mixed: Any = [plain, ("op", plain)]
    built = constants(mixed)([7])
    assert built == [plain, (7, plain)]
    assert built[0] is plain
    assert built[1][1] is plain
    assert built is not mixed
    assert constants(plain)([7]) is plain


def test_dataclass_among_arguments_is_a_value() -> None:
    """Arguments are taken apart only where they are lists, tuples and dicts."""
    record = Record("op", 1)
    assert constants([record])([7])[0] is record


nested = st.recursive(
    st.integers(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.builds(Pair, inner, inner),
        st.builds(Record, inner, inner),
    ),
)


@given(nested)
def test_any_nesting_is_built_again(structure: Any) -> None:
    """Whatever the nesting, the same values build an equal structure, others one just as long."""
    found, build = leaves_of(structure)
    assert build(found) == structure
    again, _ = leaves_of(build([-1] * len(found)))
    assert again == [-1] * len(found)
