"""How a view is made comparable with others before distances are taken.

Non-negative views with many zeros (counts, histograms, term weights) become unit vectors of square
roots, whose distance is Hellinger's; all other columns are standardised and clipped, skewed ones
beside their normal scores. Sparse views stay sparse: those with negative values are divided by the
root mean square of their columns.
Single missing cells (NaN) stay NaN here; ``fill`` puts the column's mean in their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin

from consilience.views._normal_scores import NormalScores, fit_normal_scores, standardise

__all__ = ["ViewMap", "ViewMapper", "fit_view_map"]

# shares of zeros from which a non-negative view counts as a histogram; see docs/results/default.md
HISTOGRAM_MIN_ZEROS = 0.3
HISTOGRAM_MAX_RATIO = (
    100.0  # columns of a histogram have non-zero values of one order, give or take this factor
)
CLIP = 3.0
ROOT_HALF = 0.5**0.5
DENSE_ABOVE = 0.3  # share of stored cells above which a sparse view is made dense


@dataclass(frozen=True, eq=False)
class ViewMap:
    """A fitted map, "roots", "standard" or "scaled"; ``columns`` are those that vary."""

    kind: str
    columns: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    sparse: bool
    ranks: NormalScores | None = None

    @property
    def width(self) -> int:
        """Number of mapped columns."""
        return len(self.columns) + (0 if self.ranks is None else self.ranks.width)

    def apply(self, X: Any, dtype: Any = np.float64) -> Any:
        """Mapped rows; NaN stay where they are."""
        X = _convert(X, self.sparse)
        if self.kind == "roots":
            # the rows are normed before columns are left out: all of them count
            return _take(_unit_roots(X, dtype), self.columns)
        X = _take(X, self.columns)
        if self.sparse:
            return sp.csr_array(X.astype(dtype) * (1 / self.scale)[None, :].astype(dtype))
        Z = standardise(X.astype(dtype), self.mean.astype(dtype), self.scale.astype(dtype))
        np.clip(Z, -CLIP, CLIP, out=Z)
        if self.ranks is None:
            return Z
        # each of the two counts half in a distance
        Z[:, self.ranks.columns] *= ROOT_HALF
        return np.hstack([Z, ROOT_HALF * self.ranks.apply(X).astype(dtype)])

    def fill(self, X: Any) -> Any:
        """Mapped rows with the mean of the column in the place of NaN."""
        if self.sparse:
            if np.isnan(X.data).any():
                X = X.copy()
                X.data[np.isnan(X.data)] = 0.0
            return X
        holes = np.isnan(X)
        if not holes.any():
            return X
        means = self.mean if self.kind == "roots" else np.zeros(self.width)
        return np.where(holes, means.astype(X.dtype), X)


def fit_view_map(X: Any, weight: np.ndarray) -> ViewMap:
    """The map for the rows of one view; ``weight`` are the weights of the rows."""
    if sp.issparse(X) and X.nnz > DENSE_ABOVE * X.shape[0] * X.shape[1]:
        X = X.toarray()
    if _is_histogram(X):
        varying = _varying(X)
        return ViewMap("roots", varying, _root_means(X, varying), np.ones(1), sp.issparse(X))
    if sp.issparse(X):
        X = sp.csr_array(X, dtype=np.float64)
        varying = _varying(X)
        X = X[:, varying]
        data = np.where(np.isnan(X.data), 0.0, X.data)
        share = weight / weight.sum()
        top = np.abs(data).max(initial=1e-300)
        squares = sp.csr_array(((data / top) ** 2, X.indices, X.indptr), shape=X.shape)
        scale = top * np.sqrt(share @ squares)
        return ViewMap("scaled", varying, np.zeros(1), np.maximum(scale, 1e-300), True)
    varying = _varying(X)
    mean, scale = _moments(np.asarray(X[:, varying], dtype=np.float64), weight)
    # columns whose spread is lost in rounding are constant
    kept = scale > 1e-12 * np.abs(mean)
    varying, mean, scale = varying[kept], mean[kept], scale[kept]
    ranks = fit_normal_scores(X[:, varying], mean, scale, weight)
    return ViewMap("standard", varying, mean, scale, False, ranks if ranks.width else None)


class ViewMapper(TransformerMixin, BaseEstimator):
    """The map of one view as a transformer, so that other methods can have it."""

    def fit(self, X: Any, y: Any = None) -> ViewMapper:
        """Fit the map."""
        self.map_ = fit_view_map(X, np.ones(X.shape[0]))
        return self

    def transform(self, X: Any) -> Any:
        """Mapped rows, with means in the place of NaN."""
        return self.map_.fill(self.map_.apply(X))


def _is_histogram(X: Any) -> bool:
    """Non-negative, many zeros, and columns of one unit: no amounts beside flags."""
    values = X.data if sp.issparse(X) else X
    size = X.shape[0] * X.shape[1]
    if (
        size == 0
        or (values < 0).any()
        or np.count_nonzero(values) > (1 - HISTOGRAM_MIN_ZEROS) * size
    ):
        return False
    X = sp.csc_array(X)
    data = np.where(X.data > 0, X.data, 0.0) / np.fmax.reduce(X.data, initial=1e-300)
    columns = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    counts = np.bincount(columns[X.data > 0], minlength=X.shape[1])
    sums = np.bincount(columns, weights=data, minlength=X.shape[1])
    typical = sums[counts > 0] / counts[counts > 0]
    if len(typical) == 0:
        return False
    low, high = np.quantile(typical, [0.05, 0.95])
    return bool(high <= HISTOGRAM_MAX_RATIO * low)


def _varying(X: Any) -> np.ndarray:
    """Columns with at least two values."""
    if sp.issparse(X):
        X = sp.csc_array(X)
        held = np.diff(X.indptr)
        stored = held > 0
        least, greatest = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        starts = X.indptr[:-1][stored]
        if len(starts):
            least[stored] = np.fmin.reduceat(X.data, starts)
            greatest[stored] = np.fmax.reduceat(X.data, starts)
        partly = stored & (held < X.shape[0])
        least[partly], greatest[partly] = (
            np.fmin(least[partly], 0.0),
            np.fmax(greatest[partly], 0.0),
        )
        return np.flatnonzero(greatest > least)
    return np.flatnonzero(np.fmax.reduce(X, axis=0) > np.fmin.reduce(X, axis=0))


def _moments(X: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of the columns, without NaN and without overflow."""
    top = np.fmax.reduce(np.abs(X), axis=0, initial=1e-300)
    X = X / top
    is_present = ~np.isnan(X)
    share = weight @ is_present
    mean = (weight @ np.where(is_present, X, 0.0)) / share
    spread = np.sqrt((weight @ np.where(is_present, X - mean, 0.0) ** 2) / share)
    return mean * top, spread * top


def _unit_roots(X: Any, dtype: Any) -> Any:
    """Square roots of the values, the rows divided by their norm; negative values count as zero."""
    if sp.issparse(X):
        X = sp.csr_array(X, dtype=dtype, copy=True)
        X.data = np.sqrt(np.maximum(X.data, 0))
        norms = _norms(X.data, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.shape[0])
        X.data /= np.repeat(norms, np.diff(X.indptr)).astype(dtype)
        return X
    X = np.sqrt(np.maximum(X, 0, dtype=dtype))
    squares = np.where(np.isnan(X), 0, X)
    norms = np.sqrt(np.einsum("ij,ij->i", squares, squares, dtype=np.float64))
    X /= np.where(norms > 0, norms, 1.0).astype(dtype)[:, None]
    return X


def _norms(data: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    squares = np.where(np.isnan(data), 0.0, data).astype(np.float64) ** 2
    norms = np.sqrt(np.bincount(rows, weights=squares, minlength=n))
    return np.where(norms > 0, norms, 1.0)


def _root_means(X: Any, columns: np.ndarray) -> np.ndarray:
    if sp.issparse(X):
        return np.zeros(1)
    roots = _unit_roots(X, np.float64)[:, columns]
    is_present = ~np.isnan(roots)
    return np.where(is_present, roots, 0.0).sum(axis=0) / np.maximum(is_present.sum(axis=0), 1)


def _convert(X: Any, sparse: bool) -> Any:
    if sparse:
        return sp.csr_array(X)
    return X.toarray() if sp.issparse(X) else X


def _take(X: Any, columns: np.ndarray) -> Any:
    return X if len(columns) == X.shape[1] else X[:, columns]
