"""Sets of voters for one view.

``predict(X)`` of a ``...Voters`` object returns class codes (n x n_v), one column per voter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from consilience._core.binned import MAX_DEPTH, BinnedView, Tree
from consilience._core.exact import exact_total
from consilience._estimators import fit_label_encoded, with_seed
from consilience._model_types import model_type

__all__ = [
    "InMemoryGrower",
    "TreeVoters",
    "fit_estimators",
    "fit_tree_voters",
    "predict_bins",
]


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


@dataclass(frozen=True, eq=False)
class InMemoryGrower:
    """Grows trees on a view in memory, with the interface of ``BlockGrower``."""

    view: BinnedView
    codes: np.ndarray
    weight: np.ndarray
    n_classes: int
    min_weight_fraction_leaf: float

    def grow(self, params: Sequence[dict[str, Any]]) -> list[Tree]:
        """Trees with these parameters of ``BinnedView.grow``."""
        share, present = self.min_weight_fraction_leaf, self.view.present
        held = self.weight if present is None else self.weight[present]
        minimum = share * exact_total(held) if share else 0.0
        return [
            self.view.grow(
                self.codes,
                self.weight,
                n_classes=self.n_classes,
                min_weight_leaf=minimum,
                **settings,
            )
            for settings in params
        ]


def deepest_params(kind: str, seed: int) -> dict[str, Any]:
    """Parameters of the unrestricted tree of a view."""
    if kind == "trees":
        return {"max_depth": MAX_DEPTH, "seed": seed}
    return random_tree_params(MAX_DEPTH, seed)


def random_tree_params(depth: int, seed: int) -> dict[str, Any]:
    """Parameters of the randomised tree of a depth (one random threshold per feature)."""
    seeds = np.random.RandomState(seed).randint(np.iinfo(np.int32).max, size=MAX_DEPTH + 1)
    return {"max_depth": depth, "splitter": "random", "seed": int(seeds[depth])}


def fit_tree_voters(kind: str, grower: Any, max_depth: int | None, seed: int) -> Any:
    """Voters of one view.

    "random_trees": a randomised tree for each depth. "trees": a greedy tree pruned to each depth,
    which equals a tree grown to that depth.
    """
    (deepest,) = grower.grow([deepest_params(kind, seed)])
    depth = voting_depth(deepest, max_depth)
    if kind == "trees":
        return CutVoters(deepest, depth)
    return TreeVoters(grower.grow([random_tree_params(d, seed) for d in range(1, depth + 1)]))


def predict_bins(voters: Any, view: BinnedView) -> np.ndarray:
    """Class codes of binned rows, a column for each voter."""
    if isinstance(voters, CutVoters):
        return view.predict_depths(voters.tree, voters.depth)
    return np.column_stack([view.predict(tree) for tree in voters.trees])


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
