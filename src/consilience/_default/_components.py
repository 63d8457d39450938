"""Principal components of every view: few dense columns that trees can split on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._model_types import model_type
from consilience._solvers.eigen import symmetric_eigh

__all__ = ["Components", "dense", "fit_components", "fit_kernel_components", "left_out_components"]

MAX_COMPONENTS = 20  # components of a view
FIT_ROWS = 2000  # rows they are computed from
MIN_EIGENVALUE = 1e-9  # of the largest one; smaller ones are rounding errors


@model_type("default.Components")
@dataclass(frozen=True, eq=False)
class Components:
    """Directions (d x k) and their offsets: component = x·direction − offset."""

    directions: np.ndarray
    offset: np.ndarray

    @property
    def width(self) -> int:
        """Number of components."""
        return self.directions.shape[1]

    def apply(self, X: Any) -> np.ndarray:
        """Components (n x k) of mapped rows, or of rows of a kernel."""
        return np.asarray(X @ self.directions) - self.offset


def fit_components(X: Any) -> Components:
    """Components of mapped rows (n x d), from the smaller of covariance and Gram matrix."""
    X = X[:FIT_ROWS]
    n, d = X.shape
    k = min(MAX_COMPONENTS, d, n - 1)
    mean = np.asarray(X.mean(axis=0)).ravel().astype(np.float64)
    if d <= n:
        values, vectors = _largest_eigenpairs(dense(X.T @ X) / n - np.outer(mean, mean), k)
        directions = vectors[:, values > 0]
    else:
        values, vectors = _largest_eigenpairs(_centred(dense(X @ X.T)), k)
        kept = values > 0
        left = vectors[:, kept] / np.sqrt(values[kept])
        directions = np.asarray(X.T @ left) - np.outer(mean, left.sum(axis=0))
    return Components(directions, mean @ directions)


def fit_kernel_components(K: np.ndarray) -> Components:
    """Components from a kernel (n x n) between the rows; they apply to rows of that kernel."""
    values, vectors = _largest_eigenpairs(_centred(K), min(MAX_COMPONENTS, len(K) - 1))
    kept = values > 0
    directions = vectors[:, kept] / np.sqrt(values[kept])
    directions = directions - directions.mean(axis=0)
    return Components(directions, K.mean(axis=0) @ directions)


def left_out_components(gram: np.ndarray, components: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Components (n x k) of training rows as if they were new.

    Where rows are few and columns many, directions follow the noise of the rows they were found in,
    and no new row lies as far along them. So each row is projected on the directions found
    without its fold, then on those found in all rows.

    Parameters
    ----------
    gram : array of shape (n, n)
        Products of the rows, or a kernel between them.
    components : array of shape (n, k)
        Their components by directions found in all of them.
    folds : int array of shape (n,)
        Fold of each row.
    """
    left_out = np.empty_like(components)
    for fold in np.unique(folds):
        own, rest = folds == fold, folds != fold
        part = fit_kernel_components(gram[np.ix_(rest, rest)])
        rotation = part.directions.T @ components[rest]
        left_out[own] = part.apply(gram[np.ix_(own, rest)]) @ rotation
    return left_out


def _largest_eigenpairs(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues, in descending order, and vectors; rounding errors count as 0."""
    if k < 1:
        return np.zeros(0), np.zeros((len(A), 0))
    values, vectors = symmetric_eigh(A, n_largest=k)
    values, vectors = values[::-1], vectors[:, ::-1]
    values = np.where(values > MIN_EIGENVALUE * max(values[0], 0.0), values, 0.0)
    # the sign of an eigenvector is arbitrary: make its largest entry positive
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(k)]
    return values, vectors * np.where(peaks < 0, -1.0, 1.0)


def _centred(K: np.ndarray) -> np.ndarray:
    mean = K.mean(axis=0)
    return K - mean - mean[:, None] + mean.mean()


def dense(A: Any) -> np.ndarray:
    """The matrix as an array."""
    return A.toarray() if sp.issparse(A) else A
