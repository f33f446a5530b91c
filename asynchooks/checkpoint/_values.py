"""Values as MessagePack, without losing their types; reading them runs no code."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from io import SEEK_END, BytesIO
from itertools import chain, islice
from typing import Any, cast

import msgspec

from asynchooks.checkpoint import _arrays

# A call into C holds the lock of the interpreter, so none gets more than this at once: the event
# loop runs on beside the thread that packs.
ITEMS_AT_ONCE = 1024
BYTES_AT_ONCE = 1 << 20

_NUMBERS: frozenset[type] = frozenset({type(None), bool, int, float})
_SCALARS: frozenset[type] = _NUMBERS | {str, bytes}
_ARRAY, _MAP, _BYTES, _TEXT, _EXTENSION = 0xDD, 0xDF, 0xC6, 0xDB, 0xC9
_SIZE = struct.Struct(">BI")
_EXTENSION_HEAD = struct.Struct(">BIb")
# MessagePack's array of at most 15 items begins with one byte, that of at most 65,535 with three.
_LARGEST_SMALL_ARRAY, _ARRAY_HEADS = 15, (1, 3)
_BIG_INT, _NUMPY_ARRAY, _NUMPY_SCALAR = 4, 10, 11

_TO_PLAIN: dict[type, tuple[int, Callable[[Any], object]]] = {
    tuple: (1, list),
    set: (2, list),
    frozenset: (3, list),
    datetime: (5, datetime.isoformat),
    date: (6, date.isoformat),
    time: (7, time.isoformat),
    timedelta: (8, lambda value: [value.days, value.seconds, value.microseconds]),
    complex: (9, lambda value: [value.real, value.imag]),
}
_FROM_PLAIN: dict[int, Callable[[Any], object]] = {
    1: tuple,
    2: set,
    3: frozenset,
    _BIG_INT: lambda data: int.from_bytes(data, "big", signed=True),
    5: datetime.fromisoformat,
    6: date.fromisoformat,
    7: time.fromisoformat,
    8: lambda parts: timedelta(*parts),
    9: lambda parts: complex(*parts),
    _NUMPY_ARRAY: _arrays.array_from_plain,
    _NUMPY_SCALAR: _arrays.scalar_from_plain,
}

_encode = msgspec.msgpack.Encoder().encode


def pack(value: object, out: BytesIO) -> None:
    """Appends a value to `out`.

    Args:
        value: None, bool, int, float, complex, str, bytes, a date, time, datetime or timedelta, a
            numpy array or scalar, or lists, tuples, sets, frozensets and dicts of them.
        out: where it is written, at the end.

    Raises:
        TypeError: something in it is of another type, be it a subclass of one of these.
        Exception: something else is wrong with it, such as a cycle.
    """
    kind = type(value)
    if kind is bytes and len(cast("bytes", value)) > BYTES_AT_ONCE:
        _pack_pieces(_BYTES, memoryview(cast("bytes", value)), out)
    elif kind is str and len(cast("str", value)) > BYTES_AT_ONCE:
        _pack_pieces(_TEXT, memoryview(cast("str", value).encode()), out)
    elif kind in _SCALARS:
        _pack_scalar(value, out)
    elif kind is list:
        items = cast("list[object]", value)
        pack_array_head(len(items), out)
        _pack_items(items, out)
    elif kind is dict:
        pairs = cast("dict[object, object]", value)
        pack_map_head(len(pairs), out)
        _pack_items(chain.from_iterable(pairs.items()), out)
    elif kind is _arrays.Raw:
        _pack_pieces(_BYTES, cast("_arrays.Raw", value).view, out)
    else:
        _pack_extension(value, out)


def pack_array_head(size: int, out: BytesIO) -> None:
    """Begins a list, whose items are packed next."""
    out.write(_SIZE.pack(_ARRAY, size))


def pack_map_head(size: int, out: BytesIO) -> None:
    """Begins a dict, whose keys and values are packed next in turn."""
    out.write(_SIZE.pack(_MAP, size))


def unpack(data: bytes | memoryview) -> Any:
    """Returns the value that was packed.

    Raises:
        Exception: the data are broken.
    """
    return _decode(data)


def _pack_items(items: Iterable[object], out: BytesIO) -> None:
    iterator = iter(items)
    while some := list(islice(iterator, ITEMS_AT_ONCE)):
        if not _packed_at_once(some, out):
            for item in some:
                pack(item, out)


def _packed_at_once(some: list[object], out: BytesIO) -> bool:
    # Many times as fast as one by one.
    kinds = set(map(type, some))
    if not kinds <= _NUMBERS and not (kinds <= _SCALARS and _length(some) <= BYTES_AT_ONCE):
        return False
    try:
        encoded = _encode(some)
    except OverflowError:
        return False
    out.write(memoryview(encoded)[_ARRAY_HEADS[len(some) > _LARGEST_SMALL_ARRAY] :])
    return True


def _length(some: list[object]) -> int:
    return sum(len(item) for item in some if isinstance(item, str | bytes))


def _pack_scalar(value: object, out: BytesIO) -> None:
    try:
        out.write(_encode(value))
    except OverflowError:
        number = cast("int", value)
        _pack_as(_BIG_INT, number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True), out)


def _pack_pieces(kind: int, view: memoryview, out: BytesIO) -> None:
    out.write(_SIZE.pack(kind, len(view)))
    starts = range(0, len(view), BYTES_AT_ONCE)
    out.writelines(view[start : start + BYTES_AT_ONCE] for start in starts)


def _pack_extension(value: object, out: BytesIO) -> None:
    known = _TO_PLAIN.get(type(value))
    if known is not None:
        code, to_plain = known
        _pack_as(code, to_plain(value), out)
    elif (plain := _arrays.array_to_plain(value)) is not None:
        _pack_as(_NUMPY_ARRAY, plain, out)
    elif (plain := _arrays.scalar_to_plain(value)) is not None:
        _pack_as(_NUMPY_SCALAR, plain, out)
    else:
        kind = type(value)
        raise TypeError(
            f"a value of type {kind.__module__}.{kind.__qualname__} cannot be saved; keep it as "
            "plain data (None, numbers, strings, bytes, dates, numpy arrays, or lists, tuples, "
            "sets and dicts of them)"
        )


def _pack_as(code: int, plain: object, out: BytesIO) -> None:
    start = out.tell()
    out.write(_EXTENSION_HEAD.pack(_EXTENSION, 0, code))
    inside = out.tell()
    pack(plain, out)
    length = out.tell() - inside
    out.seek(start)
    out.write(_EXTENSION_HEAD.pack(_EXTENSION, length, code))
    out.seek(0, SEEK_END)


def _unpack_extension(code: int, data: memoryview) -> object:
    return _FROM_PLAIN[code](_decode(data))


_decode = msgspec.msgpack.Decoder(ext_hook=_unpack_extension).decode
