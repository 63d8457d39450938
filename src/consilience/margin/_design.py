"""From views to the matrices that the solvers work on, and from their parameters back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._solvers.centred_views import CentredViews, gram_factor
from consilience.margin._machine import LinearExpansion, Machine

__all__ = ["Design", "linear_machine", "zero_missing"]

# views with more columns than rows are reduced by their Gram matrix up to this number of rows
GRAM_MAX_ROWS = 3000
# columns of one Gram matrix have at least this share of the sum of their squares: smaller ones
# would be lost in its rounding errors
MIN_SHARE_OF_SQUARES = 1e-10

# the columns of a part of a view, and the matrix that turns its parameters into coefficients
Lift = tuple[np.ndarray, np.ndarray]


class Design:
    """Training views, centred; those with more columns than rows reduced to their Gram factors.

    Columns of sparse views without any entry are left out: their coefficients are 0.

    Parameters
    ----------
    Xs : list of matrices
        Views.
    present : bool array of shape (n, V)
        False where a view is missing; values there are not read.
    weight : array of shape (n,)
        Sample weights.
    """

    # the binary problems share nothing that changes: they may run in parallel
    sequential = False

    def __init__(self, Xs: Sequence[Any], present: np.ndarray, weight: np.ndarray) -> None:
        Xs = [zero_missing(X, present[:, v]) for v, X in enumerate(Xs)]
        self.widths = [X.shape[1] for X in Xs]
        Xs, self.used = zip(*map(used_columns, Xs), strict=True)
        self.views = CentredViews(Xs, present, weight=weight)
        self.means = self.views.means
        self.lifts: list[list[Lift] | None] = [None] * len(Xs)
        wide = [v for v, d in enumerate(self.views.widths) if d > len(present)]
        if wide and len(present) <= GRAM_MAX_ROWS:
            self._factorise(wide, present)

    def _factorise(self, wide: list[int], present: np.ndarray) -> None:
        Xs, means = list(self.views.Xs), list(self.means)
        for v in wide:
            Xs[v], self.lifts[v] = reduce_columns(Xs[v], means[v], present[:, v])
            means[v] = np.zeros(Xs[v].shape[1])
        for v, X in enumerate(Xs):
            if v not in wide and not sp.issparse(X):
                means[v] = np.zeros(X.shape[1])  # these are centred already
        self.views = CentredViews(Xs, present, means)

    def parameters(self, theta: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Coefficients of every view (list of V vectors) and intercepts (V,) for raw columns."""
        coefs: list[np.ndarray] = []
        intercepts = theta[self.views.d :].copy()
        for v, (where, lift) in enumerate(zip(self.views.slices, self.lifts, strict=True)):
            w = theta[where] if lift is None else lift_parameters(lift, theta[where])
            intercepts[v] -= self.means[v] @ w
            coefs.append(np.zeros(self.widths[v]))
            coefs[v][self.used[v]] = w
        return coefs, intercepts

    def machine(self, solved: Sequence[Any]) -> tuple[Machine, None, None]:
        """The fitted machine from the coefficients of all problems; no support vectors."""
        return linear_machine(solved), None, None


def linear_machine(solved: Sequence[Any]) -> Machine:
    """The machine with the coefficients of all binary problems."""
    coefs = [np.stack(vectors, axis=1) for vectors in zip(*(s.coefs for s in solved), strict=True)]
    intercepts = np.stack([s.intercepts for s in solved], axis=1)
    return Machine([LinearExpansion(coef) for coef in coefs], intercepts)


def reduce_columns(X: Any, mean: np.ndarray, present: np.ndarray) -> tuple[np.ndarray, list[Lift]]:
    """A view with the same Gram matrix and fewer columns, each part of columns by itself."""
    factors, lifts = [], []
    for columns in columns_of_similar_size(square_sums(X, mean, present)):
        Z = X if len(columns) == X.shape[1] else X[:, columns]
        T = np.eye(len(columns)) if len(columns) <= len(present) else None
        if T is None:
            Z, T = gram_factor(Z, mean[columns], present)
        elif sp.issparse(Z):
            Z = (Z.toarray() - mean[columns]) * present[:, None]
        factors.append(Z)
        lifts.append((columns, T))
    return np.hstack(factors), lifts


def lift_parameters(lifts: list[Lift], theta: np.ndarray) -> np.ndarray:
    """Coefficients of the columns of a view from those of ``reduce_columns``."""
    w = np.zeros(sum(len(columns) for columns, _ in lifts))
    ends = np.cumsum([T.shape[1] for _, T in lifts])
    for (columns, T), part in zip(lifts, np.split(theta, ends[:-1]), strict=True):
        w[columns] = T @ part
    return w


def columns_of_similar_size(squares: np.ndarray) -> list[np.ndarray]:
    """Parts of the columns, in which each has MIN_SHARE_OF_SQUARES of the sum at least."""
    squares = np.where(squares > 0, squares, squares.max())  # columns of zeros are lost anywhere
    parts, left = [], np.arange(len(squares))
    while len(left):
        descending = left[np.argsort(-squares[left], kind="stable")]
        size = squares[descending]
        is_small = size < MIN_SHARE_OF_SQUARES * np.cumsum(size)
        end = int(is_small.argmax()) if is_small.any() else len(left)
        parts.append(np.sort(descending[:end]))
        left = np.sort(descending[end:])
    return parts


def square_sums(X: Any, mean: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Σ (x − mean)² of every column; a dense view is centred already."""
    if not sp.issparse(X):
        return np.einsum("ij,ij->j", X, X)
    sums = X.power(2).sum(axis=0) - 2 * mean * X.sum(axis=0) + present.sum() * mean**2
    return np.maximum(np.asarray(sums), 0.0)


def used_columns(X: Any) -> tuple[Any, Any]:
    """The view without the columns that have no entry (if sparse), and the columns it keeps."""
    everything = slice(None)
    if not sp.issparse(X):
        return X, everything
    used = np.bincount(X.indices, minlength=X.shape[1]) > 0
    width = int(used.sum())
    if width in (0, X.shape[1]):
        return X, everything
    position = np.cumsum(used, dtype=X.indices.dtype) - 1
    narrow = sp.csr_array((X.data, position[X.indices], X.indptr), shape=(X.shape[0], width))
    return narrow, np.flatnonzero(used)


def zero_missing(X: Any, is_present: np.ndarray) -> Any:
    """The view with zeros in the rows that lack it; sparse as float64 CSR."""
    if sp.issparse(X):
        X = sp.csr_array(X).astype(np.float64, copy=False)
        if not is_present.all():
            X = X.copy()
            X.data[~np.repeat(is_present, np.diff(X.indptr))] = 0.0
            X.eliminate_zeros()
        return X
    if is_present.all():
        return X
    X = np.array(X, dtype=np.float64)
    X[~is_present] = 0.0
    return X
