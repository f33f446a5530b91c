"""What every test gets: both event loops, no blocking call in them, nothing left behind."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from inspect import iscoroutinefunction

import pytest
from blockbuster import blockbuster_ctx

from tests import leaks

Collector = pytest.Module | pytest.Class


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The event loop of a test: each async test runs on both."""
    loop: str = request.param
    return loop


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: Collector, name: str, obj: object) -> None:
    """Gives an async test to anyio unless it is marked as pytest-asyncio's."""
    if collector.istestfunction(obj, name) and _is_async(obj) and not _is_marked(collector, obj):
        pytest.mark.anyio(obj)
        pytest.mark.usefixtures("anyio_backend", "no_task_left")(obj)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out what trio does not have: a task cannot be cancelled natively there."""
    items[:] = [item for item in items if not (_is_native(item) and _is_on_trio(item))]


def _is_native(item: pytest.Item) -> bool:
    marked = item.get_closest_marker("native") is not None
    return marked or _params(item).get("kind") == "native"


def _is_on_trio(item: pytest.Item) -> bool:
    return _params(item).get("anyio_backend") == "trio"


def _params(item: pytest.Item) -> dict[str, object]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _is_async(test: object) -> bool:
    hypothesis = getattr(test, "hypothesis", None)
    return iscoroutinefunction(hypothesis.inner_test if hypothesis else test)


def _is_marked(collector: Collector, test: object) -> bool:
    own = {mark.name for mark in getattr(test, "pytestmark", ())}
    return "asyncio" in own or collector.get_closest_marker("asyncio") is not None


@pytest.fixture(scope="session", autouse=True)
def temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps the temporary files of the tests apart from those of other programs."""
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("temporary"))
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_blocking_call() -> Iterator[None]:
    """Makes a call that blocks the event loop fail."""
    with blockbuster_ctx():
        yield


@pytest.fixture(autouse=True)
def nothing_left(temporary_folder: None) -> Iterator[None]:
    """Fails a test that leaves a thread, a file descriptor or a temporary file behind."""
    footprint = leaks.Footprint()
    yield
    left = footprint.left_behind()
    assert not left, f"left behind: {', '.join(left)}"


@pytest.fixture
async def no_task_left() -> AsyncIterator[None]:
    """Fails an async test that leaves a task behind."""
    before = leaks.tasks()
    yield
    left = leaks.more(before, leaks.tasks())
    assert not left, f"left behind: {', '.join(left)}"
