"""The best point of a grid, without repeating what its points have in common.

Points that only differ in how to predict share one fit, and a grid over C alone is a ``path`` if
the method has one. The result is that of ``GridSearchCV``, which runs all other grids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import Pipeline

from consilience._estimators import last_step
from consilience.views import MultiViewData

__all__ = ["search_grid"]

Split = tuple[np.ndarray, np.ndarray]


def search_grid(
    model: Any,
    grid: Mapping[str, list],
    folds: Any,
    data: MultiViewData,
    labels: np.ndarray,
    groups: np.ndarray | None,
    fit_params: Mapping[str, np.ndarray],
) -> dict[str, Any]:
    """Return the parameters with the best mean accuracy over the folds; the first of equal ones."""
    shared = _shared_parameters(model, grid)
    (first, *others) = grid
    has_path = not others and first.rpartition("__")[2] == "C" and hasattr(last_step(model), "path")
    if fit_params or not (shared or has_path):
        search = GridSearchCV(model, dict(grid), cv=folds, refit=False, error_score="raise")
        search.fit(data, labels, groups=groups, **fit_params)
        return search.best_params_
    candidates = list(ParameterGrid(dict(grid)))
    splits = list(folds.split(np.zeros(len(labels)), labels, groups))
    scores = np.zeros(len(candidates))
    for split in splits:
        if has_path:
            scores += _scores_of_path(model, grid[first], split, data, labels)
        else:
            scores += _scores_of_split(model, candidates, shared, split, data, labels)
    return candidates[int(np.argmax(np.round(scores / len(splits), 12)))]


def _shared_parameters(model: Any, grid: Mapping[str, list]) -> list[str]:
    """Names in the grid of parameters that can be changed after a fit."""
    allowed = getattr(last_step(model), "_predict_parameters", {})
    return [
        name
        for name, values in grid.items()
        if (short := name.rpartition("__")[2]) in allowed and not set(values) & set(allowed[short])
    ]


def _scores_of_path(
    model: Any, Cs: list[float], split: Split, data: MultiViewData, labels: np.ndarray
) -> np.ndarray:
    train, test = split
    X_train, X_test = data[train], data[test]
    if isinstance(model, Pipeline):
        preparation = clone(model[:-1])
        X_train = preparation.fit_transform(X_train, labels[train])
        X_test = preparation.transform(X_test)
    models = last_step(model).path(X_train, labels[train], Cs)
    return np.array([fitted.score(X_test, labels[test]) for fitted in models])


def _scores_of_split(
    model: Any,
    candidates: list[dict[str, Any]],
    shared: list[str],
    split: Split,
    data: MultiViewData,
    labels: np.ndarray,
) -> np.ndarray:
    train, test = split
    X_train, X_test = data[train], data[test]
    scores = np.zeros(len(candidates))
    for members in _same_fit(candidates, shared):
        fitted = clone(model).set_params(**candidates[members[0]]).fit(X_train, labels[train])
        for i in members:
            last_step(fitted)._set_predict_parameters(
                **{name.rpartition("__")[2]: candidates[i][name] for name in shared}
            )
            scores[i] = fitted.score(X_test, labels[test])
    return scores


def _same_fit(candidates: list[dict[str, Any]], shared: list[str]) -> Iterator[list[int]]:
    """Groups of candidates (by number) that differ in shared parameters only."""

    def key(i: int) -> str:
        return repr([(name, v) for name, v in candidates[i].items() if name not in shared])

    for _, members in groupby(sorted(range(len(candidates)), key=key), key):
        yield list(members)
