"""Importance of the features for the best method of a comparison."""

import csv

import pytest

from consilience import MultiViewData, compare
from consilience.comparison.record import FeatureRow, FeatureSummary, read_run
from consilience.comparison.report.features import features_figure
from consilience.datasets import make_multiview_biomarkers

QUICK = {"methods": ["Late fusion"], "cv": 2, "repeats": 1}


@pytest.fixture(autouse=True)
def _serially(serially, undrawn):
    """Without worker processes and figures."""


@pytest.fixture(scope="module")
def problem():
    return make_multiview_biomarkers(
        80, n_features=[4, 12], n_informative=3, effect=2.0, random_state=0
    )


def test_features_of_the_best_method(problem, tmp_path):
    pd = pytest.importorskip("pandas")
    views = {
        "rna": pd.DataFrame(problem.data["view0"], columns=[f"gene{j}" for j in range(4)]),
        "other": problem.data["view1"],
    }
    result = compare(views, problem.target, features=True, out=tmp_path, **QUICK)
    assert len(result.features_) == 16
    with open(tmp_path / "features.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 16
    best = result.features_.top(1)
    assert [rows[0]["view"], rows[0]["feature"]] == [best.view[0], str(best.feature[0])]
    values = [float(row["importance"]) for row in rows]
    assert values == sorted(values, reverse=True)
    summary = read_run(tmp_path).features
    assert summary.n_selected == (result.features_.q_value <= 0.1).sum()
    assert [row.view for row in summary.rows] == ["rna"] * 4 + ["other"] * 10
    page = (tmp_path / "report.html").read_text()
    assert "Which features matter" in page
    assert "gene3" in page
    assert "<svg" in features_figure(summary)
    compare(views, problem.target, out=tmp_path, **QUICK)
    assert not (tmp_path / "features.csv").exists()
    assert "Which features matter" not in (tmp_path / "report.html").read_text()


def test_bars_are_below_the_name_of_their_view(monkeypatch):
    rows = [
        FeatureRow(view, feature, 0.1, 0.01, 1.0, 0.05, "")
        for view, feature in [("rna", "g0"), ("rna", "g1"), ("blood", "crp")]
    ]
    monkeypatch.setattr("consilience.comparison.report.features.as_svg", lambda fig, _: fig)
    (ax,) = features_figure(FeatureSummary(3, 3, 0.1, rows)).axes
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["RNA", "g0", "g1", "BLOOD", "crp"]
    assert ax.get_yticks().tolist() == [0, 1, 2, 3, 4]
    assert [bar.get_y() + bar.get_height() / 2 for bar in ax.patches] == [1, 2, 4]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first one is on top


def test_why_there_are_no_features(problem):
    K = problem.data["view1"] @ problem.data["view1"].T
    data = MultiViewData({"k": K}, kinds={"k": "kernel"})
    result = compare(data, problem.target, features=True, **{**QUICK, "methods": ["Consilience"]})
    assert result.features_ is None
    assert any("'k' is a kernel between samples" in note for note in result.notes_)


def test_names_of_columns_from_files(problem, tmp_path, capsys):
    from consilience.cli import main

    for number, name in enumerate(["rna", "protein"]):
        X, y = problem.data[f"view{number}"], problem.target
        columns = [f"{name}-{j}" for j in range(X.shape[1])]
        for part, rows in (("", slice(0, 60)), ("_new", slice(60, 80))):
            lines = [["id", *columns, *(["state"] if number == 0 else [])]]
            for i in range(80)[rows]:
                label = [("well", "ill")[y[i]]] if number == 0 else []
                lines.append([f"S{i}", *(f"{x:.4f}" for x in X[i]), *label])
            text = "\n".join(",".join(line) for line in lines)
            (tmp_path / f"{name}{part}.csv").write_text(text + "\n")
    paths = [str(tmp_path / f"{name}.csv") for name in ("rna", "protein")]
    options = ["--target", "state", "--on", "id", "--methods", "Late fusion", "--cv", "2"]
    options += ["--repeats", "1", "--jobs", "1", "--features", "--out", str(tmp_path / "out")]
    for name in ("rna", "protein"):
        options += ["--test", str(tmp_path / f"{name}_new.csv")]
    with pytest.raises(SystemExit) as end:
        main(["compare", *paths, *options])
    assert not end.value.code
    out = capsys.readouterr().out
    assert "features at a false discovery rate of 0.1" in out
    assert "protein-" in out
    assert "on 20 samples of" in out  # the files of --test
    assert "rna-" in (tmp_path / "out" / "features.csv").read_text()
