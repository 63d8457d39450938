"""Score an estimator on variants of the same samples, with views shuffled or missing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline

from consilience.views import MultiViewData, as_multiview
from consilience.views import _storage as storage
from consilience.views._convert import is_matrix, split_columns
from consilience.views._index import check_aligned

__all__ = ["Scorer", "check_labels", "to_estimator_of_views", "to_multiview", "with_presence"]


def with_presence(data: MultiViewData, present: np.ndarray) -> MultiViewData:
    """Return the same views with another mask of which are present."""
    return data._replace(data._views, present=present)


class Scorer:
    """Score of an estimator on variants of the same samples."""

    def __init__(self, estimator: Any, X: Any, y: Any, scoring: Any) -> None:
        self.data = to_multiview(X, estimator)
        check_aligned(self.data, y=y)
        self.y = check_labels(y, len(self.data))
        self._estimator = estimator
        self._score = check_scoring(estimator, scoring=scoring)

    def __call__(self, data: MultiViewData) -> float:
        """Return the score; for rows without any view the prior is used without a warning."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*have no view at all", category=UserWarning)
            return float(self._score(self._estimator, data, self.y))

    def score_views(self, mask: np.ndarray) -> float:
        """Return the score when only the views in ``mask`` are present."""
        return self(with_presence(self.data, self.data.present & mask))


def to_multiview(X: Any, estimator: Any) -> MultiViewData:
    """Convert X to views; a single matrix is split by the ``views`` of the estimator or a step."""
    if not is_matrix(X):
        return as_multiview(X)
    views = getattr(_splitting_step(estimator), "views", None)
    return split_columns(X, views, storage.column_names(X))


def to_estimator_of_views(estimator: Any, X: Any) -> Any:
    """The estimator, or if it splits a matrix, a clone for the views of ``to_multiview``."""
    if is_matrix(X) and _splitting_step(estimator) is not None:
        estimator = clone(estimator)
        _splitting_step(estimator).set_params(views=None)
    return estimator


def _splitting_step(estimator: Any) -> Any:
    """The estimator, or the first step of a pipeline, that splits a matrix by its ``views``."""
    steps = [s for _, s in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    return next((step for step in steps if hasattr(step, "views")), None)


def check_labels(y: Any, n: int) -> np.ndarray:
    """Convert labels to an array and check its length."""
    y = np.asarray(y)
    if y.ndim != 1 or len(y) != n:
        raise ValueError(f"y must have one label for each of the {n} samples, got shape {y.shape}")
    return y
