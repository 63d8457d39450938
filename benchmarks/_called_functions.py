"""A pytest plugin that notes which functions of the package each test calls, and its time.

Of a test with very many, or slow, cases a few are run.
Functions called in other processes, or after very many calls, are not seen; such tests are marked.
"""

import json
import os
import sys
import threading
import zlib
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType

import pytest

MAX_CASES, MAX_COMMON_CASES = 100, 4  # of one test; of one in tests/common, which are many
MAX_SECONDS, MIN_CASES = 4.0, 4  # for all cases of a test, of which at least so many are run
# slow reference implementations would be several times slower still
MAX_EVENTS = 200_000


def processor_seconds() -> tuple[float, float]:
    """Of this process, and of its children that have ended."""
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


class CallRecorder:
    """Write one line for each test that passes: id, seconds, functions called, whether all."""

    def __init__(self, source: Path, out: Path) -> None:
        self.source, self.out = str(source / "consilience"), out
        self.called: set[CodeType] = set()
        self.n_events = 0
        self.left_out: set[str] = set()
        self.seconds: dict[str, list[float]] = defaultdict(list)  # of the cases of each test

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
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

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        self.n_events += 1
        if event == "call":
            self.called.add(frame.f_code)
        if self.n_events > MAX_EVENTS:
            sys.setprofile(None)

    def functions(self) -> list[str]:
        """The calls inside the package, as ``path/in/package.py:name``."""
        calls = ((Path(code.co_filename), code.co_name) for code in self.called)
        names = {
            f"{path.relative_to(self.source)}:{name}"
            for path, name in calls
            if path.is_relative_to(self.source)
        }
        return sorted(names)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.called, self.n_events = set(), 0
        own, children = processor_seconds()
        threading.setprofile(self.profile)
        sys.setprofile(self.profile)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            own_after, children_after = processor_seconds()
            seconds = own_after - own + children_after - children
            self.seconds[item.nodeid.partition("[")[0]].append(seconds)
            line = {
                "test": item.nodeid,
                "seconds": seconds,
                "complete": children_after == children and self.n_events <= MAX_EVENTS,
                "functions": self.functions(),
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
