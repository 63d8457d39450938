"""A pytest plugin that notes which functions of the package each test calls, and its time.

Each function notes by itself that it is called: a statement is added to its code in memory. Of a
test with very many, or slow, cases a few are run. Functions called in other processes are not seen;
tests that start any are marked.
"""

import ast
import builtins
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import zlib
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import CodeType, FunctionType

import pytest

MAX_CASES, MAX_COMMON_CASES = 100, 4  # of one test; of one in tests/common, which are many
MAX_SECONDS, MIN_CASES = 4.0, 4  # for all cases of a test, of which at least so many are run
CALLED = "_called_functions"  # a set among the built-in names


def processor_seconds() -> tuple[float, float]:
    """Of this process, and of its children that have ended."""
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


def exchange_code(path: Path, module: CodeType) -> None:
    """Give the functions of an imported module the code of another version of it."""
    codes = {}
    waiting = [module]
    while waiting:
        code = waiting.pop()
        codes[code.co_qualname, code.co_firstlineno] = code
        waiting += [const for const in code.co_consts if isinstance(const, CodeType)]
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename == str(path):
            key = function.__code__.co_qualname, function.__code__.co_firstlineno
            function.__code__ = codes[key]


def noting_calls(path: Path, package: Path) -> CodeType:
    """The code of a module whose functions note that they are called."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            (note,) = ast.parse(f"{CALLED}.add('{path.relative_to(package)}:{node.name}')").body
            for part in ast.walk(note):
                ast.copy_location(part, node.body[0])
            node.body.insert(ast.get_docstring(node) is not None, note)
    return compile(tree, str(path), "exec")


def note_calls(package: Path) -> set[str]:
    """Have all functions of the package note their calls, as ``path/in/package.py:name``."""
    module = importlib.import_module(package.name)
    for info in pkgutil.walk_packages(module.__path__, f"{package.name}."):
        with contextlib.suppress(ImportError):  # an extra that is not installed
            importlib.import_module(info.name)
    called: set[str] = set()
    setattr(builtins, CALLED, called)
    for path in package.rglob("*.py"):
        exchange_code(path, noting_calls(path, package))
    return called


class CallRecorder:
    """Write one line for each test that passes: id, seconds, functions called, whether all."""

    def __init__(self, source: Path, out: Path) -> None:
        self.package, self.out = source / "consilience", out
        self.called: set[str] = set()
        self.left_out: set[str] = set()
        self.seconds: dict[str, list[float]] = defaultdict(list)  # of the cases of each test

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.called = note_calls(self.package)
        kept = []
        for _, cases in groupby(items, lambda item: item.nodeid.partition("[")[0]):
            cases = sorted(cases, key=lambda item: zlib.crc32(item.nodeid.encode()))
            is_common = cases[0].path.parent.name == "common"
            kept += cases[: MAX_COMMON_CASES if is_common else MAX_CASES]
        items[:] = kept

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        done = self.seconds[item.nodeid.partition("[")[0]]
        if len(done) >= MIN_CASES and sum(done) > MAX_SECONDS:
            pytest.skip("enough cases")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed or report.skipped:
            self.left_out.add(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.called.clear()
        own, children = processor_seconds()
        try:
            return (yield)
        finally:
            own_after, children_after = processor_seconds()
            seconds = own_after - own + children_after - children
            self.seconds[item.nodeid.partition("[")[0]].append(seconds)
            line = {
                "test": item.nodeid,
                "seconds": seconds,
                "complete": children_after == children,
                "functions": sorted(self.called),
            }
            if item.nodeid not in self.left_out:
                with self.out.open("a") as stream:
                    stream.write(json.dumps(line) + "\n")


class Selection:
    """Run only the given tests, in the given order."""

    def __init__(self, tests: list[str]) -> None:
        self.rank = {test: position for position, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        wanted = [item for item in items if item.nodeid in self.rank]
        items[:] = sorted(wanted, key=lambda item: self.rank[item.nodeid])
