"""Shared fits and paths choose what GridSearchCV chooses."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, ParameterGrid, PredefinedSplit, StratifiedKFold

from consilience.benchmark import tuning
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
