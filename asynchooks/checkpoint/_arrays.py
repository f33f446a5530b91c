"""Numpy's arrays and scalars as plain data; numpy is imported only where there is one."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

# Bools, integers, floats, complex numbers, bytes, strings, time spans and times: what is no object.
_PLAIN_KINDS = "biufcSUmM"


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes that need no copy to be packed.

    Attributes:
        view: them.
    """

    view: memoryview


def array_to_plain(value: object) -> list[object] | None:
    """Returns what to pack for a numpy array, None for anything else.

    Raises:
        TypeError: its items are not plain.
    """
    numpy = _imported_numpy()
    if numpy is None or type(value) is not numpy.ndarray:
        return None
    array: Any = value
    _check_plain(array.dtype)
    data = numpy.ascontiguousarray(array).reshape(-1)
    view = data.view(numpy.uint8).data if data.nbytes else memoryview(b"")
    return [array.dtype.str, list(array.shape), Raw(view)]


def scalar_to_plain(value: object) -> list[object] | None:
    """Returns what to pack for a numpy scalar, None for anything else.

    Raises:
        TypeError: it is not plain.
    """
    numpy = _imported_numpy()
    if numpy is None or not isinstance(value, numpy.generic):
        return None
    scalar: Any = value
    _check_plain(scalar.dtype)
    return [scalar.dtype.str, scalar.tobytes()]


def array_from_plain(plain: Any) -> object:
    """Returns the array, which can be written to."""
    dtype, shape, data = plain
    return _flat(dtype, data).reshape(shape).copy()


def scalar_from_plain(plain: Any) -> object:
    """Returns the scalar."""
    dtype, data = plain
    return _flat(dtype, data)[0]


def _imported_numpy() -> Any:
    return sys.modules.get("numpy")


def _check_plain(dtype: Any) -> None:
    if dtype.kind not in _PLAIN_KINDS:
        raise TypeError(f"numpy values of dtype {dtype} cannot be saved; choose a plain dtype")


def _flat(name: str, data: bytes) -> Any:
    try:
        import numpy as np
    except ImportError as error:
        raise ImportError("the checkpoint holds numpy arrays; install numpy to read it") from error
    dtype = np.dtype(name)
    _check_plain(dtype)
    return np.frombuffer(data, dtype)
