"""Principal components of every view: few dense columns that trees can split on.

Texts without common terms are orthogonal: their Gram matrix has equal eigenvalues, which leave the
eigenvectors open, and many components are 0 up to rounding. Trees would follow the rounding, and
results would differ between processors. So matrices are tilted a little, which chooses the
eigenvectors, and components are rounded.
"""

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
TILT = 1e-6  # largest addition to the diagonal, of its mean
GRID = 2.0**-16  # to which components are rounded, of about their standard deviation
TIE = 1e-6  # relative difference of entries that count as equal
GOLDEN_RATIO = (1 + 5**0.5) / 2


@model_type("default.Components")
@dataclass(frozen=True, eq=False)
class Components:
    """Directions (d x k), their offsets and grids: component = x·direction − offset, rounded."""

    directions: np.ndarray
    offset: np.ndarray
    grid: np.ndarray

    @property
    def width(self) -> int:
        """Number of components."""
        return self.directions.shape[1]

    def apply(self, X: Any) -> np.ndarray:
        """Components (n x k) of mapped rows, or of rows of a kernel."""
        return self.round(np.asarray(X @ self.directions) - self.offset)

    def round(self, values: np.ndarray) -> np.ndarray:
        """Round components to their grids."""
        return np.round(values / self.grid) * self.grid


def fit_components(X: Any) -> Components:
    """Components of mapped rows (n x d), from the smaller of covariance and Gram matrix."""
    X = X[:FIT_ROWS]
    n, d = X.shape
    k = min(MAX_COMPONENTS, d, n - 1)
    mean = np.asarray(X.mean(axis=0)).ravel().astype(np.float64)
    if d <= n:
        values, directions = _largest_eigenpairs(dense(X.T @ X) / n - np.outer(mean, mean), k)
        variances = values
    else:
        values, vectors = _largest_eigenpairs(_centred(dense(X @ X.T)), k)
        left, variances = vectors / np.sqrt(values), values / n
        directions = np.asarray(X.T @ left) - np.outer(mean, left.sum(axis=0))
    return Components(directions, mean @ directions, _grid(variances))


def fit_kernel_components(K: np.ndarray) -> Components:
    """Components from a kernel (n x n) between the rows; they apply to rows of that kernel."""
    values, vectors = _largest_eigenpairs(_centred(K), min(MAX_COMPONENTS, len(K) - 1))
    directions = vectors / np.sqrt(values)
    directions = directions - directions.mean(axis=0)
    return Components(directions, K.mean(axis=0) @ directions, _grid(values / len(K)))


def left_out_components(
    gram: np.ndarray, components: np.ndarray, folds: np.ndarray, fitted: Components
) -> np.ndarray:
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
    fitted : Components
        These directions.
    """
    left_out = np.empty_like(components)
    for fold in np.unique(folds):
        own, rest = folds == fold, folds != fold
        part = fit_kernel_components(gram[np.ix_(rest, rest)])
        rotation = part.directions.T @ components[rest]
        left_out[own] = part.apply(gram[np.ix_(own, rest)]) @ rotation
    return fitted.round(left_out)


def _largest_eigenpairs(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Up to k eigenvalues, the largest, without rounding errors, and their vectors."""
    if k < 1:
        return np.zeros(0), np.zeros((len(A), 0))
    tilted = A.astype(np.float64)
    tilt = TILT * float(np.trace(tilted)) / len(A)
    tilted[np.diag_indices_from(tilted)] += tilt * (np.arange(len(A)) * GOLDEN_RATIO % 1)
    _, vectors = symmetric_eigh(tilted, n_largest=k)
    vectors = vectors[:, ::-1]
    values = np.einsum("ij,ij->j", vectors, A @ vectors)
    kept = values > MIN_EIGENVALUE * max(values.max(), 0.0)
    values, vectors = values[kept], vectors[:, kept]
    # the sign of an eigenvector is arbitrary: make the first of its largest entries positive
    sizes = np.abs(vectors)
    first = (sizes >= (1 - TIE) * sizes.max(axis=0)).argmax(axis=0)
    return values, vectors * np.sign(vectors[first, np.arange(len(values))])


def _grid(variances: np.ndarray) -> np.ndarray:
    """Powers of two, so that rounding does not depend on units."""
    return GRID * 2.0 ** np.round(np.log2(variances) / 2)


def _centred(K: np.ndarray) -> np.ndarray:
    mean = K.mean(axis=0)
    return K - mean - mean[:, None] + mean.mean()


def dense(A: Any) -> np.ndarray:
    """The matrix as an array."""
    return A.toarray() if sp.issparse(A) else A
