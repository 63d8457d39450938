"""Every number of the page can be recomputed from results.csv and the stored predictions."""

import csv
import io
import re

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    precision_recall_fscore_support,
    roc_auc_score,
)

from comparison.in_process import Store, study
from consilience.benchmark.metrics import QUALITY_METRICS
from consilience.benchmark.problems import Problem
from consilience.benchmark.publish import raw_csv
from consilience.comparison.record import Options
from consilience.comparison.report import build_page
from consilience.comparison.report.summaries import out_of_fold_predictions
from consilience.views import MultiViewData

METHODS = ["Late fusion", "Early fusion"]
N_FOLDS = 2


@pytest.fixture(scope="module")
def content():
    """The page, the rows of results.csv and the predictions of the best method."""
    rng = np.random.default_rng(3)
    y = np.repeat(["well", "ill"], [24, 16])
    shift = (y == "ill")[:, None] * np.array([0.9, 0.0])
    views = {name: rng.normal(size=(40, 2)) + shift for name in ("rna", "image")}
    problem = Problem(MultiViewData(views), y)
    with Store(":memory:") as store:
        settings = Options(METHODS, N_FOLDS, 1, "accuracy", 0, True)
        run, results = study(problem, store, settings=settings)
        page = build_page(run, results, store)
        rows = list(csv.DictReader(io.StringIO(raw_csv(results.main))))
        folds = out_of_fold_predictions(store, results.main, results.best)
        return page, rows, folds, results.best


def cells(page, caption, name="table"):
    """Rows of the table with a caption, as lists of texts."""
    table = next(t for t in re.findall(r"<table>.*?</table>", page, re.S) if caption in t)
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.S)
    cell = r"<t[hd][^>]*>(.*?)</t[hd]>"
    return [[re.sub("<[^>]+>", "", c).strip() for c in re.findall(cell, r, re.S)] for r in rows]


def mean(rows, method, column):
    return np.mean([float(row[column]) for row in rows if row["method"] == method])


def test_scores_of_all_methods_and_metrics(content):
    page, rows, _, _ = content
    table = cells(page, "Means over the splits")
    titles, body = table[0][1:], {row[0]: row[1:] for row in table[1:]}
    names = [title.split(" (")[0].lower().replace(" ", "_") for title in titles]
    assert set(names) == set(QUALITY_METRICS)
    n_checked = 0
    for method in METHODS:
        for name, text in zip(names, body[method], strict=True):
            assert text == f"{mean(rows, method, name):.3f}"
            n_checked += 1
    assert n_checked == 2 * len(QUALITY_METRICS)


@pytest.mark.parametrize("metric", ["accuracy", "log loss", "roc auc"])
def test_rankings_are_sorted_by_recomputed_means(content, metric):
    page, rows, _, _ = content
    table = cells(page, f"Methods by {metric}, best first")[1:]
    listed = {row[1]: float(row[2]) for row in table}
    for method in METHODS:
        expected = mean(rows, method, metric.replace(" ", "_"))
        assert listed[method] == pytest.approx(expected, abs=5e-5)
    sign = -1 if metric == "log loss" else 1
    scores = [sign * score for score in listed.values()]
    assert scores == sorted(scores, reverse=True)


def test_times_by_step(content):
    page, rows, _, _ = content
    for method, *texts in cells(page, "Mean CPU seconds per fold")[1:]:
        columns = ("tune_seconds", "fit_seconds", "predict_seconds")
        for text, column in zip(texts, columns, strict=True):
            assert float(text) == pytest.approx(mean(rows, method, column), rel=0.05, abs=6e-3)


def test_classes_and_curves(content):
    page, _, folds, best = content
    y_true = np.concatenate([fold.classes[fold.y_true] for fold in folds])
    y_pred = np.concatenate([fold.classes[fold.y_pred] for fold in folds])
    scores = np.concatenate([fold.scores[:, 1] for fold in folds])  # of "well"
    expected = precision_recall_fscore_support(y_true, y_pred)
    for k, row in enumerate(cells(page, f"{best} by class")[1:]):
        assert int(row[1]) == expected[3][k]
        np.testing.assert_allclose(
            [float(t) for t in row[2:]], [e[k] for e in expected[:3]], atol=5e-4
        )
    area = roc_auc_score(y_true == "well", scores)
    precision = average_precision_score(y_true == "well", scores)
    assert f"{best} ({area:.3f})" in page
    assert f"{best} ({precision:.3f})" in page
    matrix = confusion_matrix(y_true, y_pred)
    assert f"ill predicted as well: {matrix[0, 1]} of {matrix[0].sum()}" in page


def test_tuned_values_and_grids(content):
    page, _, _, _ = content
    rows = cells(page, "Chosen within the training samples")[1:]
    assert {row[0] for row in rows} == set(METHODS)
    for _, _, grid, chosen in rows:
        counts = re.findall(r"(\S+) \((\d+)\)", chosen)
        assert sum(int(count) for _, count in counts) == N_FOLDS
        assert all(value in grid.split(", ") for value, _ in counts)


def test_page_is_small_and_plain(content):
    page = content[0]
    assert len(page.encode()) < 1_000_000
    assert "mathdefault" not in page
    assert "<script" not in page
