"""A disk that fails costs no checkpoint but the one that is being written."""

from __future__ import annotations

import errno

import pytest

from tests.checkpoint.crash import careless
from tests.checkpoint.crash.failing import Fault, MakeStore, sweep

CODES = [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EINTR]
FAULTS = [
    *(Fault(code, forever=forever) for code in CODES for forever in (False, True)),
    *(Fault(errno.EIO, "after", forever) for forever in (False, True)),
    *(Fault(errno.ENOSPC, "half-way", forever) for forever in (False, True)),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_error_at_any_primitive_leaves_the_old_checkpoint(fault: Fault) -> None:
    """Whichever primitive of a commit fails, and however, nothing that was acknowledged is lost.

    The commit raises a CheckpointError that holds the error of the disk, or has succeeded. The same
    process commits again once the disk is well, which then outlasts a power cut, and the next
    process clears away what was left.
    """
    found = await sweep(fault)
    assert found == [set()] * 11


@pytest.mark.parametrize(
    ("fault", "make_store", "broken"),
    [
        (Fault(errno.EIO), careless.Swallowing, {"lost"}),
        (Fault(errno.EIO), careless.Bare, {"not a CheckpointError"}),
        (Fault(errno.EIO), careless.Silent, {"no cause"}),
        (
            Fault(errno.ENOSPC, "half-way"),
            careless.InPlace,
            {"not a CheckpointError", "torn", "too few"},
        ),
    ],
)
async def test_planted_carelessness_is_caught(
    fault: Fault, make_store: MakeStore, broken: set[str]
) -> None:
    """A store that hides an error, or writes in place, breaks a promise, by name."""
    found = await sweep(fault, make_store)
    assert set().union(*found) == broken
