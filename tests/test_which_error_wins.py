"""Of several errors, the same one leaves on both event loops."""

from __future__ import annotations

import pytest

from tests.which_error import closing, ops, sessions
from tests.which_error.outcomes import Row, outcome

ROWS = [*ops.table.rows, *sessions.table.rows, *closing.table.rows]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
async def test_error_wins(row: Row) -> None:
    """What leaves is just what the table says, with its notes, whatever else has failed."""
    assert await outcome(row.program) == row.outcome


def test_rows_are_many_and_differ() -> None:
    """The table has at least 32 rows, each with a name of its own."""
    names = [row.what for row in ROWS]
    assert len(names) == len(set(names)) >= 32
