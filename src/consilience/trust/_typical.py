"""TypicalView: how far a view of a sample is from those of the training rows.

Two measures, both 0 for a typical sample: the logarithm of the distance to the nearest training
rows, in units of the median distance between these (copies of rows aside), if it is positive; and
log (1 + percentage of the cells outside the range of their columns). Distances are those of the
mapped view: between principal components, plus what lies outside of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._model_types import model_type

__all__ = ["TypicalView", "drop_rounding", "fit_typical_view", "squared_distances"]

N_NEIGHBOURS = 5
MAX_NEIGHBOUR_ROWS = 2000  # rows that distances are computed to
WIDEST = 1.7e308
ROUNDING = 1e-13  # of a difference of squares, relative to these


def drop_rounding(difference: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """A difference of such squares, 0 where it may be a rounding error."""
    return np.where(difference > ROUNDING * squares, difference, 0.0)


def squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances (n x m)."""
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)
    out = A @ B.T
    out *= -2.0
    out += squares
    squares *= ROUNDING
    out[out <= squares] = 0.0  # as drop_rounding does, in place
    return out


@model_type("trust.TypicalView")
@dataclass(eq=False)
class TypicalView:
    """Components of training rows, the unit of distances, and the range of each column."""

    rows: np.ndarray
    distance: float
    low: np.ndarray
    high: np.ndarray

    def strangeness(self, X: Any, C: np.ndarray, outside: np.ndarray) -> np.ndarray:
        """Both measures (n x 2) of rows with components C and squared norms outside of them."""
        distance = np.sqrt(_mean_of_nearest(squared_distances(C, self.rows)) + outside)
        ratio = np.log(np.maximum(distance / self.distance, 1.0))
        return np.column_stack([ratio, np.log1p(100 * self._share_out_of_range(X))])

    def _share_out_of_range(self, X: Any) -> np.ndarray:
        if not sp.issparse(X):
            X = np.asarray(X)
            return ((self.low > X) | (self.high < X)).mean(axis=1)
        X = sp.csr_array(X)
        is_out = (X.data < self.low[X.indices]) | (X.data > self.high[X.indices])
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(rows[is_out], minlength=X.shape[0]) / max(X.shape[1], 1)


def fit_typical_view(X: Any, C: np.ndarray, outside: np.ndarray) -> TypicalView:
    """Distances and ranges of training rows X with components C."""
    rng = np.random.RandomState(0)
    kept = np.sort(rng.permutation(len(C))[:MAX_NEIGHBOUR_ROWS])
    squares = squared_distances(C[kept], C[kept])
    np.fill_diagonal(squares, np.inf)
    distance = np.sqrt(_mean_of_nearest(squares) + outside[kept])
    is_distinct = distance > 0
    if is_distinct.any():
        unit = float(np.median(distance[is_distinct]))
    else:  # every row has copies: the spread of all rows
        unit = float(np.sqrt(C.var(axis=0).sum() + outside.mean())) or 1.0
    if sp.issparse(X):
        X = sp.csc_array(X)
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    else:
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    # of an empty column nothing is known: any value lies in its range
    ends = (low.astype(np.float64), -WIDEST), (high.astype(np.float64), WIDEST)
    low, high = (np.where(np.isnan(end), widest, end) for end, widest in ends)
    return TypicalView(C[kept], unit, low, high)


def _mean_of_nearest(squares: np.ndarray) -> np.ndarray:
    """Square of the mean distance to the nearest rows."""
    k = min(N_NEIGHBOURS, squares.shape[1] - 1)
    if k < 1:
        return np.zeros(len(squares))
    return np.sqrt(np.partition(squares, k - 1, axis=1)[:, :k]).mean(axis=1) ** 2
