"""A conformance suite for stores of checkpoints."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from asynchooks._errors import bare
from asynchooks.checkpoint._stores import CheckpointStore
from asynchooks.testing._store_contents import CONTENT_CHECKS
from asynchooks.testing._store_interruptions import INTERRUPTION_CHECKS
from asynchooks.testing._store_reopening import REOPEN_CHECKS


class StoreCheckError(AssertionError):
    """A store breaks promises of `CheckpointStore`.

    Attributes:
        failed: the error of each check that failed, by the name of the check.
        passed: the names of the others.
    """

    def __init__(self, failed: dict[str, BaseException], passed: tuple[str, ...]) -> None:
        super().__init__(failed, passed)
        self.failed = failed
        self.passed = passed

    def __str__(self) -> str:
        """Returns a line for each check that failed."""
        number = len(self.failed) + len(self.passed)
        lines = [f"{name}: {_described(error)}" for name, error in self.failed.items()]
        return "\n".join([f"{len(lines)} of {number} checks of the store failed:", *lines])


async def check_store(
    make_store: Callable[[], CheckpointStore],
    *,
    reopen: Callable[[CheckpointStore], CheckpointStore] | None = None,
) -> tuple[str, ...]:
    """Checks that a store keeps the promises of `CheckpointStore`; for a test of one's own store.

    Each check gets stores of its own. Run it on each event loop that the store is for.

    Args:
        make_store: makes a new store that is empty, whatever was written into those before it.
        reopen: makes another store that holds the checkpoints of the given one, as the next process
            does. None if the store does not outlast its process; that part is then left out.

    Returns:
        The names of the checks, all of which have passed.

    Raises:
        StoreCheckError: checks have failed; it names them and says what was wrong.
        TypeError: what `make_store` makes is no `CheckpointStore`.
    """
    store = make_store()
    if not isinstance(store, CheckpointStore):
        raise TypeError(f"make_store is to make a CheckpointStore, not {store!r}")
    passed: list[str] = []
    failed: dict[str, BaseException] = {}
    for name, check in _checks(make_store, reopen):
        try:
            await check()
        except Exception as error:
            failed[name] = bare(error)
        else:
            passed.append(name)
    if failed:
        raise StoreCheckError(failed, tuple(passed))
    return tuple(passed)


def _checks(
    make_store: Callable[[], CheckpointStore],
    reopen: Callable[[CheckpointStore], CheckpointStore] | None,
) -> Iterator[tuple[str, Callable[[], Awaitable[None]]]]:
    for content_check in CONTENT_CHECKS:
        yield content_check.__name__, partial(_with_new, content_check, make_store)
    for interruption_check in INTERRUPTION_CHECKS:
        yield interruption_check.__name__, partial(interruption_check, make_store)
    for reopen_check in REOPEN_CHECKS if reopen is not None else ():
        yield reopen_check.__name__, partial(_with_new, reopen_check, make_store, reopen)


async def _with_new(
    check: Callable[..., Awaitable[None]],
    make_store: Callable[[], CheckpointStore],
    *others: object,
) -> None:
    await check(make_store(), *others)


def _described(error: BaseException) -> str:
    return str(error) if isinstance(error, AssertionError) else repr(error)
