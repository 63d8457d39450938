"""Scaling of a view before distances are computed.

Non-negative views with many zeros (counts, histograms, term weights) are mapped to unit vectors of
square roots, whose Euclidean distance is the Hellinger distance. All other columns are standardised
and clipped, and the normal scores of skewed columns are added, on request also quantiles of the
row's values (``with_row_quantiles``) and how strongly short patterns occur in the row
(``with_local_patterns``). Sparse views stay sparse: those with negative values are
divided by the root mean square of their columns. NaN in single cells is kept by ``apply`` and
imputed with the column mean by ``fill``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin

from consilience._model_types import model_type
from consilience.views._local_patterns import LocalPatterns, fit_local_patterns, is_signal
from consilience.views._normal_scores import NormalScores, fit_normal_scores, standardise
from consilience.views._row_quantiles import RowQuantiles, fit_row_quantiles

__all__ = ["MIN_RELATIVE_STD", "ViewMap", "ViewMapper", "column_moments", "fit_view_map"]

# a histogram has at least this share of zeros; see docs/results/default-log.md
HISTOGRAM_MIN_ZEROS = 0.3
# maximum ratio of the mean non-zero values of any two columns of a histogram (5 % trimmed)
HISTOGRAM_MAX_RATIO = 100.0
CLIP = 3.0
ROOT_HALF = 0.5**0.5
# columns whose standard deviation is lost in rounding, relative to the mean, count as constant
MIN_RELATIVE_STD = 1e-12
DENSE_ABOVE = 0.3  # density above which a sparse view is converted to a dense one


@model_type("views.ViewMap")
@dataclass(frozen=True, eq=False)
class ViewMap:
    """A fitted map: "roots", "standard" or "scaled"; ``columns`` are the non-constant ones."""

    kind: str
    columns: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    sparse: bool
    ranks: NormalScores | None = None
    quantiles: RowQuantiles | None = None
    patterns: LocalPatterns | None = None

    @property
    def width(self) -> int:
        """Number of mapped columns."""
        return sum(self.part_widths)

    @property
    def part_widths(self) -> tuple[int, int, int]:
        """Numbers of columns, of their normal scores, and of features of whole rows."""
        n_ranks = 0 if self.ranks is None else self.ranks.width
        whole = [part.width for part in (self.quantiles, self.patterns) if part is not None]
        return len(self.columns), n_ranks, sum(whole)

    def apply(self, X: Any, dtype: Any = np.float64) -> Any:
        """Map rows of the view; NaN is kept."""
        X = _convert(X, self.sparse)
        if self.kind == "roots":
            # rows are normalised over all columns, before constant columns are dropped
            return _take(_unit_roots(X, dtype), self.columns)
        X = _take(X, self.columns)
        if self.sparse:
            return sp.csr_array(X.astype(dtype) * (1 / self.scale)[None, :].astype(dtype))
        Z = self._standardised(X, dtype)
        parts = [Z]
        if self.ranks is not None:
            parts.append(ROOT_HALF * self.ranks.apply(X).astype(dtype))
        if self.quantiles is not None:
            parts.append(self.quantiles.apply(Z).astype(dtype))
        if self.patterns is not None:
            parts.append(self.patterns.apply(X).astype(dtype))
        if self.ranks is not None:
            # a column and its normal scores each contribute half to a squared distance
            Z[:, self.ranks.columns] *= ROOT_HALF
        return Z if len(parts) == 1 else np.hstack(parts)

    def with_row_quantiles(self, X: Any, weight: np.ndarray) -> ViewMap:
        """Return a copy that adds quantiles of each row, fitted to rows of a dense view."""
        Z = self._standardised(_take(X, self.columns), np.float64)
        return replace(self, quantiles=fit_row_quantiles(Z, weight))

    def with_local_patterns(self, X: Any, weight: np.ndarray) -> ViewMap | None:
        """Return a copy that adds patterns in rows of a dense view; None if it is no signal."""
        if not self.is_signal(X):
            return None
        patterns = fit_local_patterns(_take(X, self.columns), self.mean, self.scale, weight)
        return replace(self, patterns=patterns)

    def is_signal(self, X: Any) -> bool:
        """Whether the columns of a dense view are the points of a signal."""
        return is_signal(self._standardised(_take(X, self.columns), np.float64))

    def _standardised(self, X: Any, dtype: Any) -> np.ndarray:
        """Standardised and clipped values of the columns that are not constant."""
        Z = standardise(X.astype(dtype), self.mean.astype(dtype), self.scale.astype(dtype))
        return np.clip(Z, -CLIP, CLIP, out=Z)

    def fill(self, X: Any) -> Any:
        """Impute NaN in mapped rows with the column means."""
        if self.sparse:
            if np.isnan(X.data).any():
                X = X.copy()
                X.data[np.isnan(X.data)] = 0.0
            return X
        is_missing = np.isnan(X)
        if not is_missing.any():
            return X
        means = self.mean if self.kind == "roots" else np.zeros(self.width)
        return np.where(is_missing, means.astype(X.dtype), X)


def fit_view_map(X: Any, weight: np.ndarray, *, may_be_histogram: bool = True) -> ViewMap:
    """Fit the map of one view to rows with sample weights ``weight``."""
    if sp.issparse(X) and X.nnz > DENSE_ABOVE * X.shape[0] * X.shape[1]:
        X = X.toarray()
    if may_be_histogram and _is_histogram(X):
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
    mean, scale = column_moments(np.asarray(X[:, varying], dtype=np.float64), weight)
    significant = scale > MIN_RELATIVE_STD * np.abs(mean)
    varying, mean, scale = varying[significant], mean[significant], scale[significant]
    ranks = fit_normal_scores(X[:, varying], mean, scale, weight)
    return ViewMap("standard", varying, mean, scale, False, ranks if ranks.width else None)


@model_type("views.ViewMapper")
class ViewMapper(TransformerMixin, BaseEstimator):
    """The map of one view as a scikit-learn transformer."""

    def fit(self, X: Any, y: Any = None) -> ViewMapper:
        """Fit the map."""
        self.map_ = fit_view_map(X, np.ones(X.shape[0]))
        return self

    def transform(self, X: Any) -> Any:
        """Map rows of the view and impute NaN with column means."""
        return self.map_.fill(self.map_.apply(X))


def _is_histogram(X: Any) -> bool:
    """Return True for non-negative views with many zeros and columns on a common scale."""
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
    """Indices of the columns that are not constant."""
    if sp.issparse(X):
        X = sp.csc_array(X)
        n_stored = np.diff(X.indptr)
        stored = n_stored > 0
        low, high = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        starts = X.indptr[:-1][stored]
        if len(starts):
            low[stored] = np.fmin.reduceat(X.data, starts)
            high[stored] = np.fmax.reduceat(X.data, starts)
        has_zeros = stored & (n_stored < X.shape[0])
        low[has_zeros] = np.fmin(low[has_zeros], 0.0)
        high[has_zeros] = np.fmax(high[has_zeros], 0.0)
        return np.flatnonzero(high > low)
    return np.flatnonzero(np.fmax.reduce(X, axis=0) > np.fmin.reduce(X, axis=0))


def column_moments(X: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of the columns, ignoring NaN and without overflow."""
    largest = np.fmax.reduce(np.abs(X), axis=0, initial=1e-300)
    X = X / largest
    is_present = ~np.isnan(X)
    total = weight @ is_present
    mean = (weight @ np.where(is_present, X, 0.0)) / total
    std = np.sqrt((weight @ np.where(is_present, X - mean, 0.0) ** 2) / total)
    return mean * largest, std * largest


def _unit_roots(X: Any, dtype: Any) -> Any:
    """Square roots of the values in rows of unit norm; negative values count as zero."""
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
