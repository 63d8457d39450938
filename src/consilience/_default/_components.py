"""Principal components of every view: few dense columns that trees can split on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

__all__ = ["Components", "fit_components", "fit_kernel_components"]

MAX_COMPONENTS = 20  # components of a view
FIT_ROWS = 2000  # rows they are computed from


@dataclass(frozen=True, eq=False)
class Components:
    """Directions (d x k) and what a row is compared with: component = x·direction − offset."""

    directions: np.ndarray
    offset: np.ndarray

    @property
    def width(self):
        """Number of components."""
        return self.directions.shape[1]

    def apply(self, X):
        """Components (n x k) of mapped rows, or of rows of a kernel."""
        return np.asarray(X @ self.directions) - self.offset


def fit_components(X):
    """Components of mapped rows (n x d), from the smaller of covariance and Gram matrix."""
    X = X[:FIT_ROWS]
    n, d = X.shape
    k = min(MAX_COMPONENTS, d, n - 1)
    mean = np.asarray(X.mean(axis=0)).ravel().astype(np.float64)
    if d <= n:
        values, vectors = _largest(_dense(X.T @ X) / n - np.outer(mean, mean), k)
        directions = vectors[:, values > 0]
    else:
        values, vectors = _largest(_centred(_dense(X @ X.T)), k)
        kept = values > 0
        left = vectors[:, kept] / np.sqrt(values[kept])
        directions = np.asarray(X.T @ left) - np.outer(mean, left.sum(axis=0))
    return Components(directions, mean @ directions)


def fit_kernel_components(K):
    """Components from a kernel (n x n) between the rows; they apply to rows of that kernel."""
    values, vectors = _largest(_centred(K), min(MAX_COMPONENTS, len(K) - 1))
    kept = values > 0
    directions = vectors[:, kept] / np.sqrt(values[kept])
    directions = directions - directions.mean(axis=0)
    return Components(directions, K.mean(axis=0) @ directions)


def _largest(A, k):
    """The k largest eigenvalues and vectors; values that are rounding count as 0."""
    n = len(A)
    if k < 1:
        return np.zeros(0), np.zeros((n, 0))
    values, vectors = eigh(A, subset_by_index=(n - k, n - 1), check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    values = np.where(values > 1e-9 * max(values[0], 0.0), values, 0.0)
    # the sign of an eigenvector is arbitrary: its largest entry is positive
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(k)]
    return values, vectors * np.where(peaks < 0, -1.0, 1.0)


def _centred(K):
    mean = K.mean(axis=0)
    return K - mean - mean[:, None] + mean.mean()


def _dense(A):
    return A.toarray() if sp.issparse(A) else A
