"""Settings of all tests: how many random examples, no threads below ours, studies in process."""

import math
import os
import signal
import zlib
from itertools import groupby

import pytest
from hypothesis import HealthCheck, settings

FULL = bool(int(os.environ.get("CONSILIENCE_TEST_ALL", "0")))

settings.register_profile(
    "consilience",
    deadline=None,  # the machines are shared; nothing here is a timing test
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=100 if FULL else 10,
)
settings.load_profile("consilience")


def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start jobs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers", "one_in(n): make test runs one in n cases of this test, make test-all runs all"
    )


def pytest_collection_modifyitems(config, items):
    """Of the tests marked ``one_in``, keep the cases whose names have the lowest hashes."""
    if FULL:
        return
    left_out = set()
    for _, cases in groupby(items, lambda item: item.nodeid.partition("[")[0]):
        cases = sorted(cases, key=lambda item: zlib.crc32(item.nodeid.encode()))
        if marker := cases[0].get_closest_marker("one_in"):
            left_out.update(cases[math.ceil(len(cases) / marker.args[0]) :])
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def serially(monkeypatch):
    """``compare`` and ``bench`` without worker processes, where these are not what is tested."""
    from benchmark.studies import run_serially

    monkeypatch.setattr("consilience.comparison.execution.run_tasks", run_serially)
    monkeypatch.setattr("consilience.cli.suites.run_tasks", run_serially)


@pytest.fixture
def undrawn(monkeypatch):
    """Reports whose figures are not drawn in ``make test``, where these are not what is tested."""
    from markupsafe import Markup

    if not FULL:
        monkeypatch.setattr(
            "consilience.comparison.report.figures.as_svg", lambda fig, name: Markup("<svg></svg>")
        )
