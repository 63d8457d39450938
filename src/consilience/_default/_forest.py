"""Cross-fitted forests: every tree leaves one fold out, so out-of-fold votes cost nothing.

Trees are randomised (one random threshold for each of √d columns per node) and grow to the end on
binned columns. All trees predict new rows; a training row is predicted by the trees that have not
seen its fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._core.binned import MAX_DEPTH, BinnedView, Tree
from consilience._model_types import model_type

__all__ = ["N_FOLDS", "Forest", "RunTasks", "grow_forest"]

N_FOLDS = 10

# cells up to which trees on a sparse matrix are grown on a dense copy: the same trees, faster
DENSE_COPY_MAX_CELLS = 5_000_000

# forests predict this many rows at once, which bounds the memory for their votes
PREDICT_CHUNK_ROWS = 20_000
NODE_ARRAYS = ("feature", "threshold", "left", "right", "bin", "missing_left")

# run(function, items) returns the list of results, whatever the number of threads
RunTasks = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]


def assign_folds(codes: np.ndarray, n_folds: int) -> np.ndarray:
    """Fold of each row: the rows of a class are dealt out in turn, one class after the other."""
    order = np.argsort(codes, kind="stable")
    folds = np.empty(len(codes), dtype=np.intp)
    folds[order] = np.arange(len(codes)) % n_folds
    return folds


@model_type("default.Forest")
@dataclass(frozen=True, eq=False)
class Forest:
    """Trees as arrays over the nodes of all of them, and where each tree begins.

    ``shares`` (n_nodes x K) are the class shares of the nodes, ``left_shares`` (n_nodes) the share
    of a node's training weight that goes to its left child (0 in leaves).
    """

    nodes: dict[str, np.ndarray]
    shares: np.ndarray
    left_shares: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def predict(self, X: Any) -> np.ndarray:
        """Mean share of the classes (n x K) in the leaves that the rows of X reach."""
        X = sp.csr_array(X) if sp.issparse(X) else X
        out = np.zeros((X.shape[0], self.shares.shape[1]))
        for start in range(0, X.shape[0], PREDICT_CHUNK_ROWS):
            rows = slice(start, start + PREDICT_CHUNK_ROWS)
            block = X[rows]
            for tree in range(len(self)):
                out[rows] += self.shares[self.starts[tree] + self._tree(tree).apply(block)]
        return out / len(self)

    def _tree(self, tree: int) -> Tree:
        where = slice(self.starts[tree], self.starts[tree + 1])
        nodes = {name: values[where] for name, values in self.nodes.items()}
        unused = np.empty(0)
        return Tree(**nodes, depth=unused, decision=unused, gain=unused, value=unused)


def grow_forest(
    X: Any,
    codes: np.ndarray,
    weight: np.ndarray,
    seeds: np.ndarray,
    n_classes: int,
    run: RunTasks,
    has_time_left: Callable[[], bool] | None = None,
    folds: np.ndarray | None = None,
) -> tuple[Forest, np.ndarray]:
    """Return a forest on the columns of X and its out-of-fold votes (n x K).

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Columns; NaN is a value of its own.
    codes, weight : arrays of shape (n,)
        Classes and weights.
    seeds : int array
        One for each tree; tree t leaves out fold t mod the number of folds.
    n_classes : int
        Number of classes.
    run : callable
        ``run(function, items)`` returns the list of results, whatever the number of threads.
    has_time_left : callable, optional
        Called after each round of trees, one for each fold; growing stops when it returns False.
    folds : int array of shape (n,), optional
        Fold of each row; by default ``N_FOLDS`` folds stratified by class.
    """
    is_small = sp.issparse(X) and X.shape[0] * X.shape[1] <= DENSE_COPY_MAX_CELLS
    view = BinnedView(X.toarray() if is_small else X, weight=weight)
    n_folds = N_FOLDS if folds is None else int(folds.max()) + 1
    folds = assign_folds(codes, N_FOLDS) if folds is None else folds
    max_features = max(1, int(np.sqrt(X.shape[1])))

    def grow_round(first: int) -> tuple[list[dict[str, np.ndarray]], np.ndarray]:
        trees, votes = [], np.zeros((len(codes), n_classes))
        for fold, seed in enumerate(seeds[first : first + n_folds]):
            left_out = folds == fold
            tree = view.grow(
                codes,
                weight,
                n_classes=n_classes,
                rows=~left_out,
                max_depth=MAX_DEPTH,
                max_features=max_features,
                splitter="random",
                seed=int(seed),
            )
            shares = tree.value / tree.value.sum(axis=1, keepdims=True)
            votes[left_out] = shares[view.apply(tree)[left_out]]
            # the rest of a tree would take as much memory again until all are grown; leaves are
            # pure as a rule, so that single precision loses nothing
            kept = {name: getattr(tree, name) for name in NODE_ARRAYS}
            kept["shares"] = shares.astype(np.float32)
            kept["left_shares"] = _left_shares(tree)
            trees.append(kept)
        return trees, votes

    starts = list(range(0, len(seeds), n_folds))
    rounds = []
    for batch in [starts] if has_time_left is None else [[start] for start in starts]:
        rounds += run(grow_round, batch)
        if has_time_left is not None and not has_time_left():
            break
    trees = [tree for grown, _ in rounds for tree in grown]
    counts = np.bincount(np.arange(len(trees)) % n_folds, minlength=n_folds)[folds]
    votes = sum(votes for _, votes in rounds) / counts[:, None]
    return _assemble(trees), votes


def _left_shares(tree: Tree) -> np.ndarray:
    total = tree.value.sum(axis=1)
    return np.where(tree.left >= 0, total[tree.left] / total, 0.0).astype(np.float32)


def _assemble(trees: list[dict[str, np.ndarray]]) -> Forest:
    """Forest with the arrays of all trees one after the other.

    The trees give up each array once it is copied, so that the forest is never in memory twice.
    """
    starts = np.concatenate([[0], np.cumsum([len(tree["shares"]) for tree in trees])])
    arrays = {
        name: np.concatenate([tree.pop(name) for tree in trees])
        for name in (*NODE_ARRAYS, "shares", "left_shares")
    }
    return Forest(
        shares=arrays.pop("shares"),
        left_shares=arrays.pop("left_shares"),
        nodes=arrays,
        starts=starts,
    )
