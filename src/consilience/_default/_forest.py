"""Cross-fitted forests: every tree leaves one fold out, so out-of-fold votes cost nothing.

Trees are randomised (one random threshold for each of √d columns per node, or of a share of the
columns in every other round) and grow to the end on binned columns. All trees predict new rows; a
training row is predicted by the trees that have not seen its fold. Growing and predicting are
compiled (``_core/forest.hpp``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import cycle
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from consilience._core import _core
from consilience._core.binned import MAX_DEPTH, BinnedView, as_floats, canonical, sparse_arrays
from consilience._model_types import model_type

__all__ = [
    "MANY_ROWS",
    "N_FOLDS",
    "Forest",
    "RunTasks",
    "assign_folds",
    "count_folds",
    "grow_forest",
]

N_FOLDS = 10
# rows above which half as many folds and trees do as well; see docs/results/default-log.md
MANY_ROWS = 2000
N_FOLDS_OF_MANY_ROWS = 5

# cells up to which trees on a sparse matrix are grown on dense columns of bins, one byte each: the
# same trees, faster
DENSE_CODES_MAX_CELLS = 100_000_000

# rows above which each tree is grown on a random sample of about so many; see
# docs/results/default-log.md
TREE_MAX_ROWS = 50_000

# columns drawn for a node where a share of them is drawn
MAX_SHARED_COLUMNS = 400

# lighter paths of rows that lack views are not split further; see docs/results/default-log.md
MIN_PATH_WEIGHT = 0.2

# run(function, items) returns the list of results, whatever the number of threads
RunTasks = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]


def count_folds(n_rows: int) -> int:
    """Number of folds of a forest on so many rows."""
    return N_FOLDS if n_rows <= MANY_ROWS else N_FOLDS_OF_MANY_ROWS


def assign_folds(codes: np.ndarray, n_folds: int) -> np.ndarray:
    """Fold of each row: the rows of a class are dealt out in turn, one class after the other."""
    order = np.argsort(codes, kind="stable")
    folds = np.empty(len(codes), dtype=np.intp)
    folds[order] = np.arange(len(codes)) % n_folds
    return folds


@model_type("default.Forest")
@dataclass(frozen=True, eq=False)
class Forest:
    """Trees as arrays over the inner nodes of all of them, each in the narrowest dtype that fits.

    Attributes
    ----------
    feature, threshold : arrays of shape (n_nodes,)
        Column that a node splits on; values at or below the threshold go left.
    left, right : int arrays of shape (n_nodes,)
        Children: an inner node, counted from the first one of its tree, or −1 − leaf.
    missing_left : uint8 array of shape (n_nodes,)
        1 where NaN goes left.
    left_share : float32 array of shape (n_nodes,)
        Share of a node's training weight that goes left.
    starts : int64 array of shape (n_trees + 1,)
        Where the nodes of each tree begin.
    roots : int32 array of shape (n_trees,)
        0, or −1 − leaf for a tree without inner nodes.
    leaf_shares : float32 array of shape (n_leaves, K)
        Class shares of the distinct leaves: one for each class alone, then mixed ones.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    left_share: np.ndarray
    starts: np.ndarray
    roots: np.ndarray
    leaf_shares: np.ndarray

    def __len__(self) -> int:
        return len(self.roots)

    def predict(
        self,
        X: Any,
        present: np.ndarray | None = None,
        view_of_column: np.ndarray | None = None,
    ) -> np.ndarray:
        """Mean class shares (n x K) of the leaves that the rows reach.

        At a split on a column that it lacks, a row descends to both children, with the shares of
        the training weight that went there (as in C4.5). A path of small weight ends at such a
        split and takes the class shares of that node, which bounds the number of paths whatever the
        size of the trees.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Rows; the values of views that they lack are not used.
        present : bool array of shape (n, V), optional
            Which row has which view; by default all.
        view_of_column : int array of shape (d,), optional
            View that each column belongs to; needed with ``present``.
        """
        if present is not None:
            present = np.ascontiguousarray(present, dtype=bool)
            view_of_column = np.ascontiguousarray(view_of_column, dtype=np.int32)
        views = present, view_of_column, MIN_PATH_WEIGHT
        if sp.issparse(X):
            rows = sparse_arrays(canonical(X, "csr"))
            return predictor_of(self).predict_csr(*rows, X.shape[1], *views)
        return predictor_of(self).predict_dense(as_floats(X), *views)


# the arrays of a forest are checked once; what is kept here is not part of the model
_PREDICTORS: WeakKeyDictionary[Forest, _core.ForestPredictor] = WeakKeyDictionary()


def predictor_of(forest: Forest) -> _core.ForestPredictor:
    """Compiled predictor of a forest, made when it predicts for the first time."""
    predictor = _PREDICTORS.get(forest)
    if predictor is None:
        predictor = _PREDICTORS[forest] = _core.ForestPredictor(**vars(forest))
    return predictor


def grow_forest(
    X: Any,
    codes: np.ndarray,
    weight: np.ndarray,
    seeds: np.ndarray,
    n_classes: int,
    run: RunTasks,
    has_time_left: Callable[[], bool] | None = None,
    folds: np.ndarray | None = None,
    column_share: float = 0.0,
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
        Fold of each row; by default ``count_folds`` folds stratified by class.
    column_share : float, default=0.0
        Share of the columns that the trees of every other round draw for a node, if that is more
        than √d: among many columns that say nothing, √d of them seldom include one that does. Where
        that does not help, the forest is left without these trees (see ``choose_rounds``).
    """
    n_folds = count_folds(len(codes)) if folds is None else int(folds.max()) + 1
    folds = assign_folds(codes, n_folds) if folds is None else folds
    grow = make_grower(X, codes, weight, folds, n_classes)
    rounds: list[Round] = []
    batches = np.split(seeds.astype(np.uint64), np.arange(n_folds, len(seeds), n_folds))
    tasks = list(zip(batches, cycle((0.0, column_share)), strict=False))
    for batch in [tasks] if has_time_left is None else [[task] for task in tasks]:
        rounds += run(grow, batch)
        if has_time_left is not None and not has_time_left():
            break
    has_both = len(rounds) > 1 and len(batches[1]) == n_folds  # kinds of trees, for all rows
    if has_both and count_drawn(X.shape[1], column_share) > count_drawn(X.shape[1], 0.0):
        rounds, votes = choose_rounds(rounds, codes, weight, n_classes)
    else:
        votes = out_of_fold_votes(rounds, n_classes)
    return assemble(rounds, n_classes), votes


@dataclass(eq=False)
class Round:
    """Trees that leave out one fold each: the arrays of a forest, and the leaves of the rows.

    Leaves are numbered as in ``Forest``; ``mixed`` are the class shares of the mixed ones.
    ``leaves`` is the leaf of each row in the tree that leaves it out, −1 if there is none.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    left_share: np.ndarray
    starts: np.ndarray
    roots: np.ndarray
    mixed: np.ndarray
    leaves: np.ndarray


def make_grower(
    X: Any, codes: np.ndarray, weight: np.ndarray, folds: np.ndarray, n_classes: int
) -> Callable[[tuple[np.ndarray, float]], Round]:
    """Return a function of seeds and a share of the columns; its tree t leaves out fold t."""
    grow_trees = BinnedView(X, weight=weight).forest_grower(DENSE_CODES_MAX_CELLS)
    rows = codes.astype(np.int32), np.asarray(weight, dtype=np.float64), folds.astype(np.int32)
    row_share = min(1.0, TREE_MAX_ROWS / len(codes))

    def grow(task: tuple[np.ndarray, float]) -> Round:
        seeds, column_share = task
        max_features = count_drawn(X.shape[1], column_share)
        return Round(*grow_trees(*rows, row_share, seeds, n_classes, max_features, MAX_DEPTH))

    return grow


def count_drawn(n_columns: int, column_share: float) -> int:
    """Number of columns that a tree draws for a node: √d, or a share of them if that is more."""
    shared = min(int(column_share * n_columns), MAX_SHARED_COLUMNS)
    return max(1, int(np.sqrt(n_columns)), shared)


def choose_rounds(
    rounds: list[Round], codes: np.ndarray, weight: np.ndarray, n_classes: int
) -> tuple[list[Round], np.ndarray]:
    """All rounds, every other or the rest: those with the best out-of-fold votes, and these votes.

    Trees that draw a share of the columns find the few that say something, but are too much alike
    where many columns say nearly the same, as in signals. Votes are judged by their squared error.
    """
    target = np.eye(n_classes)[codes]
    choices = [rounds, rounds[::2], rounds[1::2]]
    votes = [out_of_fold_votes(choice, n_classes) for choice in choices]
    errors = [weight @ np.square(each - target).sum(axis=1) for each in votes]
    best = int(np.argmin(errors))
    return choices[best], votes[best]


def out_of_fold_votes(rounds: list[Round], n_classes: int) -> np.ndarray:
    """Mean class shares (n x K) of the leaves that the rows reach in trees that left them out."""
    n = len(rounds[0].leaves)
    votes, n_votes = np.zeros((n, n_classes)), np.zeros(n, dtype=np.intp)
    for each in rounds:
        rows = np.flatnonzero(each.leaves >= 0)
        votes[rows] += np.vstack([np.eye(n_classes), each.mixed])[each.leaves[rows]]
        n_votes[rows] += 1
    return votes / n_votes[:, None]


def assemble(rounds: list[Round], n_classes: int) -> Forest:
    """Forest with the arrays of all rounds one after the other, where equal leaves are one.

    The rounds give up each array once it is copied, so that the forest is never in memory twice.
    """
    mixed = np.concatenate([each.mixed for each in rounds]).astype(np.float32)
    distinct, number = np.unique(mixed, axis=0, return_inverse=True)
    ends = np.cumsum([len(each.mixed) for each in rounds])
    for each, own in zip(rounds, np.split(number.ravel(), ends[:-1]), strict=True):
        leaf_number = np.concatenate([np.arange(n_classes), n_classes + own]).astype(np.int32)
        each.left, each.right, each.roots = (
            renumber_leaves(child, leaf_number) for child in (each.left, each.right, each.roots)
        )
    sizes = np.concatenate([np.diff(each.starts) for each in rounds])

    def collect(name: str, dtype: Any = None) -> np.ndarray:
        return np.concatenate([narrow(each.__dict__.pop(name), dtype) for each in rounds])

    return Forest(
        feature=collect("feature", np.uint16),
        threshold=collect("threshold", np.float32),
        left=collect("left", np.int16),
        right=collect("right", np.int16),
        missing_left=collect("missing_left"),
        left_share=collect("left_share"),
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        roots=collect("roots"),
        leaf_shares=np.vstack([np.eye(n_classes, dtype=np.float32), distinct]),
    )


def renumber_leaves(child: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Children (−1 − leaf where they are leaves) with leaf l called ``number[l]``."""
    is_leaf = child < 0
    child[is_leaf] = ~number[~child[is_leaf]]
    return child


def narrow(values: np.ndarray, dtype: Any = None) -> np.ndarray:
    """The values in a narrower dtype, if it holds all of them exactly."""
    if dtype is None:
        return values
    narrowed = values.astype(dtype)
    return narrowed if (narrowed == values).all() else values
