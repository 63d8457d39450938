"""A pytest session that tries mutants of the package instead of running the tests.

Every mutant runs in a fork of the session after the tests are collected. Which tests call what is
learned on the way: tests that are known to call the mutated function come first, the quickest
before the others, then those that have not been run yet, by the names in their source.
"""

import ast
import contextlib
import inspect
import json
import os
import re
import resource
import signal
import time
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest
from _called_functions import exchange_code, functions_by_file, noting_calls
from _mutations import PACKAGE, Site, mutate

SURVIVED = "SURVIVED"
FIRST_CASES = 3  # of a test with several; the others come after those of all other tests
SLOWER = 3  # times as slow as without the mutation: a test that fails


def processor_seconds() -> tuple[float, float]:
    """Of this process, and of its children that have ended."""
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


class MutantSession:
    """A plugin that calls ``report`` with a line for each mutant.

    ``source`` is the copy of the package in use, ``seconds`` the processor time for a mutant and
    for a single test, and ``called`` the set in which functions note their calls.
    """

    def __init__(
        self, source: Path, sites: list[Site], seconds: float, seed: int, called: set[str],
        report: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.package, self.sites, self.seconds, self.seed = (
            source / PACKAGE.name,
            sites,
            seconds,
            seed,
        )
        self.called, self.report = called, report
        self.known: dict[str, dict[str, Any]] = {}  # tests that have passed
        self.unfit: set[str] = set()  # tests that fail without a mutation, are skipped or slow
        self.alone: dict[str, float] = {}  # seconds of tests without a mutation
        self.outcome, self.reason = "", ""
        self.words: dict[str, tuple[set[str], set[str]]] = {}  # in tests, and in their files

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try all mutants."""
        self.items = {item.nodeid: item for item in session.items}
        words = {}
        for test, item in self.items.items():
            name = test.partition("[")[0]
            words[name] = words.get(name) or _words_of(item)
            self.words[test] = words[name]
        self.functions = functions_by_file()
        for item in session.items:
            _do_not_shrink(item)
        for site in self.sites:
            mutated, change = mutate(site, self.seed)
            outcome = self._try(site, mutated)
            self.report(f"{site.package}\t{site.place}\t{change}\t{outcome}")
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note failures and skipped tests (in a fork)."""
        if report.failed or (report.skipped and not self.outcome):
            self.outcome, self.reason = report.outcome, str(report.longrepr)[-500:]

    def _try(self, site: Site, mutated: str) -> str:
        copied = self.package / site.path.relative_to(PACKAGE)
        written = copied.read_text()
        codes = [noting_calls(text, copied, self.package) for text in (written, mutated)]
        tests = self._choose(site)
        try:
            while True:
                copied.write_text(mutated)  # for the processes that tests start
                last = self._run(tests, lambda: self._exchange(copied, *codes))
                copied.write_text(written)
                if last["outcome"] == "passed":
                    return SURVIVED
                test = last["test"]
                if test not in self.alone:
                    self.alone[test] = self._seconds_alone(test)
                if last["outcome"] == "failed" and self.alone[test] < self.seconds:
                    return f"killed by {test}"
                if last["outcome"] == "slow" and SLOWER * self.alone[test] < self.seconds:
                    return f"killed by the time limit in {test}"
                self.unfit.add(test)
                tests = tests[tests.index(test) + 1 :]
        finally:
            copied.write_text(written)

    def _exchange(self, path: Path, old: Any, new: Any) -> None:
        exchange_code(self.functions[str(path)], old, new)

    def _seconds_alone(self, test: str) -> float:
        last = self._run([test], lambda: None)
        if last["outcome"] == "passed":
            return last["seconds"]
        self.report(
            f"left out\t{test}\t{last['outcome']} without a mutation {last.get('reason')!r}"
        )
        return float("inf")

    def _choose(self, site: Site) -> list[str]:
        """Tests that call the function of a site, those that may, and those in other processes."""
        key = f"{site.path.relative_to(PACKAGE)}:{site.function}"
        callers = [t for t, known in self.known.items() if key in known["functions"]]
        callers.sort(key=lambda test: self.known[test]["seconds"])
        names = _names_in(site.path)
        n_cases: dict[str, int] = defaultdict(int)
        unknown = []
        for test, (own, around) in self.words.items():
            name = test.partition("[")[0]
            n_cases[name] += 1
            if test not in self.known:
                n_named = len(names & own), len(names & around)
                is_late, is_other = n_cases[name] > FIRST_CASES, site.function not in own
                unknown.append((is_late, is_other, -n_named[0], -n_named[1], n_cases[name], test))
        others = [t for t, known in self.known.items() if not known["complete"]]
        order = dict.fromkeys([*callers, *(entry[-1] for entry in sorted(unknown)), *others])
        return [test for test in order if test not in self.unfit]

    def _run(self, tests: list[str], prepare: Callable[[], None]) -> dict[str, Any]:
        """Run tests in a fork until one fails or the time is over; return what the last one did."""
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            self._run_and_exit(tests, prepare, writing)
        os.close(writing)
        text = _read_until(reading, time.monotonic() + 30 * self.seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        last: dict[str, Any] = {"outcome": "passed"}
        for line in text.splitlines():
            with contextlib.suppress(ValueError):  # the last line, if the process was ended in it
                last = json.loads(line)
            if last["outcome"] == "passed":
                self.known[last["test"]] = last
            elif last["outcome"] == "skipped":
                self.unfit.add(last["test"])
        return {**last, "outcome": "passed"} if last["outcome"] == "skipped" else last

    def _run_and_exit(
        self, tests: list[str], prepare: Callable[[], None], writing: int
    ) -> NoReturn:
        os.setsid()
        signal.signal(signal.SIGPROF, lambda *_: os._exit(0))
        limit = int(10 * self.seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        prepare()
        begin = sum(processor_seconds())
        for test, following in zip(tests, [*tests[1:], None], strict=True):
            line = {"test": test, "outcome": "slow", "seconds": self.seconds}
            os.write(writing, json.dumps(line).encode() + b"\n")
            self.called.clear()
            self.outcome, self.reason = "", ""
            own, children = processor_seconds()
            signal.setitimer(signal.ITIMER_PROF, self.seconds)
            item, after = self.items[test], self.items.get(following)
            try:
                item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
            except BaseException as error:  # of a plugin, about a test that failed
                self.outcome, self.reason = "failed", repr(error)
            own_after, children_after = processor_seconds()
            line |= {
                "outcome": self.outcome or "passed",
                "reason": self.reason,
                "seconds": own_after - own + children_after - children,
                "complete": children_after == children,
                "functions": sorted(self.called),
            }
            os.write(writing, json.dumps(line).encode() + b"\n")
            if self.outcome == "failed" or sum(processor_seconds()) - begin > self.seconds:
                break
        os._exit(0)


def _read_until(descriptor: int, end: float) -> str:
    """What is written to a pipe until it is closed or the time is over."""
    text = b""
    os.set_blocking(descriptor, False)
    while time.monotonic() < end:
        try:
            part = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            time.sleep(0.05)
            continue
        if not part:
            break
        text += part
    os.close(descriptor)
    return text.decode()


def _words_of(item: pytest.Item) -> tuple[set[str], set[str]]:
    """Words in the source of a test, and in the file around it."""
    function = inspect.unwrap(item.function)
    function = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    return set(re.findall(r"\w+", inspect.getsource(function))), _words_in(item.path)


@cache
def _words_in(path: Path) -> set[str]:
    return set(re.findall(r"\w+", path.read_text()))


@cache
def _names_in(path: Path) -> set[str]:
    """Names of the classes and functions that a module defines, and its own."""
    body = ast.parse(path.read_text()).body
    return {
        path.stem,
        *(node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)),
    }


def _do_not_shrink(item: pytest.Item) -> None:
    """Let an example that fails be enough: it is not made smaller."""
    from hypothesis import Phase, settings  # not before pytest, which rewrites its plugins

    name = "_hypothesis_internal_use_settings"
    if isinstance(given := getattr(item.obj, name, None), settings):
        setattr(item.obj, name, settings(given, phases=(Phase.explicit, Phase.generate)))
