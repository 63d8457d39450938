"""Training rows merged and ordered, and rows grouped by the views they have.

Equal rows with equal labels (of the same group, if there are groups) become one row with the sum of
their weights, so that a row left out is left out with its copies. Where equal rows have different
labels they are no copies but samples that few columns of few values cannot tell apart, and all
stay: a row left out with its like would leave those of the other classes behind, in its place.

Folds, landmarks and samples follow the order of the rows, which must not depend on how the data are
presented: it is that of a random projection of the scaled columns, shuffled. Rows in another order,
columns in other units, single precision or rounding change it not at all or exchange a few rows
that are neighbours in the projection, whereas a hash of the values would shuffle everything.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._copies import row_keys
from consilience._folds import encode_groups
from consilience.views import MultiViewData

__all__ = ["group_by_pattern", "merge_rows", "project_rows"]

CHUNK_ROWS = 4096
TINY = 1e-300
MAX_DISAGREEMENT = 0.01  # of copies: share of pairs with different labels, relative to all pairs


def merge_rows(
    data: MultiViewData, codes: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of the rows to keep, in their new order, and their summed weights.

    And for each row a number that it shares with its copies.
    """
    order, is_first, groups = _sort_rows(data, codes)
    starts = np.flatnonzero(is_first)
    rows, totals = order[starts], np.add.reduceat(weight[order], starts)
    by_projection = np.lexsort((rows, groups[rows], codes[rows], project_rows(data[rows])))
    shuffled = by_projection[np.random.RandomState(0).permutation(len(rows))]
    copies = np.empty(len(order), dtype=np.intp)
    copies[order] = np.cumsum(is_first) - 1
    return rows[shuffled], totals[shuffled], copies


def _sort_rows(data: MultiViewData, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order in which equal rows are side by side, where others begin, and codes of the groups."""
    keys = row_keys(data)
    groups = np.zeros_like(codes) if data.groups is None else encode_groups(data.groups)
    order = np.lexsort((np.arange(len(keys)), groups, codes, keys))
    is_first = np.ones(len(order), dtype=bool)
    if not _equal_rows_disagree(keys, codes):
        is_first[1:] = np.any([np.diff(part[order]) != 0 for part in (keys, codes, groups)], axis=0)
    return order, is_first, groups


def _equal_rows_disagree(keys: np.ndarray, codes: np.ndarray) -> bool:
    """Whether equal rows often have different labels, compared with any two rows."""
    labelled = codes >= 0
    keys = np.unique(keys[labelled], return_inverse=True)[1].ravel()
    codes = codes[labelled]
    n_same_row, n_same_label = _count_pairs(keys), _count_pairs(codes)
    n_same_both = _count_pairs(keys * (codes.max(initial=0) + 1) + codes)
    n_pairs = len(codes) * (len(codes) - 1) / 2
    disagreeing = n_same_row - n_same_both
    return disagreeing * n_pairs > MAX_DISAGREEMENT * n_same_row * (n_pairs - n_same_label)


def _count_pairs(codes: np.ndarray) -> float:
    """Number of pairs of equal values."""
    counts = np.unique(codes, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())


def project_rows(data: MultiViewData) -> np.ndarray:
    """A random projection of the columns, divided by their largest values; absent values are 0."""
    out = np.zeros(len(data))
    for name in sorted(data.view_names):
        if data.kinds[name] == "features":
            v = data.view_names.index(name)
            directions = np.random.RandomState(zlib.crc32(name.encode()))
            rows = np.flatnonzero(data.present[:, v])
            view = data[name] if len(rows) == len(data) else _take_rows(data[name], rows)
            if len(rows):
                out[rows] += _project(view, directions.standard_normal(view.shape[1]))
    return out


def _take_rows(X: Any, rows: np.ndarray) -> Any:
    return sp.csr_array(X)[rows] if sp.issparse(X) else X[rows]


def _project(X: Any, direction: np.ndarray) -> np.ndarray:
    if sp.issparse(X):
        X = sp.csr_array(X, dtype=np.float64)
        values = np.nan_to_num(X.data)
        largest = np.zeros(X.shape[1])
        np.maximum.at(largest, X.indices, np.abs(values))
        values = values / largest[X.indices].clip(TINY) * direction[X.indices]
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(rows, weights=values, minlength=X.shape[0])
    # as floats: unsigned integers and truth values have no negatives
    high, low = (f.reduce(X, axis=0).astype(np.float64) for f in (np.fmax, np.fmin))
    largest = np.fmax(np.fmax(high, -low), TINY)
    out = np.empty(X.shape[0])
    for start in range(0, X.shape[0], CHUNK_ROWS):
        block = slice(start, start + CHUNK_ROWS)
        out[block] = np.nan_to_num(np.asarray(X[block], dtype=np.float64) / largest) @ direction
    return out


def group_by_pattern(present: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each pattern of present views with the numbers of the rows that have it."""
    patterns, which = np.unique(present, axis=0, return_inverse=True)
    for p, pattern in enumerate(patterns):
        yield pattern, np.flatnonzero(which.ravel() == p)
