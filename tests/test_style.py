"""The size and the words of the code, read off its syntax trees."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = sorted((ROOT / "asynchooks").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
VAGUE = {"utils", "helpers", "common", "misc", "base"}
LONGEST = 60
LONGEST_ASYNC = 30
LONGEST_MODULE = 400
MEDIAN = 8

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef


def named(file: Path) -> str:
    """Returns the path of a file as the ids of tests show it."""
    return str(file.relative_to(ROOT))


def functions(source: str) -> list[Function]:
    """Returns every function of a module, also those inside others."""
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, Function)]


def lines(function: Function) -> int:
    """Counts the lines of a function from `def` on, without its docstring."""
    start, end = function.lineno, function.end_lineno or function.lineno
    doc = function.body[0] if ast.get_docstring(function) is not None else None
    inside = (doc.end_lineno or doc.lineno) - doc.lineno + 1 if doc else 0
    return end - start + 1 - inside


def too_long(source: str, longest_async: int) -> list[str]:
    """Names the functions of a module that are longer than allowed."""
    return [
        f"{function.name}: {lines(function)} lines"
        for function in functions(source)
        if lines(function) > _limit(function, longest_async)
    ]


def undocumented(source: str) -> list[str]:
    """Names what a module shows to its readers without a docstring."""
    module = ast.parse(source)
    own = [] if ast.get_docstring(module) else ["the module"]
    return own + [name for name, node in _public(module, "") if not ast.get_docstring(node)]


def promises_nothing(source: str) -> list[str]:
    """Names the tests of a module that do not say what they promise."""
    return [
        function.name
        for function in functions(source)
        if function.name.startswith("test_") and not ast.get_docstring(function)
    ]


@pytest.mark.parametrize("file", PACKAGE, ids=named)
def test_package_functions_are_short(file: Path) -> None:
    """No function of the package is above 60 lines, and no async one above 30."""
    assert too_long(file.read_text(), LONGEST_ASYNC) == []


@pytest.mark.parametrize("file", TESTS + EXAMPLES, ids=named)
def test_other_functions_are_short(file: Path) -> None:
    """No function of the tests and the examples is above 60 lines."""
    assert too_long(file.read_text(), LONGEST) == []


def test_package_functions_are_mostly_tiny() -> None:
    """Half of the functions of the package have at most 8 lines."""
    sizes = [lines(node) for file in PACKAGE for node in functions(file.read_text())]
    assert statistics.median(sizes) <= MEDIAN


@pytest.mark.parametrize("file", PACKAGE, ids=named)
def test_modules_hold_one_thing(file: Path) -> None:
    """No module of the package is above 400 lines or named after nothing in particular."""
    assert len(file.read_text().splitlines()) <= LONGEST_MODULE
    assert VAGUE.isdisjoint(part.strip("_") for part in file.with_suffix("").parts)


@pytest.mark.parametrize("file", PACKAGE, ids=named)
def test_public_names_are_documented(file: Path) -> None:
    """Every module, and every public class, function and method of it, has a docstring."""
    assert undocumented(file.read_text()) == []


@pytest.mark.parametrize("file", TESTS, ids=named)
def test_tests_say_what_they_promise(file: Path) -> None:
    """Every test has a docstring."""
    assert promises_nothing(file.read_text()) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def f():\n" + "    x = 1\n" * 60, ["f: 61 lines"]),
        ("def f():\n" + "    x = 1\n" * 59, []),
        ("async def f():\n" + "    x = 1\n" * 30, ["f: 31 lines"]),
        ("class A:\n    async def f(self):\n" + "        x = 1\n" * 30, ["f: 31 lines"]),
        ("async def f():\n    '''One.\n\n    Two.\n    '''\n" + "    x = 1\n" * 29, []),
    ],
)
def test_planted_long_function_is_found(source: str, found: list[str]) -> None:
    """A function one line too long is named, and its docstring does not count."""
    assert too_long(source, LONGEST_ASYNC) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("'''M.'''\ndef f(): ...", ["f"]),
        ("'''M.'''\nclass A:\n    '''A.'''\n    def f(self): ...", ["A.f"]),
        ("'''M.'''\nclass _A:\n    def f(self): ...", []),
        ("'''M.'''\nclass A:\n    '''A.'''\n    def __init__(self): ...", []),
        ("'''M.'''\n@overload\ndef f(): ...\n@f.setter\ndef f(): ...", []),
        ("def _f(): ...", ["the module"]),
    ],
)
def test_planted_bare_name_is_found(source: str, found: list[str]) -> None:
    """A public name without a docstring is named, with the class that it is in."""
    assert undocumented(source) == found


def test_planted_bare_test_is_found() -> None:
    """A test without a docstring is named."""
    assert promises_nothing("def test_a():\n    '''A.'''\nasync def test_b(): ...") == ["test_b"]


def _limit(function: Function, longest_async: int) -> int:
    return longest_async if isinstance(function, ast.AsyncFunctionDef) else LONGEST


def _public(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, Documented]]:
    for child in node.body:
        if not isinstance(child, Documented) or child.name.startswith("_") or _is_part(child):
            continue
        yield prefix + child.name, child
        if isinstance(child, ast.ClassDef):
            yield from _public(child, f"{prefix}{child.name}.")


def _is_part(node: Documented) -> bool:
    # What an overload or a setter is for is said where the function or the property is.
    marks = [ast.unparse(mark) for mark in node.decorator_list]
    return any(mark == "overload" or mark.endswith(".setter") for mark in marks)
