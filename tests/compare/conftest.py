import pytest

from compare.in_process import run_serially


@pytest.fixture
def serially(monkeypatch):
    """``consilience compare`` without worker processes, where these are not what is tested."""
    monkeypatch.setattr("consilience.cli.compare.run_tasks", run_serially)
