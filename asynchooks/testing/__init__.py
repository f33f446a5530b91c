"""A test kit for hook authors: cancel and fail a program at each of its points, one at a time.

A program under test is an async function. A `Sweep` runs it again and again, from scratch, and
disturbs the n-th run at its n-th point, until a run is over before the fault is reached:

    for trial in Sweep(Cancel("scope")):
        hook = MyHook()
        outcome = await trial.run(use_a_session_with, hook)
        assert hook.file.closed, trial

Points are the suspensions of the program's own task (found without the program's help), or the
entries into user code that the program announces with `trial.enter` and `trial.pause`: ops,
hook methods, resources and sources call them on their first line. Entries also reach the code
that runs in other tasks than the program's.

`check_store` does the same for authors of stores of checkpoints: it runs a suite of checks.
"""

from __future__ import annotations

from asynchooks.testing._check_store import StoreCheckError, check_store
from asynchooks.testing._faults import Cancel, CancelKind, Fail, Fault, PointKind, cancel_kinds
from asynchooks.testing._sweep import Sweep
from asynchooks.testing._trial import Outcome, Trial

__all__ = [
    "Cancel",
    "CancelKind",
    "Fail",
    "Fault",
    "Outcome",
    "PointKind",
    "StoreCheckError",
    "Sweep",
    "Trial",
    "cancel_kinds",
    "check_store",
]

for _public in (
    Cancel,
    Fail,
    Outcome,
    StoreCheckError,
    Sweep,
    Trial,
    cancel_kinds,
    check_store,
):
    _public.__module__ = __name__
