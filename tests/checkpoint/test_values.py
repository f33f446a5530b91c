"""Values come out of MessagePack as they went in, type by type."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
import pytest

from asynchooks.checkpoint._values import BYTES_AT_ONCE, ITEMS_AT_ONCE, pack, unpack


class Point(NamedTuple):
    """A tuple by another name."""

    x: int


CYCLE: list[object] = []
CYCLE.append(CYCLE)

VALUES = [
    None,
    True,
    0,
    -(2**63),
    2**64 - 1,
    2**64,
    -(2**63) - 1,
    -(2**200),
    1.5,
    float("inf"),
    2 - 1j,
    "",
    "naïve",
    b"",
    b"\x00" * (2 * BYTES_AT_ONCE + 1),
    "é" * (BYTES_AT_ONCE + 1),
    [],
    list(range(15)),
    list(range(16)),
    [[n] for n in range(ITEMS_AT_ONCE + 1)],
    list(range(2 * ITEMS_AT_ONCE + 1)),
    [2**70, *range(20)],
    ["x" * BYTES_AT_ONCE, "y"],
    {},
    {"a": [1, {"b": None}], 2: "two", (1, 2): "pair", frozenset({1}): {1}},
    {str(n): float(n) for n in range(ITEMS_AT_ONCE)},
    (1, (2, [3])),
    {1, "a", (2,)},
    frozenset(),
    datetime(2026, 12, 7, 12, 30, 1, 5),
    datetime(2026, 12, 7, 12, 30, tzinfo=UTC),
    datetime(2026, 12, 7, tzinfo=timezone(timedelta(hours=-3, minutes=-30))),
    date(2026, 12, 7),
    time(23, 59, 59, 999_999),
    timedelta(days=-1, seconds=3, microseconds=4),
    np.float32(2.5),
    np.int64(-3),
    np.bool_(True),
    np.datetime64("2026-12-07"),
    np.str_("word"),
]

ARRAYS = [
    np.arange(12).reshape(3, 4).T,
    np.array(3.0),
    np.zeros((0, 3), dtype=np.float16),
    np.array(["one", "three"]),
    np.array([b"x", b"yz"]),
    np.array(["2026-12-07"], dtype="M8[D]"),
    np.arange(3, dtype=">i2"),
    np.array([True, False]),
    np.array([1j]),
    np.zeros(BYTES_AT_ONCE, dtype=np.int32),
]


def round_trip(value: object) -> Any:
    """Packs a value and unpacks it."""
    out = BytesIO()
    pack(value, out)
    return unpack(out.getvalue())


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:40])
def test_value_comes_back(value: object) -> None:
    """A value comes back equal and of the same type, at any depth."""
    came_back = round_trip([value])
    assert repr(came_back) == repr([value]) or came_back == [value]
    assert type(came_back[0]) is type(value)
    assert came_back[0] == value


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype} {array.shape}")
def test_array_comes_back(array: np.ndarray[Any, Any]) -> None:
    """An array comes back with its dtype, shape and items, and can be written to."""
    came_back = round_trip({"weights": array})["weights"]
    assert (came_back.dtype, came_back.shape) == (array.dtype, array.shape)
    assert came_back.tolist() == array.tolist()
    assert came_back.flags.writeable


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (object(), TypeError, "type builtins.object cannot be saved; keep it as plain data"),
        (Point(1), TypeError, r"Point cannot be saved"),
        ([1, bytearray()], TypeError, "bytearray cannot be saved"),
        ({"a": {"b": print}}, TypeError, "builtin_function_or_method cannot be saved"),
        (np.array([None]), TypeError, "numpy values of dtype object cannot be saved"),
        (np.zeros(1, dtype="i4,f4")[0], TypeError, "cannot be saved; choose a plain dtype"),
        (np.ma.masked_array([1]), TypeError, "MaskedArray cannot be saved"),
        ("\ud800", UnicodeEncodeError, "surrogates not allowed"),
        (CYCLE, RecursionError, "recursion"),
    ],
)
def test_other_value_is_refused(value: object, error: type[Exception], message: str) -> None:
    """What would not come back as it is is refused."""
    with pytest.raises(error, match=message):
        round_trip(value)


def test_numpy_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without numpy plain data are saved; reading an array says what is missing."""
    out = BytesIO()
    pack(np.arange(3), out)
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert round_trip((1, [2])) == (1, [2])
    with pytest.raises(TypeError, match=r"builtins.object cannot be saved"):
        round_trip(object())
    with pytest.raises(ImportError, match="install numpy to read it"):
        unpack(out.getvalue())


def test_array_of_objects_is_not_read() -> None:
    """Data that ask for an array of objects are refused."""
    out = BytesIO()
    pack(np.zeros(1), out)
    with pytest.raises(TypeError, match="dtype object"):
        unpack(out.getvalue().replace(b"<f8", b"|O8"))
