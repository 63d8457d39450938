"""The tree members: a cross-fitted forest on columns of all views side by side.

Where rows lack views there is one forest for each view instead, grown on the rows that have it. The
forests of the views that a row has are pooled by their logarithms, weighted by the strengths of the
views; a view that it lacks says what the shares of the classes say.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from consilience._default._cache import PatternCache
from consilience._default._forest import N_FOLDS, Forest, grow_forest

__all__ = ["TreeMember", "fit_tree_member", "side_by_side"]

PRIOR_WEIGHT = 0.05  # weight of the prior beside the votes of a single view's forest
TINY = 1e-300


def side_by_side(blocks):
    """Blocks of columns as one matrix, sparse if one of them is."""
    if len(blocks) == 1:
        return blocks[0]
    if any(sp.issparse(block) for block in blocks):
        return sp.hstack(blocks, format="csr")
    return np.hstack(blocks)


@dataclass(frozen=True, eq=False)
class TreeMember:
    """A forest on all views, or forests (dict of view number -> Forest) for each of them."""

    joint: Forest | None
    single: dict
    view_weights: np.ndarray
    prior: np.ndarray
    seeds: np.ndarray
    cache: PatternCache = field(default_factory=PatternCache)

    def predict(self, blocks, present, sample):
        """Scores (n x K) from the columns of each view (None where a view has none).

        ``sample(v)`` gives columns of view v, classes and weights of training rows, from which a
        forest for that view alone is grown when it is first needed.
        """
        used = [v for v, block in enumerate(blocks) if block is not None]
        out = np.tile(self.prior, (len(present), 1))
        whole = present[:, used].all(axis=1) & (self.joint is not None)
        if whole.any():
            out[whole] = self.joint.predict(side_by_side([blocks[v][whole] for v in used]))
        rest = np.flatnonzero(~whole)
        if len(rest):
            forests = {v: self._forest(v, sample) for v in used if present[rest, v].any()}
            votes = {
                v: forest.predict(blocks[v][rest[present[rest, v]]])
                for v, forest in forests.items()
                if forest is not None
            }
            out[rest] = pool_votes(votes, present[rest], self.view_weights, self.prior)
        return out

    def _forest(self, v, sample):
        if self.joint is None:
            return self.single.get(v)
        return self.cache.get(v, lambda: self._grow(v, *sample(v)))

    def _grow(self, v, columns, codes, weight):
        seeds = single_seeds(self.seeds, v)
        return grow_forest(columns, codes, weight, seeds, len(self.prior), _run_sequentially)[0]


def _run_sequentially(function, items):
    return [function(item) for item in items]


def pool_votes(votes, present, view_weights, prior):
    """softmax of Σ_v w_v log p_v, where w_v are the strengths and p_v = prior for absent views.

    ``votes`` is a dict of view -> votes of the rows that have it; they all get a little of the
    prior, so that no logarithm is infinite.
    """
    prior = np.maximum(prior, TINY)
    logits = np.tile(np.log(prior), (len(present), 1))
    for v, shares in votes.items():
        log_ratio = np.log((shares / prior + PRIOR_WEIGHT) / (1 + PRIOR_WEIGHT))
        logits[present[:, v]] += view_weights[v] / view_weights.sum() * log_ratio
    return softmax(logits, axis=1)


def single_seeds(seeds, v):
    """Seeds of the trees for view v alone: the views share the number of trees."""
    n_views, n_trees = len(seeds) - 1, seeds.shape[1]
    return seeds[v + 1, : max(N_FOLDS, -(-n_trees // n_views))]


def fit_tree_member(blocks, present, codes, weight, prior, view_weights, seeds, run, has_time_left):
    """Member, and its out-of-fold scores (n x K).

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
    strengths : array of shape (V,)
        Weights of the forests of single views.
    seeds : int array of shape (V + 1, n_trees)
        Seeds of the trees for all views, and for each alone.
    run, more : callables
        See ``grow_forest``.
    """
    used = [v for v, block in enumerate(blocks) if block is not None]
    if present[:, used].all():
        X = side_by_side([blocks[v] for v in used])
        forest, votes = grow_forest(X, codes, weight, seeds[0], len(prior), run, has_time_left)
        return TreeMember(forest, {}, view_weights, prior, seeds), votes
    single, votes = {}, {}
    for v in used:
        rows = np.flatnonzero(present[:, v])
        if len(np.unique(codes[rows])) > 1:
            single[v], votes[v] = grow_forest(
                blocks[v][rows],
                codes[rows],
                weight[rows],
                single_seeds(seeds, v),
                len(prior),
                run,
                has_time_left,
            )
    member = TreeMember(None, single, view_weights, prior, seeds)
    return member, pool_votes(votes, present, view_weights, prior)
