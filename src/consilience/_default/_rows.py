"""Training rows merged and ordered, and rows grouped by the views they have.

Equal rows with equal labels (of the same group, if there are groups) become one row with the sum of
their weights, so that a row left out is left out with its copies. The rows are ordered by a hash of
their values: the same for any order or repetition of the input, and as good as random for folds and
landmarks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._folds import encode_groups
from consilience.views import MultiViewData

__all__ = ["group_by_pattern", "merge_rows"]


def merge_rows(
    data: MultiViewData, codes: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows to keep, in their new order, and their summed weights."""
    keys = row_keys(data)
    groups = np.zeros_like(codes) if data.groups is None else encode_groups(data.groups)
    order = np.lexsort((np.arange(len(keys)), groups, codes, keys))
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.any([np.diff(values[order]) != 0 for values in (keys, codes, groups)], axis=0)
    starts = np.flatnonzero(first)
    return order[starts], np.add.reduceat(weight[order], starts)


def group_by_pattern(present: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each pattern of present views with the numbers of the rows that have it."""
    patterns, which = np.unique(present, axis=0, return_inverse=True)
    for p, pattern in enumerate(patterns):
        yield pattern, np.flatnonzero(which.ravel() == p)


def row_keys(data: MultiViewData) -> np.ndarray:
    """A 64-bit hash of the values of each row; kernels and distances count as all different."""
    keys = np.zeros(len(data), dtype=np.uint64)
    for v, (name, kind) in enumerate(data.kinds.items()):
        if kind == "features":
            part = _hash(data[name])
        else:
            part = np.arange(len(data), dtype=np.uint64)
        part[~data.present[:, v]] = np.uint64(v + 1)
        keys = _mix(keys * np.uint64(3) + _mix(part + np.uint64(v)))
    return keys


def _hash(X: Any) -> np.ndarray:
    """Σ_j (bits of x_j) · m_j modulo 2⁶⁴ with odd multipliers: the same for dense and sparse."""
    n, d = X.shape
    odd = _mix(np.arange(d, dtype=np.uint64)) | np.uint64(1)
    if sp.issparse(X):
        rows = np.repeat(np.arange(n), np.diff(X.indptr))
        out = np.zeros(n, dtype=np.uint64)
        np.add.at(out, rows, _bits(X.data) * odd[X.indices])
        return out
    out = np.empty(n, dtype=np.uint64)
    for start in range(0, n, 4096):
        block = slice(start, start + 4096)
        out[block] = (_bits(X[block]) * odd).sum(axis=1, dtype=np.uint64)
    return out


def _bits(values: np.ndarray) -> np.ndarray:
    """Bits of the values as floats; −0 is 0, every NaN the same."""
    values = np.array(values, dtype=np.float64, order="C") + 0.0
    values[np.isnan(values)] = np.nan
    return values.view(np.uint64)


def _mix(z: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64, on arrays."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
