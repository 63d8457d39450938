"""Shared fits and paths choose what GridSearchCV chooses."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ParameterGrid,
    PredefinedSplit,
    StratifiedKFold,
)

from consilience.benchmark import tuning, work
from consilience.benchmark.tuning import search_grid
from consilience.datasets import make_multiview_classification
from consilience.methods import METHODS

GRIDS = {
    "SMVMED": {
        "classifier__c": [0.01, 1.0],
        "classifier__combine": ["mean", "view0", "view1"],
        "classifier__alpha": [0.0, 0.9],
    },
    "AMVMED": {"classifier__c": [0.1, 1.0], "classifier__combine": ["view1", "mean"]},
    "MVL-SVM": {"classifier__C": [0.1, 10.0, 1000.0]},
    "MKL": {"classifier__C": [0.01, 1.0]},
    "Late fusion": {"classifier__weights": [[1, 0], [0, 1]]},
}


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("folds", ["folds", "validation"])
def test_same_choice_as_grid_search(name, folds, monkeypatch):
    data, y = make_multiview_classification(90, n_views=2, strength=0.7, random_state=3)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    if folds == "validation":
        cv = PredefinedSplit(np.repeat([-1, 0], [60, 30]))
    model, grid = METHODS[name].make_estimator(0), GRIDS[name]
    search = GridSearchCV(model, grid, cv=cv, refit=False, error_score="raise").fit(data, y)
    if name != "Late fusion":  # the others must not need it
        monkeypatch.setattr(tuning, "GridSearchCV", None)
    assert search_grid(model, grid, cv, data, y, None, {}) == search.best_params_


def test_one_fit_for_all_ways_to_predict(monkeypatch):
    data, y = make_multiview_classification(60, n_views=2, random_state=0)
    model = METHODS["SMVMED"].make_estimator(0)
    kind, fits = type(model[-1]), []
    fit = kind.fit
    monkeypatch.setattr(kind, "fit", lambda self, *args: (fits.append(1), fit(self, *args))[1])
    cv = StratifiedKFold(2)
    search_grid(model, GRIDS["SMVMED"], cv, data, y, None, {})
    assert len(fits) == 2 * len(ParameterGrid(GRIDS["SMVMED"])) / 3


def test_combine_best_is_searched_by_fits():
    grid = {"classifier__combine": ["mean", "best"]}
    assert tuning._shared_parameters(METHODS["SMVMED"].make_estimator(0), grid) == []


@pytest.mark.parametrize("name", ["SMVMED", "MVL-SVM", "Late fusion"])
def test_grids_are_searched_by_any_metric(name):
    data, y = make_multiview_classification(90, n_views=2, strength=0.7, random_state=3)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    model, grid = METHODS[name].make_estimator(0), GRIDS[name]
    metric = "log_loss" if name == "Late fusion" else "roc_auc"
    scoring = {"log_loss": "neg_log_loss"}.get(metric, metric)
    search = GridSearchCV(model, grid, cv=cv, refit=False, scoring=scoring).fit(data, y)
    best = search_grid(model, grid, cv, data, y, None, {}, measure=work.TestMetric(metric))
    assert best == search.best_params_


class Constant(ClassifierMixin, BaseEstimator):
    """Predicts one class, whatever it sees."""

    def __init__(self, label=0):
        self.label = label

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.label)


def test_weights_of_validation_rows_count():
    data, y = make_multiview_classification(60, random_state=0)
    y = np.repeat([0, 1], [40, 20])
    weight = np.where(y == 1, 4.0, 1.0)
    cv, grid, params = StratifiedKFold(2), {"label": [0, 1]}, {"sample_weight": weight}
    search = partial(search_grid, Constant(), grid, cv, data, y, None, params)
    for weights, label in ((None, 0), (weight, 1)):
        assert search(measure=work.TestMetric("accuracy"), weight=weights) == {"label": label}


def test_folds_without_the_metric_are_left_out():
    data, y = make_multiview_classification(60, random_state=0)
    y = np.repeat([0, 1], [40, 20])
    search = {"measure": work.TestMetric("balanced_accuracy")}
    with pytest.raises(ValueError, match="not defined on any fold of the grid search"):
        search_grid(Constant(), {"label": [0, 1]}, KFold(3), data, y, None, {}, **search)
    mixed = PredefinedSplit(np.r_[np.zeros(30), np.ones(20), np.zeros(10)])
    model = METHODS["SMVMED"].make_estimator(0)
    assert search_grid(model, GRIDS["SMVMED"], mixed, data, y, None, {}, **search)


def test_comparisons_tune_by_their_metric():
    from comparison.test_study import planned
    from consilience.comparison import study

    methods = ["MKL", "Consilience"]
    plain = study.main_tasks(planned([40, 40], methods=methods, tune=True))
    assert {task.tuning_metric for task in plain} == {""}  # accuracy, as in stored fits
    by_loss = study.main_tasks(planned([40, 40], methods=methods, tune=True, metric="log_loss"))
    assert all(task.tuning_metric == ("log_loss" if task.grid else "") for task in by_loss)
    assert any(task.grid for task in by_loss)
    run = planned([40, 40], methods=methods, tune=True)
    run.data.class_weights = [40.0, 80.0]
    assert run.tuning_metric == "accuracy"
    assert planned([40, 40], metric="log_loss").tuning_metric == ""
