"""The tree members: a cross-fitted forest on the columns of all views side by side.

A row that lacks views is routed past the splits on their columns (``Forest.predict``). Where
training rows lack views there is one forest for each view instead, grown on the rows that have it.
The votes of the views that a row has are pooled by their logarithms, weighted by the view weights;
a view that it lacks votes for the class prior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from consilience._default._forest import N_FOLDS, Forest, RunTasks, grow_forest
from consilience._model_types import model_type

__all__ = ["TreeMember", "fit_tree_member", "side_by_side"]

PRIOR_WEIGHT = 0.05  # weight of the prior beside the votes of a single view's forest
TINY = 1e-300

ViewColumns = Sequence[Any]  # columns of each view, dense or sparse; None where a view has none


def side_by_side(blocks: ViewColumns) -> Any:
    """Blocks of columns as one matrix, sparse if one of them is."""
    if len(blocks) == 1:
        return blocks[0]
    if any(sp.issparse(block) for block in blocks):
        return sp.hstack(blocks, format="csr")
    return np.hstack(blocks)


def views_with_columns(blocks: ViewColumns) -> list[int]:
    """Numbers of the views that have columns."""
    return [v for v, block in enumerate(blocks) if block is not None]


@model_type("default.TreeMember")
@dataclass(frozen=True, eq=False)
class TreeMember:
    """A forest on all views, or one for each view (dict of view number -> Forest)."""

    joint: Forest | None
    single: dict[int, Forest]
    view_weights: np.ndarray
    prior: np.ndarray

    def predict(self, blocks: ViewColumns, present: np.ndarray) -> np.ndarray:
        """Scores (n x K) from the columns of each view; each row by the views it has."""
        if self.joint is None:
            votes = {
                v: forest.predict(blocks[v][np.flatnonzero(present[:, v])])
                for v, forest in self.single.items()
                if present[:, v].any()
            }
            return pool_votes(votes, present, self.view_weights, self.prior)
        used = views_with_columns(blocks)
        present = present[:, used]
        if present.all():
            return self.joint.predict(side_by_side([blocks[v] for v in used]))
        view_of_column = np.repeat(np.arange(len(used)), [blocks[v].shape[1] for v in used])
        is_complete, has_some = present.all(axis=1), present.any(axis=1)
        out = np.tile(self.prior, (len(present), 1))
        for rows, views in (
            (is_complete, ()),
            (has_some & ~is_complete, (present[has_some & ~is_complete], view_of_column)),
        ):
            if rows.any():
                X = side_by_side([blocks[v][np.flatnonzero(rows)] for v in used])
                out[rows] = self.joint.predict(X, *views)
        return out


def pool_votes(
    votes: dict[int, np.ndarray], present: np.ndarray, view_weights: np.ndarray, prior: np.ndarray
) -> np.ndarray:
    """softmax of Σ_v w_v log p_v, where w_v are the view weights and p_v = prior for absent views.

    ``votes`` is a dict of view -> votes of the rows that have it; a little of the prior is added to
    them, so that no logarithm is infinite.
    """
    prior = np.maximum(prior, TINY)
    logits = np.tile(np.log(prior), (len(present), 1))
    for v, shares in votes.items():
        log_ratio = np.log((shares / prior + PRIOR_WEIGHT) / (1 + PRIOR_WEIGHT))
        logits[present[:, v]] += view_weights[v] / view_weights.sum() * log_ratio
    return softmax(logits, axis=1)


def single_view_seeds(seeds: np.ndarray, v: int) -> np.ndarray:
    """Seeds of the trees for view v alone: the views share the number of trees."""
    n_views, n_trees = len(seeds) - 1, seeds.shape[1]
    return seeds[v + 1, : max(N_FOLDS, -(-n_trees // n_views))]


def fit_tree_member(
    blocks: ViewColumns,
    present: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    prior: np.ndarray,
    view_weights: np.ndarray,
    seeds: np.ndarray,
    run: RunTasks,
    has_time_left: Callable[[], bool] | None = None,
    folds: np.ndarray | None = None,
    column_share: float = 0.0,
) -> tuple[TreeMember, np.ndarray]:
    """Return the member and its out-of-fold scores (n x K).

    Parameters
    ----------
    blocks : list of matrices or None
        Columns of each view.
    present : bool array of shape (n, V)
        Which row has which view.
    codes, weight : arrays of shape (n,)
        Classes and weights.
    prior : array of shape (K,)
        Shares of the classes.
    view_weights : array of shape (V,)
        Weights of the forests of single views.
    seeds : int array of shape (V + 1, n_trees)
        Seeds of the trees for all views, and for each alone.
    run, has_time_left, folds, column_share
        See ``grow_forest``.
    """
    used = views_with_columns(blocks)
    if present[:, used].all():
        X = side_by_side([blocks[v] for v in used])
        forest, scores = grow_forest(
            X, codes, weight, seeds[0], len(prior), run, has_time_left, folds, column_share
        )
        return TreeMember(forest, {}, view_weights, prior), scores
    single, votes = {}, {}
    for v in used:
        rows = np.flatnonzero(present[:, v])
        own_folds = None if folds is None else folds[rows]
        has_one_fold = own_folds is not None and len(np.unique(own_folds)) < 2
        if len(np.unique(codes[rows])) > 1 and not has_one_fold:
            single[v], votes[v] = grow_forest(
                blocks[v][rows],
                codes[rows],
                weight[rows],
                single_view_seeds(seeds, v),
                len(prior),
                run,
                has_time_left,
                own_folds,
                column_share,
            )
    member = TreeMember(None, single, view_weights, prior)
    return member, pool_votes(votes, present, view_weights, prior)
