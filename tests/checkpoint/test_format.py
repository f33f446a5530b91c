"""The bytes of a checkpoint, whole and broken."""

from __future__ import annotations

import random

import pytest

import asynchooks as ah
from asynchooks._state import SourceMark
from asynchooks.checkpoint import _format
from asynchooks.checkpoint._format import (
    Content,
    Header,
    Kept,
    finished,
    read_content,
    read_header,
    write_body,
)

CONTENT = Content(7, {"x": [1, 2], "y": (3,)}, {"rows": SourceMark(9, (4, 6))})
HEADER = Header(7, 1.5, (Kept(3, 0.5), Kept(5, 1.0)), 0.5)


def data() -> bytes:
    """Returns a whole checkpoint."""
    return finished(write_body(CONTENT, "seven"), HEADER)


def test_checkpoint_is_read() -> None:
    """What was written is read."""
    assert read_header(data(), "seven", 7) == HEADER
    assert read_content(data(), "seven", 7) == CONTENT


def test_every_truncation_is_found() -> None:
    """A checkpoint that lacks its end is broken, and so is one with something behind it."""
    whole = data()
    for cut in [whole[:length] for length in range(len(whole))] + [whole + b"\0"]:
        with pytest.raises(ah.CheckpointError, match="checkpoint seven: cannot be read: the data"):
            read_content(cut, "seven", 7)


def test_every_changed_bit_is_found() -> None:
    """A checkpoint in which bits have changed is broken, be it one bit or a thousand."""
    whole = data()
    chance = random.Random(7)
    places = [[place] for place in range(8 * len(whole))]
    places += [chance.sample(range(8 * len(whole)), k=chance.randint(2, 200)) for _ in range(1000)]
    for changed in places:
        broken = bytearray(whole)
        for place in changed:
            broken[place // 8] ^= 1 << place % 8
        with pytest.raises(ah.CheckpointError):
            read_content(bytes(broken), "seven", 7)


def test_checkpoint_of_another_step_is_found() -> None:
    """A checkpoint under the name of another step is not taken for that."""
    with pytest.raises(ah.CheckpointError, match=r"checkpoint eight: .*: it was taken at step 7"):
        read_header(data(), "eight", 8)


def test_newer_format_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint in a format of the future is named as such."""
    monkeypatch.setattr(_format, "VERSION", 2)
    newer = data()
    monkeypatch.undo()
    with pytest.raises(ah.CheckpointError, match="of version 2, which is newer than 1"):
        read_header(newer, "seven", 7)


def test_unsavable_variable_is_named() -> None:
    """The error names the variable that cannot be saved, and has the cause."""
    content = Content(7, {"good": 1, "bad": [object()]}, {})
    with pytest.raises(
        ah.CheckpointError, match=r"checkpoint seven: variable 'bad': .*object"
    ) as e:
        write_body(content, "seven")
    assert isinstance(e.value.__cause__, TypeError)
