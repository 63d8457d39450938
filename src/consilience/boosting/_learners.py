"""Weak learners that are fitted repeatedly on one view with different weights.

``fit`` of a ``...Learner`` returns a weak hypothesis, an object with ``predict(X)`` -> class codes
for rows of the view, and its predictions for the training rows, −1 where the view is missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from consilience._core.binned import BinnedView, Tree
from consilience._core.exact import exact_total
from consilience._estimators import (
    check_classifier,
    fit_label_encoded,
    last_step,
    takes_weight,
    with_seed,
)

__all__ = ["DISTRIBUTION_EXPONENT", "EstimatorLearner", "TreeLearner", "tree_seed"]

# weights with the sum 1, up to rounding, as the integers of trees: these sum to less than 2^50
DISTRIBUTION_EXPONENT = 49


class TreeLearner:
    """Binned tree: the view is binned once, and every round grows a tree on the bins.

    Histograms are built class by class, so the bins are kept in the order of the classes: rows that
    are read one after the other then lie side by side. Trees do not depend on the order of rows.
    """

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
        self.n_classes = n_classes
        self.tree = tree
        rows = None if present.all() else present
        self.binned = BinnedView(view, weight=weight, present=rows, max_bins=tree.max_bins)
        self.order: np.ndarray | slice = slice(None)
        if not self.binned.sparse:
            self.order = np.argsort(codes, kind="stable")
            self.binned = self.binned.in_order(self.order)
        self.codes = np.ascontiguousarray(codes[self.order], dtype=np.int32)
        self.params = tree.grow_params(self.binned.n_features, 0.0)

    def fit(self, weight: np.ndarray, seed: int) -> tuple[Tree, np.ndarray]:
        """Grow a tree for these weights, whose sum is 1; return it with its predictions."""
        share = self.tree.min_weight_fraction_leaf
        tree = self.binned.grow(
            self.codes,
            weight[self.order],
            n_classes=self.n_classes,
            seed=tree_seed(self.tree, seed),
            exponent=DISTRIBUTION_EXPONENT,
            **self._params(exact_total(weight[self.present]) if share else 0.0),
        )
        return self._with_predictions(tree)

    def fit_costs(self, costs: np.ndarray, seed: int) -> tuple[Tree, np.ndarray]:
        """Grow a tree that minimises Σ costs[i, h(i)]."""
        params = self._params(0.0)
        del params["min_weight_leaf"]  # costs are not weights
        seed = tree_seed(self.tree, seed)
        tree = self.binned.grow_cost(costs[self.order], seed=seed, **params)
        return self._with_predictions(tree)

    def _params(self, total_weight: float) -> dict[str, Any]:
        least = self.tree.min_weight_fraction_leaf * total_weight
        return {**self.params, "min_weight_leaf": least}

    def _with_predictions(self, tree: Tree) -> tuple[Tree, np.ndarray]:
        predictions = np.empty(len(self.codes), dtype=np.int32)
        predictions[self.order] = self.binned.predict_or_abstain(tree)
        return tree, predictions


def tree_seed(tree: Any, seed: int) -> int:
    """The seed of a round, unless the tree has a random state of its own."""
    if tree.random_state is None:
        return seed
    return check_random_state(tree.random_state).randint(2**31 - 1)


class EstimatorLearner:
    """Any scikit-learn classifier, fitted with sample weights or on a weighted resample."""

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
                f"{type(last_step(estimator)).__name__} of view {name!r} does not support "
                "sample_weight; use resample=True to train it on rows drawn by weight"
            )
        self.estimator = estimator
        self.name = name
        self.classes = classes
        self.rows = np.flatnonzero(present)
        self.view = view if len(self.rows) == len(present) else view[self.rows]
        self.codes = codes[self.rows]
        self.n_samples = len(present)
        # weights are rescaled to this sum, on which the effect of regularisation depends
        self.total = weight[self.rows].sum()

    def fit(self, weight: np.ndarray, seed: int) -> tuple[Any, np.ndarray]:
        """Fit the classifier with these weights; return it with its training predictions."""
        weight = weight[self.rows]
        rows = self._draw(weight, seed) if self.resample else np.flatnonzero(weight)
        weight = np.ones(len(rows)) if self.resample else weight[rows]
        X = self.view if len(rows) == len(self.rows) and not self.resample else self.view[rows]
        hypothesis = self._fit_rows(X, self.codes[rows], weight, seed)
        return hypothesis, self._predict(hypothesis)

    def fit_costs(self, costs: np.ndarray, seed: int) -> tuple[Any, np.ndarray]:
        """Fit row i as class l with weight max_l' costs[i, l'] − costs[i, l], for all i and l."""
        costs = costs[self.rows]
        gains = costs.max(axis=1, keepdims=True) - costs
        row, code = np.nonzero(gains > 0)
        weight = gains[row, code]
        if self.resample:
            drawn = self._draw(weight, seed)
            row, code, weight = row[drawn], code[drawn], np.ones(len(drawn))
        hypothesis = self._fit_rows(self.view[row], code, weight, seed)
        return hypothesis, self._predict(hypothesis)

    def _draw(self, weight: np.ndarray, seed: int) -> np.ndarray:
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
