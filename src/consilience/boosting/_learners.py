"""Weak learners: fitted again and again on one view with new weights.

A ``...Learner`` belongs to one view during a fit; its ``fit`` returns a weak hypothesis, an object
with ``predict(X)`` -> class codes for raw rows of the view, and its predictions for the training
rows, −1 where the view is missing. Our binned tree reads the view once for all rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from consilience._core.binned import BinnedView
from consilience._estimators import (
    check_classifier,
    fit_label_encoded,
    last_step,
    takes_weight,
    with_seed,
)

__all__ = ["EstimatorLearner", "TreeLearner"]


class TreeLearner:
    """Our binned tree: the view is binned once, every round grows a tree on the bins."""

    def __init__(
        self,
        tree: Any,
        view: Any,
        present: np.ndarray,
        codes: np.ndarray,
        weight: np.ndarray,
        n_classes: int,
    ) -> None:
        self.present = present
        self.codes = codes
        self.n_classes = n_classes
        self.tree = tree
        rows = None if present.all() else present
        self.binned = BinnedView(view, weight=weight, present=rows, max_bins=tree.max_bins)

    def fit(self, weight: np.ndarray, seed: int) -> Any:
        """Tree and its training predictions for these weights."""
        tree = self.binned.grow(
            self.codes,
            weight,
            n_classes=self.n_classes,
            seed=self._seed(seed),
            **self._params(weight[self.present].sum()),
        )
        return self._with_predictions(tree)

    def fit_costs(self, costs: np.ndarray, seed: int) -> Any:
        """Tree that makes Σ costs[i, h(i)] small."""
        params = self._params(0.0)
        del params["min_weight_leaf"]  # costs are no weights
        return self._with_predictions(self.binned.grow_cost(costs, seed=self._seed(seed), **params))

    def _seed(self, seed: int) -> Any:
        given = self.tree.random_state
        return seed if given is None else check_random_state(given).randint(2**31 - 1)

    def _params(self, total_weight: float) -> Any:
        return self.tree.grow_params(self.binned.n_features, total_weight)

    def _with_predictions(self, tree: Any) -> Any:
        predictions = self.binned.predict(tree)
        if not self.present.all():
            predictions = np.where(self.present, predictions, -1)
        return tree, predictions


class EstimatorLearner:
    """Any scikit-learn classifier, weighted or, if it takes no weights, on a weighted resample."""

    def __init__(
        self,
        estimator: Any,
        view: Any,
        present: np.ndarray,
        codes: np.ndarray,
        weight: np.ndarray,
        classes: np.ndarray,
        name: str,
        resample: bool,
    ) -> None:
        self.resample = resample
        check_classifier(estimator, f"view {name!r}")
        if not resample and not takes_weight(estimator):
            raise ValueError(
                f"{type(last_step(estimator)).__name__} of view {name!r} does not take "
                "sample_weight; resample=True trains it on rows drawn by their weights"
            )
        self.estimator = estimator
        self.name = name
        self.classes = classes
        self.rows = np.flatnonzero(present)
        self.view = view if len(self.rows) == len(present) else view[self.rows]
        self.codes = codes[self.rows]
        self.n_samples = len(present)
        # what a regularised learner expects the weights to sum to: those of the rows it sees
        self.total = weight[self.rows].sum()

    def fit(self, weight: np.ndarray, seed: int) -> Any:
        """Fitted classifier and its training predictions for these weights."""
        weight = weight[self.rows]
        picked = self._draw(weight, seed) if self.resample else np.flatnonzero(weight)
        weight = np.ones(len(picked)) if self.resample else weight[picked]
        X = self.view if len(picked) == len(self.rows) and not self.resample else self.view[picked]
        hypothesis = self._fit_rows(X, self.codes[picked], weight, seed)
        return hypothesis, self._predict(hypothesis)

    def fit_costs(self, costs: np.ndarray, seed: int) -> Any:
        """The exact reduction: row i as class l with weight max_l' costs[i, l'] − costs[i, l]."""
        costs = costs[self.rows]
        gains = costs.max(axis=1, keepdims=True) - costs
        row, code = np.nonzero(gains > 0)
        weight = gains[row, code]
        if self.resample:
            picked = self._draw(weight, seed)
            row, code, weight = row[picked], code[picked], np.ones(len(picked))
        hypothesis = self._fit_rows(self.view[row], code, weight, seed)
        return hypothesis, self._predict(hypothesis)

    def _draw(self, weight: np.ndarray, seed: int) -> Any:
        if not weight.any():
            return np.empty(0, dtype=np.intp)
        draws = np.random.RandomState(seed).random_sample(len(weight))
        share = np.cumsum(weight) / weight.sum()
        return np.sort(np.minimum(np.searchsorted(share, draws, side="right"), len(weight) - 1))

    def _fit_rows(self, X: Any, codes: np.ndarray, weight: np.ndarray, seed: int) -> Any:
        total = len(weight) if self.resample else self.total
        weight = weight * (total / weight.sum()) if len(weight) else weight
        where = f"view {self.name!r}"
        return fit_label_encoded(
            with_seed(self.estimator, seed), X, codes, weight, self.classes, where
        )

    def _predict(self, hypothesis: Any) -> np.ndarray:
        predictions = np.full(self.n_samples, -1)
        if len(self.rows):
            predictions[self.rows] = hypothesis.predict(self.view)
        return predictions
