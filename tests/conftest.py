"""Settings of all tests: how many random examples, no threads below ours, studies in process."""

import os

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


@pytest.fixture
def serially(monkeypatch):
    """``compare`` and ``bench`` without worker processes, where these are not what is tested."""
    from benchmark.studies import run_serially

    monkeypatch.setattr("consilience.comparison._compare.run_tasks", run_serially)
    monkeypatch.setattr("consilience.cli.suites.run_tasks", run_serially)
