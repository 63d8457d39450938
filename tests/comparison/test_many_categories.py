"""A column of hundreds of categories: it is used, its treatment is said, unseen ones are fine."""

import csv

import numpy as np
import pytest

from comparison.test_stories import run
from consilience import compare

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("serially", "undrawn")
QUICK = {"methods": ["Late fusion"], "cv": 2, "repeats": 1}
N_LEVELS = 300


def table(n=1500, seed=0, first=0):
    """Clinics of very different sizes; each has mostly one outcome, and one number says little."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, N_LEVELS + 1)
    level = rng.choice(N_LEVELS, n, p=share / share.sum())
    level[:N_LEVELS] = np.arange(N_LEVELS)
    rule = np.random.default_rng(7).random(N_LEVELS) < 0.5
    y = np.where(rng.random(n) < 0.9, rule[level], ~rule[level])
    marker = rng.normal(size=n) + 0.5 * y
    clinic = [f"clinic {k + first}" for k in level]
    return pd.DataFrame({"clinic": clinic, "marker": marker, "ill": np.where(y, "yes", "no")})


def test_hundreds_of_categories_are_used_and_said():
    frame = table()
    y = frame.pop("ill")
    with_clinic = compare({"visit": frame}, y, **QUICK)
    without = compare({"visit": frame[["marker"]]}, y, **QUICK)
    accuracy = [float(result.ranking["accuracy"][0]) for result in (with_clinic, without)]
    assert accuracy[0] > accuracy[1] + 0.08
    note = f"more than 30 categories: 'clinic' ({N_LEVELS}); only the 30 most frequent"
    assert sum(note in text for text in with_clinic._run.data.notes) == 1
    assert not any("categories" in text for text in without._run.data.notes)


def test_report_and_predictions_of_unseen_categories(tmp_path, capsys):
    table().to_csv(tmp_path / "visits.csv", index=False)
    table(400, seed=1, first=1000).to_csv(tmp_path / "new.csv", index=False)
    run(capsys, "compare", tmp_path / "visits.csv", "--target", "ill", "--out", tmp_path / "study",
        "--methods", "Late fusion", "--cv", "2", "--repeats", "1", "--jobs", "1")  # fmt: skip
    page = (tmp_path / "study" / "report.html").read_text()
    assert f"(&#39;clinic&#39; ({N_LEVELS})" in page or f"clinic&#39; ({N_LEVELS})" in page
    out = tmp_path / "predicted.csv"
    run(capsys, "predict", tmp_path / "study" / "model.skops", tmp_path / "new.csv", "--out", out)
    with open(out, newline="") as file:
        assert len(list(csv.DictReader(file))) == 400
