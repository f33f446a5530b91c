"""The bytes of a checkpoint: magic, version, body, header, digest; a broken one is found out."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import msgspec

from asynchooks._errors import CheckpointError
from asynchooks._state import SourceMark
from asynchooks.checkpoint._values import pack, pack_array_head, pack_map_head, unpack

MAGIC = b"\x89AHCKPT\n"
VERSION = 1
_HEAD = struct.Struct(">8sH")
_HEADER_SIZE = struct.Struct(">I")
_DIGEST_SIZE = 16


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """A checkpoint that retention may delete one day.

    Attributes:
        step: the global step at which it was taken.
        time: when it was written, in seconds since the epoch.
    """

    step: int
    time: float


class Header(msgspec.Struct, frozen=True):
    """What retention and restoring know of a checkpoint without its body.

    Attributes:
        step: the global step at which it was taken.
        time: when it was written, in seconds since the epoch.
        before: those that were kept when it was written, oldest first.
        spared: the time of the last checkpoint that is kept for ever, or of the first one.
    """

    step: int
    time: float
    before: tuple[Kept, ...]
    spared: float


@dataclass(frozen=True, slots=True)
class Content:
    """What a checkpoint is about.

    Attributes:
        step: the global step.
        values: those of variables, by name.
        marks: the positions in sources, by name.
    """

    step: int
    values: dict[str, Any]
    marks: dict[str, SourceMark]


def write_body(content: Content, name: str) -> BytesIO:
    """Returns the beginning of a checkpoint, which `finished` completes.

    Args:
        content: what is saved; its step is left to the header.
        name: what errors call the checkpoint.

    Raises:
        CheckpointError: a value cannot be saved.
    """
    body = BytesIO()
    body.write(_HEAD.pack(MAGIC, VERSION))
    pack_array_head(2, body)
    pack_map_head(len(content.values), body)
    for variable, value in content.values.items():
        pack(variable, body)
        try:
            pack(value, body)
        except Exception as error:
            raise CheckpointError(name, f"variable {variable!r}: {error}") from error
    pack({source: list(mark) for source, mark in content.marks.items()}, body)
    return body


def finished(body: BytesIO, header: Header) -> bytes:
    """Returns the whole checkpoint."""
    encoded = msgspec.msgpack.encode(header)
    body.write(encoded)
    body.write(_HEADER_SIZE.pack(len(encoded)))
    with body.getbuffer() as written:
        digest = _digest(written)
    body.write(digest)
    # Without a copy, since nothing else refers to it.
    return body.getvalue()


def read_header(data: bytes, name: str, step: int) -> Header:
    """Returns the header of a whole checkpoint.

    Args:
        data: the checkpoint.
        name: what errors call it.
        step: the step of which it is to be.

    Raises:
        CheckpointError: it is broken, of another step, or none of this package's.
    """
    try:
        return _split(data, step)[0]
    except Exception as error:
        raise CheckpointError(name, f"cannot be read: {error}") from error


def read_content(data: bytes, name: str, step: int) -> Content:
    """Returns what is in a whole checkpoint; see `read_header`."""
    try:
        return _content(*_split(data, step))
    except Exception as error:
        raise CheckpointError(name, f"cannot be read: {error}") from error


def _split(data: bytes, step: int) -> tuple[Header, memoryview]:
    view = memoryview(data)
    if len(view) < _HEAD.size + _HEADER_SIZE.size + _DIGEST_SIZE:
        raise ValueError("the data are too short")
    magic, version = _HEAD.unpack_from(view)
    if magic != MAGIC:
        raise ValueError("the data are no checkpoint of asynchooks")
    end = len(view) - _DIGEST_SIZE
    if _digest(view[:end]) != bytes(view[end:]):
        raise ValueError("the data have changed since they were written")
    if version != VERSION:
        raise ValueError(f"the format is of version {version}, which is newer than {VERSION}")
    header_end = end - _HEADER_SIZE.size
    header_start = header_end - _HEADER_SIZE.unpack_from(view, header_end)[0]
    header = _decode_header(view[header_start:header_end])
    if header.step != step:
        raise ValueError(f"it was taken at step {header.step}")
    return header, view[_HEAD.size : header_start]


def _content(header: Header, body: memoryview) -> Content:
    values, marks = unpack(body)
    sources = msgspec.convert(marks, dict[str, tuple[int, tuple[int, ...]]])
    return Content(
        header.step,
        msgspec.convert(values, dict[str, Any]),
        {name: SourceMark(*mark) for name, mark in sources.items()},
    )


def _digest(data: memoryview) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_SIZE).digest()


_decode_header = msgspec.msgpack.Decoder(Header).decode
