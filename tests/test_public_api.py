"""What `import asynchooks` gives, and what it does not need."""

from __future__ import annotations

import importlib.metadata
import inspect
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import asynchooks as ah

ROOT = Path(__file__).parents[1]
PUBLIC = {name: getattr(ah, name) for name in ah.__all__}
OPTIONAL = ["airportsdata", "hypothesis", "numpy", "pytest", "rich", "trio"]

ERRORS = [
    ah.OutOfRangeError("the end"),
    ah.StepFunctionStopped("stopped"),
    ah.AbortedError("aborted"),
    ah.UnavailableError("unavailable"),
    ah.CheckpointError("model.ckpt-3", "the data are too short"),
    ah.DeadlineExceededError(1.5),
    ah.InvalidArgumentError("not fed"),
    ah.FeedConflictError("x", ("the caller", "A (hooks[0])")),
    ah.GraphFinalizedError("x"),
    ah.LifecycleError("not entered"),
    ah.SessionClosedError("closed"),
    ah.RunAfterStopError("stopped"),
    ah.ReentrantRunError("re-entrant"),
    ah.OpCancelledError("x"),
    ah.NanLossDuringTrainingError("loss", float("inf")),
    ah.TasksStillRunningError(("reader", "writer"), 2.0),
    ah.RecoveryError((ah.AbortedError("one"), ah.UnavailableError("two"))),
]


def test_all_is_sorted_and_complete() -> None:
    """`__all__` is sorted and holds just the public names of the package."""
    public = {
        name
        for name, value in vars(ah).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert list(ah.__all__) == sorted(ah.__all__)
    assert set(ah.__all__) == public | {"__version__"}


@pytest.mark.parametrize(
    "name", [name for name, value in PUBLIC.items() if isinstance(value, type) or callable(value)]
)
def test_public_name_says_where_it_is_found(name: str) -> None:
    """A public class or function says that it is asynchooks', so that reprs and pickles do too."""
    assert PUBLIC[name].__module__ == "asynchooks"
    assert PUBLIC[name].__name__ == name


def test_every_error_has_an_example() -> None:
    """The table of errors below holds an example of each public error class."""
    classes = {value for value in PUBLIC.values() if inspect.isclass(value)}
    assert {type(error) for error in ERRORS} == {
        value for value in classes if issubclass(value, BaseException)
    }


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_error_pickles(error: Exception) -> None:
    """An error comes out of a pickle with its class, its words and its fields."""
    error.add_note("raised by op 'x'")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert repr(vars(copy)) == repr(vars(error))


@pytest.mark.parametrize("package", ["asynchooks", "asynchooks.testing"])
def test_import_needs_no_optional_package(package: str) -> None:
    """Importing the package imports none of the optional ones."""
    code = f"import sys, {package}; print([m for m in {OPTIONAL} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_version_is_that_of_the_metadata() -> None:
    """`__version__` is the version that is installed."""
    assert ah.__version__ == importlib.metadata.version("asynchooks")


def test_wheel_holds_the_package(tmp_path: Path) -> None:
    """The wheel holds every file of the package, the typing marker too, and nothing else."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    [wheel] = tmp_path.iterdir()
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = [path for path in (ROOT / "asynchooks").rglob("*") if path.is_file()]
    assert packed == {str(path.relative_to(ROOT)) for path in files if path.suffix != ".pyc"}
    assert "asynchooks/py.typed" in packed
