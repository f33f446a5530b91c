"""What tests of hooks share: the lines that the library logs."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


class Lines(logging.Handler):
    """Keeps the records of the library's logger."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    @property
    def texts(self) -> list[str]:
        """The lines themselves."""
        return [record.getMessage() for record in self.records]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What is logged in a test."""
    logger, handler = logging.getLogger("asynchooks"), Lines()
    logger.addHandler(handler)
    before = logger.level
    logger.setLevel(logging.INFO)
    yield handler
    logger.setLevel(before)
    logger.removeHandler(handler)
