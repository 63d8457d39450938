"""Classifiers of the views from data in blocks, and their outputs for rows left out."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags

from consilience._warnings import warn_user
from consilience.distributed._row_sample import hash_uniform
from consilience.fusion._block_learners import (
    Columns,
    Interval,
    Learner,
    NumberedRows,
    Overview,
    fit_learners,
    left_out_rows,
    make_learner,
)
from consilience.fusion._members import ViewMember, best_method, use_default

__all__ = [
    "all_columns",
    "collect_left_out",
    "count_correct",
    "fit_members_from_blocks",
    "fit_on_all_columns",
    "folds_from_cv",
]

SAMPLE_PURPOSE = 2  # of the hash of row numbers

# members without the rows of an interval, for each interval
FoldMembers = Sequence[tuple[Interval, Sequence[ViewMember | None]]]


def folds_from_cv(cv: Any, method: str) -> list[Interval]:
    """Folds as intervals of hashes: a number of them, or one whose size is a fraction."""
    if isinstance(cv, numbers.Integral):
        return [(k / int(cv), (k + 1) / int(cv)) for k in range(int(cv))]
    if isinstance(cv, numbers.Real):
        return [(0.0, float(cv))]
    raise TypeError(
        f"{method} does not support splitters or splits as cv with blocks, which have no row "
        "indices; pass a number of folds or a test size"
    )


def fit_members_from_blocks(
    blocks: Any,
    n_rows: int,
    estimators: Mapping[str, Any],
    overview: Overview,
    classes: np.ndarray,
    left_out: Sequence[Interval | None] = (None,),
) -> list[list[ViewMember | None]]:
    """Members of all views, for each of the intervals of rows to leave out.

    A view whose rows have fewer than two classes gets None, with a warning.
    """
    learners: list[Learner] = []
    keys: list[tuple[int, str]] = []
    for v, (name, estimator) in enumerate(estimators.items()):
        if (overview.counts[v] > 0).sum() < 2:
            which = "training rows of only one class" if overview.counts[v].any() else "no rows"
            warn_user(f"view {name!r} is present in {which} and does not contribute to predictions")
            continue
        sparse = bool(overview.sparse[v])
        estimator = use_default(estimator, example_of(sparse))
        columns, where = Columns(name, sparse), f"view {name!r}"
        for j, interval in enumerate(left_out):
            counts = overview.counts[v]
            learners.append(make_learner(estimator, columns, counts, classes, where, interval))
            keys.append((j, name))
    fitted = fit_learners(blocks, n_rows, learners)
    members = {
        key: ViewMember(key[1], estimator, classes, learner.columns.sparse, None)
        for key, estimator, learner in zip(keys, fitted, learners, strict=True)
    }
    return [[members.get((j, name)) for name in estimators] for j in range(len(left_out))]


def example_of(sparse: bool) -> Any:
    """A matrix that stands for the storage of a view."""
    return sp.csr_array((1, 1)) if sparse else np.zeros((1, 1))


def all_columns(estimator: Any, overview: Overview, sparse_below: float) -> Columns:
    """All views side by side, as in memory: sparse if a view is and the density is low."""
    seen = overview.counts.any(axis=1)
    sparse = (
        bool(overview.sparse[seen].any())
        and overview.density < sparse_below
        and (estimator is None or get_tags(estimator).input_tags.sparse)
    )
    fills = overview.means
    # scikit-learn's trees support NaN in dense matrices only
    if estimator is not None and get_tags(estimator).input_tags.allow_nan and not sparse:
        fills = {name: np.full_like(row, np.nan) for name, row in fills.items()}
    return Columns(None, sparse, fills)


def fit_on_all_columns(
    blocks: Any, n_rows: int, estimator: Any, columns: Columns, classes: np.ndarray
) -> Any:
    """One classifier on all views side by side."""
    counts = np.ones(len(classes), dtype=np.int64)  # every class has rows
    return fit_learners(
        blocks, n_rows, [make_learner(estimator, columns, counts, classes, "all views")]
    )[0]


def left_out_outputs(block: NumberedRows, folds: FoldMembers) -> tuple[np.ndarray, np.ndarray]:
    """Outputs (V x n x K) for the rows in the intervals by the members without them; these rows."""
    outputs, chosen = [], []
    for interval, members in folds:
        rows = np.flatnonzero(left_out_rows(block, interval))
        if len(rows):
            data = block.rows.data[rows]
            held = [m for m in members if m is not None]
            outputs.append(np.stack([m.output(data, best_method(m.estimator)) for m in held]))
            chosen.append(rows)
    if not chosen:
        held = [m for m in folds[0][1] if m is not None]
        return np.empty((len(held), 0, len(held[0].classes))), np.empty(0, dtype=np.intp)
    return np.concatenate(outputs, axis=1), np.concatenate(chosen)


def sampled_outputs(
    block: NumberedRows, folds: FoldMembers, share: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outputs, codes and weights of a share of the rows left out, chosen by their numbers."""
    uniform = hash_uniform(block.start, len(block.rows.codes), SAMPLE_PURPOSE)
    index = np.flatnonzero(uniform < share)
    outputs, rows = left_out_outputs(block, folds)
    taken = np.flatnonzero(np.isin(rows, index))
    taken = taken[np.argsort(rows[taken], kind="stable")]
    rows = rows[taken]
    return outputs[:, taken], block.rows.codes[rows], block.rows.weight[rows]


def collect_left_out(
    blocks: Any, folds: FoldMembers, share: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outputs (V x n x K) for a share of the rows left out, their codes and weights."""
    outputs, codes, weight = zip(*blocks.collect(sampled_outputs, folds, share), strict=True)
    return np.concatenate(outputs, axis=1), np.concatenate(codes), np.concatenate(weight)


def count_correct(
    block: NumberedRows, folds: FoldMembers, prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weight of the correct predictions of each member, and of all rows left out.

    Rows without the view count for the largest class.
    """
    outputs, rows = left_out_outputs(block, folds)
    codes, weight = block.rows.codes[rows], block.rows.weight[rows]
    missing = np.isnan(outputs).any(axis=2)
    best = np.where(missing[:, :, None], 0.0, outputs).argmax(axis=2)
    is_correct = np.where(missing, prior.argmax(), best) == codes
    return is_correct @ weight, np.array([weight.sum()])
