"""Sets of voters for one view.

``predict(X)`` of a ``...Voters`` object returns class codes (n x n_v), one column per voter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience._core.binned import MAX_DEPTH, BinnedView, Tree
from consilience._estimators import fit_label_encoded, with_seed
from consilience._model_types import model_type

__all__ = ["fit_estimators", "fit_random_trees", "fit_trees"]


def voting_depth(tree: Tree, max_depth: int | None) -> int:
    """Largest depth of the voters, D − 2 for an unrestricted tree of depth D, in [1, max_depth]."""
    depth = max(1, tree.max_depth - 2)
    return depth if max_depth is None else min(depth, max_depth)


@model_type("vote.TreeVoters")
@dataclass(eq=False)
class TreeVoters:
    """Trees of depth 1, 2, ..."""

    trees: list[Tree]

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.trees)

    def predict(self, X: Any) -> np.ndarray:
        """Class codes, a column for each tree."""
        return np.column_stack([tree.predict(X) for tree in self.trees])


@model_type("vote.CutVoters")
@dataclass(eq=False)
class CutVoters:
    """One tree pruned to depths 1 … ``depth``."""

    tree: Tree
    depth: int

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.depth

    def predict(self, X: Any) -> np.ndarray:
        """Class codes, a column for each depth."""
        return self.tree.predict_depths(X, self.depth)


@model_type("vote.EstimatorVoters")
@dataclass(eq=False)
class EstimatorVoters:
    """Fitted classifiers provided by the user."""

    estimators: list[Any]

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.estimators)

    def predict(self, X: Any) -> np.ndarray:
        """Class codes, a column for each classifier."""
        return np.column_stack([estimator.predict(X) for estimator in self.estimators])


def fit_random_trees(
    view: Any,
    codes: np.ndarray,
    weight: np.ndarray,
    n_classes: int,
    max_depth: int | None,
    min_weight_leaf: float,
    seed: int,
) -> tuple[TreeVoters, np.ndarray]:
    """Fit a randomised tree (one random threshold per feature) for each depth; and predict."""
    seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=MAX_DEPTH + 1)
    binned = BinnedView(view, weight=weight)

    def grow(depth: int) -> Tree:
        return binned.grow(
            codes,
            weight,
            n_classes=n_classes,
            max_depth=depth,
            min_weight_leaf=min_weight_leaf,
            splitter="random",
            seed=int(seeds[depth]),
        )

    deepest = grow(MAX_DEPTH)
    voters = TreeVoters([grow(d) for d in range(1, voting_depth(deepest, max_depth) + 1)])
    return voters, np.column_stack([binned.predict(tree) for tree in voters.trees])


def fit_trees(
    view: Any,
    codes: np.ndarray,
    weight: np.ndarray,
    n_classes: int,
    max_depth: int | None,
    min_weight_leaf: float,
    seed: int,
) -> tuple[CutVoters, np.ndarray]:
    """Prune a greedy tree to each depth, which equals a tree grown to that depth; and predict."""
    binned = BinnedView(view, weight=weight)
    tree = binned.grow(
        codes,
        weight,
        n_classes=n_classes,
        max_depth=MAX_DEPTH,
        min_weight_leaf=min_weight_leaf,
        seed=seed,
    )
    voters = CutVoters(tree, voting_depth(tree, max_depth))
    return voters, binned.predict_depths(tree, voters.depth)


def fit_estimators(
    estimators: Any,
    view: Any,
    codes: np.ndarray,
    weight: np.ndarray,
    classes: np.ndarray,
    seed: int,
    name: str,
) -> tuple[EstimatorVoters, np.ndarray]:
    """Fit the classifiers of the user on one view; and predict."""
    voters = EstimatorVoters(
        [
            fit_label_encoded(
                with_seed(e, seed + k), view, codes, weight, classes, f"view {name!r}"
            )
            for k, e in enumerate(estimators)
        ]
    )
    return voters, voters.predict(view)
