"""A comparison that is killed goes on where it was and ends with the same ranking."""

import csv
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from compare import stories
from conftest import FULL

SCRIPT = "from consilience.cli import main; main()"


def command(folder, out):
    return [sys.executable, "-c", SCRIPT, "compare", "wide.csv", "--views", "a=a0:a4,b=b0:b5",
            "--target", "outcome", "--methods", "Concat,MwMvC2,MuMBo", "--cv", "3",
            "--repeats", "1", "--jobs", "1", "--quiet", "--out", out]  # fmt: skip


def results(folder, out):
    """Scores by method and split; times differ between runs."""
    with open(folder / out / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return sorted((row["method"], row["split"], row["accuracy"], row["log_loss"]) for row in rows)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_killed_runs_go_on(tmp_path):
    stories.wide(tmp_path, n=60)
    start = time.monotonic()
    subprocess.run(command(tmp_path, "whole"), cwd=tmp_path, check=True, capture_output=True)
    whole = time.monotonic() - start
    rng = np.random.default_rng(0)
    for moment in rng.uniform(0.3, 0.95, size=12 if FULL else 1):
        process = subprocess.Popen(
            command(tmp_path, "killed"),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            process.communicate(timeout=moment * whole)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
    subprocess.run(command(tmp_path, "killed"), cwd=tmp_path, check=True, capture_output=True)
    assert results(tmp_path, "killed") == results(tmp_path, "whole")
    assert len(results(tmp_path, "whole")) == 9
    names = {path.name for path in (tmp_path / "killed").iterdir()}
    assert {"report.html", "model.skops", "run.toml", "results.csv"} <= names
    settings = [(tmp_path / out / "run.toml").read_text() for out in ("whole", "killed")]
    assert settings[0].replace('"whole"', '"killed"') == settings[1]
