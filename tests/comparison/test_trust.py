"""Suspects, calibration and costs of a comparison, and what predictions say of themselves."""

import csv
import io

import numpy as np
import pytest

from comparison.in_process import Store, study
from consilience.benchmark.problems import Problem
from consilience.cli import main
from consilience.comparison.prediction import load_model
from consilience.comparison.record import read_run
from consilience.comparison.report import write_report
from consilience.comparison.trust import calibrate_best, find_suspects
from consilience.comparison.trust_columns import _find_separator
from consilience.views import MultiViewData


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], 60)
    latent = rng.normal(size=(120, 6))
    latent[:, 0] += 4.0 * (y == "ill")
    a, b = latent + 0.1 * rng.normal(size=(2, 120, 6))
    b[30:36] = np.roll(b[30:36], 1, axis=0)
    y[60] = "ill"
    present = np.ones((120, 2), dtype=bool)
    present[5:30, 1] = False
    return Problem(MultiViewData({"rna": a, "protein": b}, present=present), y)


def test_suspects_of_a_study(problem):
    with Store(":memory:") as store:
        _, results = study(problem, store, cv=3)
        summary = find_suspects(problem, results, store)
    assert set(range(30, 36)) == {suspect.row for suspect in summary.mix_ups}
    assert {suspect.view for suspect in summary.mix_ups} == {""}
    assert min(summary.mix_up_areas.values()) > 0.95
    first = summary.label_suspects[0]
    assert (first.row, first.label, first.predicted) == (60, 0, 1)
    assert summary.n_label_suspects >= len(summary.label_suspects)


def test_report_and_run_file_keep_what_left_out_samples_say(problem, tmp_path):
    with Store(":memory:") as store:
        run, results = study(problem, store, cv=3)
        run.trust = find_suspects(problem, results, store)
        table = calibrate_best(run, problem, "Late fusion", {}, {"rna": 1.0, "protein": 3.0}, None)
        write_report(run, results, store, tmp_path)
    run.write(tmp_path)
    assert read_run(tmp_path).trust == run.trust
    assert run.trust.reference_rows == len(table) == 36
    assert sum(pattern.samples for pattern in run.trust.reliability) == 36
    curve = run.trust.cost_curve
    assert curve.cost[-1] == 4.0
    assert curve.accuracy[-1] == curve.fixed_accuracy[-1]
    page = (tmp_path / "report.html").read_text()
    for title in ("do not seem to belong together", "Labels that may be wrong", "cost of views"):
        assert title in page


def test_conflicts_are_relative_to_the_prior_of_the_weighted_samples(problem):
    weight = np.where(problem.target == "ill", 3.0, 1.0)
    weighted = Problem(problem.data, problem.target, sample_weight=weight)
    with Store(":memory:") as store:
        run, _ = study(weighted, store, cv=3)
        table = calibrate_best(run, weighted, "Late fusion", {}, None, None)
    assert table.prior[0] == pytest.approx(3 * 61 / (3 * 61 + 59), abs=0.01)


def test_damaged_summaries_are_named(problem, tmp_path):
    with Store(":memory:") as store:
        run, results = study(problem, store, cv=3)
        run.trust = find_suspects(problem, results, store)
    run.trust.label_suspects[0].row = 500
    run.write(tmp_path)
    with pytest.raises(ValueError, match=r"damaged: trust: row"):
        read_run(tmp_path)


def test_calibration_that_fails_is_a_note(problem):
    with Store(":memory:") as store:
        run, _ = study(problem, store, cv=3)
        few = Problem(problem.data[[0, 1, 119]], problem.target[[0, 1, 119]])
        assert calibrate_best(run, few, "Late fusion", {}, None, None) is None
        assert calibrate_best(run, problem, "Late fusion", {}, None, 0.0) is None
    assert run.notes[-2].startswith("not calibrated: ValueError")
    assert run.notes[-1] == "not calibrated: no time was left"


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return end.value.code, captured.out, captured.err


@pytest.mark.usefixtures("serially")
def test_predictions_with_sets_conflict_and_advice(problem, tmp_path, capsys):
    for name, view in problem.data.items():
        lines = [
            f"P{i:03}," + ",".join(f"{x:.3f}" for x in row) + f",{problem.target[i]}"
            for i, row in enumerate(np.asarray(view))
            if problem.data.present[i, problem.data.view_names.index(name)]
        ]
        header = "patient," + ",".join(f"{name}{j}" for j in range(6)) + ",state"
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *lines]) + "\n")
    files, out = [tmp_path / "rna.csv", tmp_path / "protein.csv"], tmp_path / "out"
    common = ["--methods", "Late fusion", "--cv", 2, "--repeats", 1, "--jobs", 1, "--quiet"]
    join = ["--target", "state", "--on", "patient"]
    code, _, error = call(capsys, "compare", *files, *join, "--costs", "rna=1", *common)
    assert (code, "costs must name the views" in error) == (2, True)
    code, *_ = call(
        capsys, "compare", *files, *join, "--costs", "rna=1,protein=2", "--out", out, *common
    )
    assert code == 0
    code, text, _ = call(
        capsys, "predict", out, *files, "--sets", 0.1, "--conflict", "--advice"
    )  # fmt: skip
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(text)))
    sets = [set(row["set"].split("|")) - {""} for row in rows]
    assert np.mean([row["true"] in own for row, own in zip(rows, sets, strict=True)]) > 0.85
    assert all(own <= {"ill", "well"} or own == {"(none)"} for own in sets)
    assert {row["conflicting view"] for row in rows} == {""}  # two views do not tell which is wrong
    lacking = [row for row in rows if row["p(conflict)"] == ""]
    assert [row["patient"] for row in lacking] == [f"P{i:03}" for i in range(5, 30)]
    assert {row["next view"] for row in rows if row not in lacking} == {""}
    assert {row["next view"] for row in lacking} <= {"", "protein"}
    assert load_model(out).costs == {"rna": 1.0, "protein": 2.0}
    code, _, error = call(capsys, "predict", out, *files, "--advice", "--costs", "rna=1,rna=2")
    assert (code, "--costs names the view 'rna' twice" in error) == (2, True)
    code, text, error = call(capsys, "predict", out, *files, "--sets", 0.001)
    assert "120 sets have all classes: --sets 0.001 takes 999 left-out samples with the" in error
    assert {row["set"] for row in csv.DictReader(io.StringIO(text))} == {"ill|well"}
    code, _, error = call(capsys, "predict", out, *files, "--sets", 2)
    assert (code, "--sets must be a number between 0 and 1" in error) == (2, True)
    code, _, error = call(capsys, "predict", out, *files, "--costs", "rna=2")
    assert (code, "--costs needs --advice" in error) == (2, True)
    code, _, error = call(capsys, "predict", out, *files, "--advice", "--costs", "rna")
    assert (code, "--costs must be like rna=300" in error) == (2, True)
    plain = tmp_path / "plain"
    code, *_ = call(capsys, "compare", *files, *join, "--out", plain, *common)
    code, _, error = call(capsys, "predict", plain, *files, "--advice")
    assert (code, "run the comparison again with --calibrate" in error) == (2, True)


def test_sets_are_told_from_classes_with_a_bar_in_their_names():
    assert _find_separator(["a", "b"]) == "|"
    assert _find_separator(["a", "b", "a|b"]) == ";"
    with pytest.raises(ValueError, match="--sets needs a character"):
        _find_separator(["|;", "/~^"])
