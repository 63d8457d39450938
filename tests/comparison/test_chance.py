"""Chance in the ranking, warnings about rare classes, partial results, failures by stage."""

import csv
import io
import warnings

import narwhals as nw
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from comparison.simulation import Store, problem_with, simulate
from consilience import compare
from consilience.benchmark.protocol import stratified_subset
from consilience.cli import main
from consilience.comparison import execution
from consilience.comparison.ranking import ranking
from consilience.comparison.report import build_page
from consilience.comparison.report.verdict import verdict
from consilience.comparison.study import curve_sizes

QUICK = {"methods": ["Concat"], "cv": 3, "repeats": 1}
pytestmark = pytest.mark.usefixtures("serially")


def rare_class(n=120, share=0.1, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < share * n, "ill", "well")
    return {name: rng.normal(size=(n, 3)) for name in ("blood", "image")}, y


def write_table(folder, views, y):
    lines = [["b0", "b1", "i0", "i1", "state"]]
    lines += [[*b[:2], *i[:2], label] for b, i, label in zip(*views.values(), y, strict=True)]
    text = io.StringIO()
    csv.writer(text).writerows(lines)
    (folder / "table.csv").write_text(text.getvalue())
    return ["compare", str(folder / "table.csv"), "--views", "b=b0:b1,i=i0:i1", "--target", "state",
            "--methods", "Concat", "--cv", "3", "--repeats", "1", "--jobs", "1"]  # fmt: skip


def test_chance_has_a_row_without_a_rank_everywhere(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    views = {"a": rng.normal(size=(60, 3)) + 2 * y[:, None], "b": rng.normal(size=(60, 3))}
    result = compare(views, y, **QUICK)
    concat, chance = nw.from_native(result.ranking).rows(named=True)
    assert (concat["method"], chance["method"]) == ("Concat", "Chance")
    assert chance["accuracy"] == 0.5
    assert concat["rank"] == 1
    assert chance["rank"] is None or np.isnan(chance["rank"])
    assert np.isnan(chance["p_value"])
    assert concat["p_chance"] < 0.05
    assert result.best_method_ == "Concat"
    assert result.verdict_[0].startswith("Concat is significantly better than chance")
    assert result.verdict_[0] in repr(result)
    assert result.plot().methods == ["Concat", "Chance"]
    page = result.report(tmp_path / "page.html").read_text()
    assert f'<p class="lead"><strong>{result.verdict_[0]}' in page
    assert '<td class="n">–</td><th scope="row" class="name">Chance</th>' in page
    assert page.count(">Chance<") >= 2  # table and figure


def test_nothing_better_than_chance_is_said_first(tmp_path, capsys):
    arguments = write_table(tmp_path, *rare_class(share=0.5))
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--out", str(tmp_path / "out")])
    assert end.value.code == 0
    out = capsys.readouterr().out
    sentence = "No method is significantly better than chance (accuracy 0.5000)."
    assert sentence in out
    assert "Chance" in out
    assert f'<p class="lead"><strong>{sentence}' in (tmp_path / "out" / "report.html").read_text()
    assert "is best" not in out


def test_a_rare_class_gives_a_warning_and_recalls(tmp_path, capsys):
    views, y = rare_class()
    with pytest.warns(UserWarning, match="only 10.0% of the samples are of class 'ill'") as caught:
        result = compare(views, y, **QUICK)
    message = str(caught[0].message)
    assert "always predicting 'well' is correct for 90.0%" in message
    assert "balanced_accuracy" in message
    assert message in result.notes_
    assert "Recall of Concat by class: ill 0." in result.verdict_[-1]
    page = result.report(tmp_path / "page.html").read_text()
    assert "balanced_accuracy, in which all classes count the same" in page
    assert "Recall of Concat by class: ill 0." in page
    with pytest.raises(SystemExit):
        main(write_table(tmp_path, views, y))
    out = capsys.readouterr().out
    assert "warning: only 10.0% of the samples are of class 'ill'" in out
    assert "Recall of Concat by class: ill 0." in out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = compare(views, y, **QUICK, metric="balanced_accuracy")
    assert "Recall" in result.verdict_[-1]


def test_balanced_classes_give_no_warning():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 6)  # each has 12.5 %
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = compare({"a": rng.normal(size=(48, 3)) + y[:, None]}, y, **QUICK)
    assert not any("Recall" in sentence for sentence in result.verdict_)


def test_learning_curves_keep_the_class_shares():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [200, 60, 10])
    rows = rng.permutation(1000)[:270]
    for size in (27, 100, 135, 200):
        chosen = stratified_subset(rows, labels, size, rng)
        assert len(set(chosen)) == len(chosen) == size or size == 27
        counts = np.bincount(labels[[list(rows).index(row) for row in chosen]])
        np.testing.assert_allclose(counts, size * np.array([200, 60, 10]) / 270, atol=1.01)
    with Store(":memory:") as store:
        run, _ = simulate(problem_with(0.0, 200, rng, share=0.1), store, n_done=0)
    assert curve_sizes(run) == [20, 40, 80]


def test_partial_results_crown_nobody_unless_allowed():
    problem = problem_with(2.7, 60, np.random.default_rng(0))
    for allowed in (False, True):
        with Store(":memory:") as store:
            run, results = simulate(problem, store, n_done=3, allow_partial=allowed)
            page = build_page(run, results, store)
            sentences = verdict(run, results, store)
            ranks = [row.rank for row in ranking(run, results)]
        assert (results.n_splits, results.n_planned) == (3, 5)
        if allowed:
            assert results.best is not None
            assert sorted(rank for rank in ranks if rank) == [1, 2, 3]
            assert any(sentence.startswith("Partial result:") for sentence in sentences)
            assert "<strong>Partial result:</strong>" in page
        else:
            assert results.best is None
            assert set(ranks) == {None}
            assert sentences[0].startswith("Not finished: all methods have completed 3 of 5 splits")
            assert 'class="best"' not in page


def budget_of_splits(n_splits):
    """In the place of ``run_tasks``: as if the time budget ended after so many splits."""
    from benchmark.studies import run_serially

    return lambda tasks, *args, **options: run_serially(
        [task for task in tasks if task.index < n_splits], *args, **options
    )


def test_no_model_of_a_partial_result_unless_allowed(tmp_path, capsys, monkeypatch):
    arguments = write_table(tmp_path, *rare_class(share=0.5))
    out = tmp_path / "out"
    monkeypatch.setattr(execution, "run_tasks", budget_of_splits(2))
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--out", str(out)])
    assert end.value.code == 1
    assert "2 of 3 splits are complete, so no method is declared best" in capsys.readouterr().out
    assert not (out / "model.skops").exists()
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--out", str(out), "--allow-partial"])
    assert end.value.code == 0
    printed = capsys.readouterr().out
    assert "partial result" in printed
    assert "Concat was chosen from these alone" in printed
    assert "chosen from these alone" in (out / "run.toml").read_text()
    with pytest.raises(SystemExit) as end:
        main(["predict", str(out), str(tmp_path / "table.csv")])
    assert end.value.code == 0
    assert "the model is of a partial comparison: time budget" in capsys.readouterr().err


class Small(ClassifierMixin, BaseEstimator):
    """Fails on few rows, so only in the learning curve, and on many, so only at the end."""

    def fit(self, X, y):
        if len(X) < 35:
            raise ValueError("too few rows")
        if len(X) > 50:
            raise ValueError("too many rows")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.where(X[:, 0] > 1, *self.classes_[::-1])


def test_failures_name_their_stage(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    views = {"a": rng.normal(size=(60, 3)) + 2 * y[:, None]}
    result = compare(views, y, methods={"small": Small()}, cv=3, repeats=1, out=tmp_path / "out")
    stages = {failure["stage"]: failure["error"] for failure in result.failures_}
    assert stages == {
        "learning curve": "ValueError: too few rows",
        "fit on all samples": "ValueError: too many rows",
    }
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<strong>small</strong>, learning curve: " in page
    assert "<strong>small</strong>, fit on all samples: 1 fit failed: ValueError: too many" in page
    assert result.best_method_ == "small"
    assert result.best_estimator_ is None
    assert not (tmp_path / "out" / "model.skops").exists()


def test_terminal_lists_failures_with_their_stage(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "failing_module.py").write_text(
        "from sklearn.dummy import DummyClassifier\n"
        "class Failing(DummyClassifier):\n"
        "    def fit(self, X, y):\n        raise ValueError('it fails')\n"
    )
    arguments = write_table(tmp_path, *rare_class(share=0.5))
    arguments[arguments.index("Concat")] = "Concat,failing_module:Failing"
    with pytest.raises(SystemExit):
        main(arguments)
    out = capsys.readouterr().out
    assert "failing_module:Failing, comparison: 3 failed: ValueError: it fails" in out
