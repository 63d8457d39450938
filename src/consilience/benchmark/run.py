"""Cross-validate recipes on one data set; only fitting is inside the timer."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold

from consilience.benchmark.recipes import Recipe
from consilience.views import MultiViewData

__all__ = ["FoldResult", "MethodSummary", "cross_validate_recipes", "rank"]


@dataclass(frozen=True)
class FoldResult:
    """One fit: the score on the fold's test rows, or the error that ended it."""

    method: str
    fold: int
    accuracy: float
    fit_seconds: float
    error: str | None = None


@dataclass(frozen=True)
class MethodSummary:
    """A method over all its folds; the mean is NaN if any of them failed."""

    method: str
    accuracy: float
    deviation: float
    fit_seconds: float
    error: str | None


def cross_validate_recipes(
    recipes: Iterable[Recipe],
    data: MultiViewData,
    target: np.ndarray,
    *,
    n_splits: int = 5,
    seed: int = 0,
    n_jobs: int = 1,
) -> Iterator[FoldResult]:
    """Yield a result for every recipe and fold as it is done; all recipes see the same folds."""
    folds = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
    splits = list(folds.split(np.zeros(len(target)), target))
    tasks = (
        delayed(_fit_fold)(recipe.name, fold, data, target, train, test, seed)
        for recipe in recipes
        for fold, (train, test) in enumerate(splits)
    )
    yield from Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)


def _fit_fold(
    method: str,
    fold: int,
    data: MultiViewData,
    target: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    seed: int,
) -> FoldResult:
    # by name, because a worker process cannot be sent the recipe's function
    from consilience.benchmark.recipes import RECIPES

    estimator: Any = RECIPES[method].build(seed + fold)
    X, y = data[train], target[train]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = process_time()
            estimator.fit(X, y)
            seconds = process_time() - start
            accuracy = accuracy_score(target[test], estimator.predict(data[test]))
    except Exception as error:
        return FoldResult(method, fold, np.nan, np.nan, f"{type(error).__name__}: {error}")
    return FoldResult(method, fold, float(accuracy), seconds)


def rank(results: Iterable[FoldResult]) -> list[MethodSummary]:
    """Methods by mean accuracy, the best first; those that failed last."""
    folds: dict[str, list[FoldResult]] = {}
    for result in results:
        folds.setdefault(result.method, []).append(result)
    summaries = []
    for method, group in folds.items():
        group = sorted(group, key=lambda result: result.fold)
        accuracies = np.array([result.accuracy for result in group])
        summaries.append(
            MethodSummary(
                method=method,
                accuracy=float(accuracies.mean()),
                deviation=float(accuracies.std(ddof=1)) if len(group) > 1 else 0.0,
                fit_seconds=float(np.sum([result.fit_seconds for result in group])),
                error=next((result.error for result in group if result.error), None),
            )
        )
    return sorted(summaries, key=lambda s: (np.isnan(s.accuracy), -s.accuracy, s.method))
