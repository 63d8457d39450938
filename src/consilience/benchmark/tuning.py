"""The best point of a grid, without repeating what its points have in common.

Points that only differ in how to predict share one fit, and a grid over C alone is a ``path`` if
the method has one. The result is that of ``GridSearchCV``, which searches other grids by accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import Pipeline

from consilience._estimators import last_step
from consilience.views import MultiViewData

__all__ = ["accuracy_of", "search_grid"]

Measure = Callable[[Any, Any, np.ndarray, np.ndarray | None], float]


def accuracy_of(model: Any, X: Any, y_true: np.ndarray, _: np.ndarray | None) -> float:
    """Accuracy without weights."""
    return model.score(X, y_true)


def search_grid(
    model: Any,
    grid: Mapping[str, list],
    folds: Any,
    data: MultiViewData,
    labels: np.ndarray,
    groups: np.ndarray | None,
    fit_params: Mapping[str, np.ndarray],
    *,
    measure: Measure = accuracy_of,
    weight: np.ndarray | None = None,
) -> dict[str, Any]:
    """Return the parameters with the best mean score over the folds; the first of equal ones.

    ``measure(model, X, y, weight)`` is larger for better models; folds where it is NaN are left
    out. The default is the accuracy, without weights.
    """
    shared = _shared_parameters(model, grid)
    (first, *others) = grid
    has_path = not others and first.rpartition("__")[2] == "C" and hasattr(last_step(model), "path")
    needs_all_fits = bool(fit_params) or not (shared or has_path)
    if needs_all_fits and measure is accuracy_of:
        search = GridSearchCV(model, dict(grid), cv=folds, refit=False, error_score="raise")
        search.fit(data, labels, groups=groups, **fit_params)
        return search.best_params_
    candidates = list(ParameterGrid(dict(grid)))
    scores = []
    for train, test in folds.split(np.zeros(len(labels)), labels, groups):
        fold = _Fold(data, labels, weight, train, test, measure)
        if needs_all_fits:
            scores.append(_scores_of_fits(model, candidates, fit_params, fold))
        elif has_path:
            scores.append(_scores_of_path(model, grid[first], fold))
        else:
            scores.append(_scores_of_split(model, candidates, shared, fold))
    return candidates[_best_column(np.array(scores))]


def _best_column(scores: np.ndarray) -> int:
    """Number of the candidate (column) with the best mean over the folds that define it."""
    is_defined = ~np.isnan(scores).any(axis=1)
    if not is_defined.any():
        raise ValueError(
            "the metric is not defined on any fold of the grid search; use another one"
        )
    return int(np.argmax(np.round(scores[is_defined].mean(axis=0), 12)))


class _Fold(NamedTuple):
    """Training and test rows of a fold, and how models are scored on its test rows."""

    data: MultiViewData
    labels: np.ndarray
    weight: np.ndarray | None
    train: np.ndarray
    test: np.ndarray
    measure: Measure

    def score(self, model: Any, X_test: Any) -> float:
        """Score a model on test rows, which may have been prepared for it."""
        weight = None if self.weight is None else self.weight[self.test]
        if weight is not None and not weight.any():
            return np.nan  # such a fold says nothing
        return self.measure(model, X_test, self.labels[self.test], weight)


def _shared_parameters(model: Any, grid: Mapping[str, list]) -> list[str]:
    """Names in the grid of parameters that can be changed after a fit."""
    allowed = getattr(last_step(model), "_predict_parameters", {})
    return [
        name
        for name, values in grid.items()
        if (short := name.rpartition("__")[2]) in allowed and not set(values) & set(allowed[short])
    ]


def _scores_of_path(model: Any, Cs: list[float], fold: _Fold) -> np.ndarray:
    X_train, X_test, y_train = fold.data[fold.train], fold.data[fold.test], fold.labels[fold.train]
    if isinstance(model, Pipeline):
        preparation = clone(model[:-1])
        X_train = preparation.fit_transform(X_train, y_train)
        X_test = preparation.transform(X_test)
    models = last_step(model).path(X_train, y_train, Cs)
    return np.array([fold.score(fitted, X_test) for fitted in models])


def _scores_of_split(
    model: Any, candidates: list[dict[str, Any]], shared: list[str], fold: _Fold
) -> np.ndarray:
    X_train, X_test, y_train = fold.data[fold.train], fold.data[fold.test], fold.labels[fold.train]
    scores = np.zeros(len(candidates))
    for members in _same_fit(candidates, shared):
        fitted = clone(model).set_params(**candidates[members[0]]).fit(X_train, y_train)
        for i in members:
            last_step(fitted)._set_predict_parameters(
                **{name.rpartition("__")[2]: candidates[i][name] for name in shared}
            )
            scores[i] = fold.score(fitted, X_test)
    return scores


def _scores_of_fits(
    model: Any,
    candidates: list[dict[str, Any]],
    fit_params: Mapping[str, np.ndarray],
    fold: _Fold,
) -> np.ndarray:
    X_train, X_test, y_train = fold.data[fold.train], fold.data[fold.test], fold.labels[fold.train]
    params = {name: values[fold.train] for name, values in fit_params.items()}
    return np.array(
        [
            fold.score(clone(model).set_params(**candidate).fit(X_train, y_train, **params), X_test)
            for candidate in candidates
        ]
    )


def _same_fit(candidates: list[dict[str, Any]], shared: list[str]) -> Iterator[list[int]]:
    """Groups of candidates (by number) that differ in shared parameters only."""

    def key(i: int) -> str:
        return repr([(name, v) for name, v in candidates[i].items() if name not in shared])

    for _, members in groupby(sorted(range(len(candidates)), key=key), key):
        yield list(members)
