"""Three users from their files to predictions for new samples."""

import csv
import io

import numpy as np
import pytest

from comparison import stories
from consilience.benchmark.store import Store
from consilience.cli import main
from consilience.comparison.record import read_run
from consilience.io import load


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([str(a) for a in arguments])
    captured = capsys.readouterr()
    assert end.value.code == 0, captured.err
    return captured


def predictions(text):
    return list(csv.DictReader(io.StringIO(text)))


def check_folder(out):
    names = {path.name for path in out.iterdir()}
    assert {"report.html", "results.sqlite", "results.csv", "model.skops", "run.toml"} <= names
    page = (out / "report.html").read_text()
    assert page.count("<svg") == page.count('role="img"') >= 5
    for heading in ("Ranking", "Data", "Which views matter", "Errors", "Effort", "Repeat and use"):
        assert heading in page
    return page


def stored(out):
    with Store(out / "results.sqlite") as store:
        return [(record.task_hash, record.started) for record in store.records()]


def test_patients_in_two_files(tmp_path, capsys):
    known, _ = stories.patients(tmp_path)
    new, y_true = stories.patients(tmp_path, n=40, seed=1, prefix="", labels=False)
    files = [f"{v}={tmp_path}/train_{v}.csv" for v in ("rna", "protein")]
    out = tmp_path / "study"
    options = ["--on", "patient", "--target", "subtype", "--out", out, "--methods", stories.FAST]
    options += ["--cv", "3", "--repeats", "1", "--jobs", "1"]
    captured = run(capsys, "compare", *files, tmp_path / "train_labels.csv", *options)
    assert "samples that have no view (" in captured.out
    page = check_folder(out)
    assert "luminal A" in page
    assert "numbers and text (1 text)" in page
    summary = read_run(out).data
    assert summary.samples == len(known)
    assert [view.missing_rows > 0 for view in summary.views] == [True, True]
    assert summary.views[0].missing_cells > 0
    model = load(out / "model.skops")
    assert model.view_names_ == ["rna", "protein"]

    # both views, by their stems, for patients who have one or both
    both = run(capsys, "predict", out / "model.skops", tmp_path / "rna.csv",
               tmp_path / "protein.csv", "--on", "patient")  # fmt: skip
    rows = predictions(both.out)
    assert {row["patient"] for row in rows} == set(new)
    right = [(row["predicted"] == "luminal A") == y_true[row["patient"]] for row in rows]
    assert np.mean(right) > 0.75
    sums = [float(row["p(basal)"]) + float(row["p(luminal A)"]) for row in rows]
    np.testing.assert_allclose(sums, 1, atol=1e-4)

    # one view absent, found by its columns
    (tmp_path / "protein.csv").rename(tmp_path / "other.csv")
    target = tmp_path / "predictions.csv"
    one = run(capsys, "predict", out / "model.skops", tmp_path / "other.csv",
              "--on", "patient", "--out", target)  # fmt: skip
    assert "missing for all samples: 'rna'" in one.err
    assert len(predictions(target.read_text())) == 32
    # and from Python, with an unknown category and a missing cell
    import pandas as pd

    table = pd.DataFrame({"g0": [1.0, None], "g1": 1.0, "g2": 2.0, "g3": 0.0, "site": ["x", None]})
    assert set(model.predict({"rna": table})) <= {"basal", "luminal A"}


@pytest.mark.usefixtures("serially")
def test_sparse_text_and_parquet(tmp_path, capsys):
    stories.documents(tmp_path)
    topic = stories.documents(tmp_path, n=30, seed=1, prefix="new_")
    out = tmp_path / "study"
    run(capsys, "compare", tmp_path / "text.svm", tmp_path / "meta.parquet", "--target", "topic",
        "--out", out, "--methods", stories.FAST + ",ExtraTrees", "--cv", "3", "--repeats", "1",
        "--jobs", "1", "--metric", "balanced_accuracy")  # fmt: skip
    page = check_folder(out)
    assert "sparse numbers" in page
    both = run(capsys, "predict", out / "model.skops", f"text={tmp_path}/new_text.svm",
               f"meta={tmp_path}/new_meta.parquet")  # fmt: skip
    assert np.mean([int(row["predicted"]) for row in predictions(both.out)] == topic) > 0.8
    for view, file in (("text", "new_text.svm"), ("meta", "new_meta.parquet")):
        one = run(capsys, "predict", out / "model.skops", f"{view}={tmp_path}/{file}")
        assert np.mean([int(row["predicted"]) for row in predictions(one.out)] == topic) > 0.5


@pytest.mark.usefixtures("serially")
def test_views_within_one_wide_file(tmp_path, capsys):
    stories.wide(tmp_path)
    y = stories.wide(tmp_path, n=40, seed=1, name="new.csv")
    stories.wide(tmp_path, n=40, seed=1, name="half.csv", views=("b",))
    out = tmp_path / "study"
    command = ["compare", tmp_path / "wide.csv", "--views", "first = a0:a4, second = b0:b3, b5"]
    command += ["--target", "outcome", "--out", out, "--methods", "Concat,Early fusion"]
    command += ["--cv", "2", "--repeats", "2", "--jobs", "1"]
    captured = run(capsys, *command)
    assert "2 columns are in no view: 'visit', 'b4'" in captured.out
    check_folder(out)
    assert [view.columns for view in read_run(out).data.views] == [5, 5]
    full = run(capsys, "predict", out / "model.skops", tmp_path / "new.csv")
    assert np.mean([int(row["predicted"]) for row in predictions(full.out)] == y) > 0.8
    half = run(capsys, "predict", out / "model.skops", tmp_path / "half.csv")
    assert "missing for all samples: 'first'" in half.err
    assert np.mean([int(row["predicted"]) for row in predictions(half.out)] == y) > 0.7

    # the page again, from the store alone
    first = (out / "report.html").read_text()
    (out / "report.html").unlink()
    run(capsys, "report", out)
    assert (out / "report.html").read_text() == first

    # the same command again does no fit twice
    before = stored(out)
    run(capsys, *command)
    assert stored(out) == before


def test_time_budget(tmp_path, capsys):
    stories.wide(tmp_path)
    command = ["compare", tmp_path / "wide.csv", "--views", "a=a0:a4,b=b0:b5", "--target",
               "outcome", "--out", tmp_path / "study", "--methods", "Late fusion,Early fusion",
               "--jobs", "1"]  # fmt: skip
    with pytest.raises(SystemExit) as end:
        main([str(a) for a in command] + ["--time-budget", "0.001s"])
    assert end.value.code == 1  # nothing could be ranked
    assert "time budget exceeded: 0 of 10 splits" in capsys.readouterr().out
    assert "Not finished" in (tmp_path / "study" / "report.html").read_text()


@pytest.mark.usefixtures("serially")
def test_groups_stay_together(tmp_path, capsys):
    y = stories.wide(tmp_path, n=60)
    lines = (tmp_path / "wide.csv").read_text().splitlines()
    grouped = [lines[0] + ",clinic"] + [f"{line},c{i % 6}" for i, line in enumerate(lines[1:])]
    (tmp_path / "wide.csv").write_text("\n".join(grouped))
    out = tmp_path / "study"
    run(capsys, "compare", tmp_path / "wide.csv", "--views", "a=a0:a4,b=b0:b5", "--target",
        "outcome", "--groups", "clinic", "--out", out, "--methods", "Concat", "--cv", "3", "--tune",
        "--repeats", "1", "--jobs", "1")  # fmt: skip
    clinics = np.arange(len(y)) % 6
    with Store(out / "results.sqlite") as store:
        tests = [store.predictions(r.task_hash) for r in store.records() if r.task.keep_predictions]
    assert sorted(np.concatenate([part.rows for part in tests])) == list(range(60))
    for part in tests:
        assert not set(clinics[part.rows]) & set(np.delete(clinics, part.rows))
    assert "whole groups kept together" in (out / "report.html").read_text()
