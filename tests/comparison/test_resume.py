"""A comparison that is killed goes on where it was and ends with the same ranking."""

import csv
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from benchmark.studies import command, count_results, run_in_process, start
from comparison import stories
from conftest import FULL
from consilience.cli import main
from consilience.comparison.folder import holds_study

ARGUMENTS = ["compare", "wide.csv", "--views", "a=a0:a4,b=b0:b5", "--target", "outcome",
             "--methods", "Concat,MwMvC2,MuMBo", "--cv", "3", "--repeats", "1", "--jobs", "1",
             "--quiet", "--out"]  # fmt: skip

OTHER_ARGUMENTS = ["3" if argument == "1" else argument for argument in ARGUMENTS]


def results(folder, out):
    """Scores by method and split; times differ between runs."""
    with open(folder / out / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return sorted((row["method"], row["split"], row["accuracy"], row["log_loss"]) for row in rows)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_killed_runs_go_on(tmp_path, monkeypatch, capsys):
    stories.wide(tmp_path, n=60)
    monkeypatch.chdir(tmp_path)
    run_in_process(*ARGUMENTS, "whole")
    rng = np.random.default_rng(0)
    for wanted in rng.integers(1, 12, size=24 if FULL else 1):
        process = start(*ARGUMENTS, "killed")
        while process.poll() is None and count_results(tmp_path / "killed") < wanted:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        if holds_study(tmp_path / "killed"):  # which no other study may enter
            with pytest.raises(SystemExit) as end:
                main([*OTHER_ARGUMENTS, "killed"])
            assert end.value.code == 2
            assert "contains another study" in capsys.readouterr().err
    subprocess.run(command(*ARGUMENTS, "killed"), check=True, capture_output=True)
    assert results(tmp_path, "killed") == results(tmp_path, "whole")
    assert len(results(tmp_path, "whole")) == 9
    names = {path.name for path in (tmp_path / "killed").iterdir()}
    assert {"report.html", "model.skops", "run.toml", "results.csv"} <= names
    settings = [(tmp_path / out / "run.toml").read_text() for out in ("whole", "killed")]
    assert settings[0].replace('"whole"', '"killed"') == settings[1]


@pytest.mark.skipif(not FULL, reason="with CONSILIENCE_TEST_ALL=1; test_faults.py has forks too")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_runs_go_on(tmp_path, monkeypatch):
    stories.wide(tmp_path, n=60)
    monkeypatch.chdir(tmp_path)
    run_in_process(*ARGUMENTS, "whole")
    program = [sys.executable, "-m", "benchmark.forked_runs", "compare", str(tmp_path), "8"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(program, check=True, timeout=600, env=environment)
    assert results(tmp_path, "killed8") == results(tmp_path, "whole")
