"""The boosted member: gradient-boosted trees on the columns of all views side by side.

There is one model for each fold, which leaves this fold out: the fold says after how many rounds to
stop, and gets its out-of-fold scores from that model. New rows get the mean of the models' scores.
The cells of absent views are missing values: trees learn where these go, or let a share of the row
go each way where training rows lack nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from consilience._core import _core
from consilience._core.binned import BinnedView
from consilience._default._forest import RunTasks, assign_folds
from consilience._default._trees import ViewColumns
from consilience._model_types import model_type

__all__ = ["BoostedMember", "fit_boosted_member", "is_boostable"]

N_FOLDS = 4
MAX_BINS = 63
MAX_ROUNDS = 300
PATIENCE = 10  # rounds without progress after which a model is complete
MAX_LEAVES = 16
MAX_DEPTH = 8
LEARNING_RATE = 0.15
L2 = 1.0
MIN_HESSIAN = 0.3  # of a leaf
ROW_SHARE = 0.8  # rows drawn for each round
MAX_DRAWN_ROWS = 20_000
COLUMN_SHARE = 0.3  # columns drawn for each tree
MIN_COLUMNS, MAX_COLUMNS = 32, 128  # bounds on their number
MAX_CELLS = 200_000_000  # bins are kept in a byte for each cell, also those of sparse views

PREDICT_CHUNK_CELLS = 4_000_000  # cells of the dense copies in which rows are predicted
TINY = 1e-10
NODE_ARRAYS = ("feature", "threshold", "left", "right", "missing_left", "value")
LANES = 8  # columns in a block of bins


def is_boostable(blocks: ViewColumns) -> bool:
    """Whether there are columns, and few enough for a byte for each cell."""
    shapes = [block.shape for block in blocks if block is not None]
    return 0 < sum(rows * width for rows, width in shapes) <= MAX_CELLS


@model_type("default.BoostedMember")
@dataclass(frozen=True, eq=False)
class BoostedMember:
    """Trees as arrays over the nodes of all of them, and where each tree begins.

    Children are counted from the root of their tree and follow their parents. ``missing_left`` is
    the share of a missing value that goes left. ``base`` holds the scores to which the trees add in
    turn: one for each class, or the log-odds of the second class if there are two.
    """

    nodes: dict[str, np.ndarray]
    starts: np.ndarray
    base: np.ndarray

    def predict(self, blocks: ViewColumns, present: np.ndarray) -> np.ndarray:
        """Log-odds of the classes (n x K, of mean 0) from the columns of each view."""
        trees = (*(self.nodes[name] for name in NODE_ARRAYS), self.starts)
        width = sum(block.shape[1] for block in blocks if block is not None)
        chunk_rows = max(1, PREDICT_CHUNK_CELLS // width)
        scores = np.empty((len(present), len(self.base)))
        for start in range(0, len(present), chunk_rows):
            rows = slice(start, start + chunk_rows)
            X = join_columns([None if b is None else b[rows] for b in blocks], present[rows])
            scores[rows] = _core.boosted_scores(trees, X, len(self.base))
        return to_log_odds(scores + self.base)


def join_columns(blocks: ViewColumns, present: np.ndarray) -> np.ndarray:
    """Columns of all views as one dense matrix with NaN for absent views."""
    dense = []
    for v, block in enumerate(blocks):
        if block is None:
            continue
        block = block.toarray() if sp.issparse(block) else block
        if not present[:, v].all():
            block = np.where(present[:, v, None], block, np.array(np.nan, dtype=block.dtype))
        dense.append(block)
    return dense[0] if len(dense) == 1 else np.hstack(dense)


def to_log_odds(scores: np.ndarray) -> np.ndarray:
    """Scores of mean 0 (n x K); a single score is the log-odds of the second class."""
    if scores.shape[1] == 1:
        return scores * [-0.5, 0.5]
    return scores - scores.mean(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of all views: codes (blocks x n x 8), limits, and the column of each lane."""

    codes: np.ndarray
    limits: tuple[np.ndarray, np.ndarray, np.ndarray]
    columns: np.ndarray


def bin_columns(blocks: ViewColumns, present: np.ndarray, weight: np.ndarray) -> Bins:
    """Bins of the columns of all views; each view begins a new block of eight lanes."""
    codes, least, greatest, n_bins, columns, width = [], [], [], [], [], 0
    for v, block in enumerate(blocks):
        if block is None:
            continue
        view = BinnedView(block, weight=weight, present=present[:, v], max_bins=MAX_BINS)
        codes.append(view.dense_codes())
        padding = np.zeros(-view.n_features % LANES, dtype=np.int64)
        least.append(view.limits[0])
        greatest.append(view.limits[1])
        n_bins += [view.n_bins, padding]
        columns += [width + np.arange(view.n_features), padding - 1]
        width += view.n_features
    start = np.concatenate([[0], np.cumsum(np.concatenate(n_bins))])
    limits = (np.concatenate(least), np.concatenate(greatest), start)
    return Bins(np.concatenate(codes), limits, np.concatenate(columns).astype(np.int32))


def boost_params(n_rows: int, n_columns: int, seed: int) -> tuple[float, ...]:
    """Parameters in the order that the compiled code expects."""
    max_features = int(np.clip(COLUMN_SHARE * n_columns, MIN_COLUMNS, MAX_COLUMNS))
    return (
        MAX_ROUNDS,
        PATIENCE,
        MAX_LEAVES,
        MAX_DEPTH,
        LEARNING_RATE,
        L2,
        MIN_HESSIAN,
        min(ROW_SHARE, MAX_DRAWN_ROWS / n_rows),
        max_features,
        seed,
    )


def fit_boosted_member(
    blocks: ViewColumns,
    present: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    prior: np.ndarray,
    seed: int,
    run: RunTasks,
    folds: np.ndarray | None = None,
) -> tuple[BoostedMember, np.ndarray]:
    """Return the member and its out-of-fold scores (n x K), log-odds of mean 0.

    Parameters
    ----------
    blocks : list of matrices or None
        Columns of each view; NaN is a missing value.
    present : bool array of shape (n, V)
        Which row has which view.
    codes, weight : arrays of shape (n,)
        Classes and positive weights, which are 1 in the mean.
    prior : array of shape (K,)
        Shares of the classes.
    seed : int
        Seed of the rows and columns drawn.
    run : callable
        ``run(function, items)`` returns the list of results, whatever the number of threads.
    folds : int array of shape (n,), optional
        Fold of each row; folds beyond ``N_FOLDS`` are merged. By default stratified by class.

    Notes
    -----
    The number of rounds of each model is chosen on the fold that it leaves out, which makes the
    out-of-fold scores slightly too good.
    """
    folds = assign_folds(codes, N_FOLDS) if folds is None else folds % N_FOLDS
    base = initial_scores(prior)
    bins = bin_columns(blocks, present, weight)
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    weight = np.ascontiguousarray(weight, dtype=np.float64)
    n_columns = int((bins.columns >= 0).sum())

    def fit_fold(fold: int) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        trees, scores, _ = _core.boost(
            bins.codes,
            *bins.limits,
            codes,
            weight,
            folds == fold,
            base,
            len(prior),
            boost_params(len(codes), n_columns, seed + int(fold)),
        )
        return trees, scores.reshape(len(base), -1).T

    numbers = np.unique(folds)
    results = run(fit_fold, numbers)
    scores = np.empty((len(codes), len(base)))
    for fold, (_, left_out_scores) in zip(numbers, results, strict=True):
        scores[folds == fold] = left_out_scores
    member = assemble_member([trees for trees, _ in results], bins.columns, base)
    return member, to_log_odds(scores)


def initial_scores(prior: np.ndarray) -> np.ndarray:
    """Logarithms of the prior, or its log-odds of the second class if there are two."""
    logs = np.log(np.maximum(prior, TINY))
    return logs[1:] - logs[:1] if len(prior) == 2 else logs


def assemble_member(
    models: list[tuple[np.ndarray, ...]], columns: np.ndarray, base: np.ndarray
) -> BoostedMember:
    """Member with the trees of all models one after the other, whose scores are their mean."""
    *arrays, starts = zip(*models, strict=True)
    nodes = {name: np.concatenate(parts) for name, parts in zip(NODE_ARRAYS, arrays, strict=True)}
    nodes["value"] = nodes["value"] / np.float32(len(models))
    is_leaf = nodes["feature"] < 0
    nodes["feature"] = np.where(is_leaf, np.int32(-1), columns[nodes["feature"]])
    sizes = np.concatenate([np.diff(part) for part in starts])
    return BoostedMember(nodes, np.concatenate([[0], np.cumsum(sizes)]), base)
