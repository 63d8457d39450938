"""The design matrices of V views as one: products and weighted Gram matrices, dense or CSR.

Columns are centred (explicitly if dense, by correction terms if sparse); the parameters of all
views form one vector, θ = (w_1, …, w_V, b_1, …, b_V), with b belonging to centred columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from consilience._core import sparse_gram

__all__ = ["CentredViews", "gram_factor"]

# below this density a sparse product is faster than BLAS on the same rows
SPARSE_PRODUCT_MAX_DENSITY = 0.1
# entries of a dense copy of sparse rows at a time
CHUNK_ENTRIES = 1 << 22


class CentredViews:
    """V centred matrices (n x d_v) and where their rows are present.

    Parameters
    ----------
    Xs : list of V arrays or CSR arrays of shape (n, d_v)
        Views; missing rows hold zeros.
    present : bool array of shape (n, V)
        False where a view is missing.
    means : list of V arrays, optional
        Column means to subtract; those over the present rows if not given.
    weight : array of shape (n,), optional
        Weights of the rows in these means.
    """

    def __init__(
        self,
        Xs: Sequence[Any],
        present: np.ndarray,
        means: Sequence[np.ndarray] | None = None,
        weight: np.ndarray | None = None,
    ) -> None:
        given = means if means is not None else [None] * len(Xs)
        centred = [
            _centre(X, present[:, v], mean, weight)
            for v, (X, mean) in enumerate(zip(Xs, given, strict=True))
        ]
        self._assign([X for X, _ in centred], present, [mean for _, mean in centred])

    def _assign(
        self, Xs: Sequence[Any], present: np.ndarray, means: Sequence[np.ndarray]
    ) -> CentredViews:
        self.Xs, self.present, self.means = list(Xs), np.asfortranarray(present), list(means)
        self.n, self.V = present.shape
        self.widths = np.array([X.shape[1] for X in Xs])
        ends = np.cumsum(self.widths)
        self.slices = [slice(e - d, e) for e, d in zip(ends, self.widths, strict=True)]
        self.d = int(ends[-1])
        return self

    @property
    def size(self) -> int:
        """Length of θ."""
        return self.d + self.V

    @cached_property
    def _transposed(self) -> list[Any]:
        """Transposes share the data, but SciPy takes as long to make one as for a product."""
        return [X.T for X in self.Xs]

    def rows(self, index: Any) -> CentredViews:
        """The same views on fewer rows."""
        Xs = [X[index] for X in self.Xs]
        return object.__new__(CentredViews)._assign(Xs, self.present[index], self.means)

    def select_views(self, views: Sequence[int]) -> CentredViews:
        """Some of the views."""
        Xs, means = [self.Xs[v] for v in views], [self.means[v] for v in views]
        return object.__new__(CentredViews)._assign(Xs, self.present[:, list(views)], means)

    def scaled(self, factors: np.ndarray) -> CentredViews:
        """The views times a factor each."""
        Xs = [X * factor for X, factor in zip(self.Xs, factors, strict=True)]
        means = [mean * factor for mean, factor in zip(self.means, factors, strict=True)]
        return object.__new__(CentredViews)._assign(Xs, self.present, means)

    def merged(self) -> CentredViews:
        """All views side by side as one; a missing one is imputed with its mean."""
        if self.present.all() and all(sp.issparse(X) for X in self.Xs):
            X, mean = sp.hstack(self.Xs, format="csr"), np.concatenate(self.means)
        else:
            X, mean = np.hstack([self._dense(v) for v in range(self.V)]), np.zeros(self.d)
        return object.__new__(CentredViews)._assign([X], np.ones((self.n, 1), dtype=bool), [mean])

    def positions(self, views: Sequence[int]) -> np.ndarray:
        """Indices of the parameters of these views in θ."""
        columns = [np.arange(self.d)[self.slices[v]] for v in views]
        return np.concatenate([*columns, self.d + np.asarray(views)])

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        """X_v w_v + b_v for all views, n x V; for θ of P problems (size x P), P x n x V.

        Entries where a view is missing are meaningless.
        """
        out = np.empty((self.V, *theta.shape[1:], self.n))  # the values of a view are contiguous
        for v, (X, where) in enumerate(zip(self.Xs, self.slices, strict=True)):
            w, b = theta[where], theta[self.d + v]
            out[v] = (X @ w).T
            out[v] += np.expand_dims(b - self.means[v] @ w if sp.issparse(X) else b, -1)
        return np.moveaxis(out, 0, -1)

    def rmatvec(self, R: np.ndarray) -> np.ndarray:
        """The adjoint, (X_vᵀ r_v …, Σ r_v …): of R (n x V), or of P problems (P x n x V).

        R must be zero where a view is missing.
        """
        out = np.empty((self.size, *R.shape[:-2]))
        out[self.d :] = totals = R.sum(axis=-2).T
        for v, (X_T, where) in enumerate(zip(self._transposed, self.slices, strict=True)):
            out[where] = X_T @ np.ascontiguousarray(R[..., v].T)
            if sp.issparse(X_T):
                out[where] -= np.multiply.outer(self.means[v], totals[v])
        return out

    def gram_diagonal(self, R: np.ndarray) -> np.ndarray:
        """Diagonal of Σ_t r_tv [x_tv, 1][x_tv, 1]ᵀ, for R as in ``rmatvec``."""
        out = np.empty((self.size, *R.shape[:-2]))
        out[self.d :] = totals = R.sum(axis=-2).T
        for v, (X, where) in enumerate(zip(self.Xs, self.slices, strict=True)):
            weights = np.ascontiguousarray(R[..., v].T)
            if sp.issparse(X):
                mean, outer = self.means[v], np.multiply.outer
                out[where] = X.power(2).T @ weights + outer(mean**2, totals[v])
                out[where] -= 2 * (mean * (X.T @ weights).T).T
            else:
                out[where] = (X * X).T @ weights
        return out

    def _dense(self, v: int) -> np.ndarray:
        """A view as a centred dense matrix."""
        X = self.Xs[v]
        return (X.toarray() - self.means[v]) * self.present[:, [v]] if sp.issparse(X) else X

    @cached_property
    def square_norms(self) -> np.ndarray:
        """|x|² of every present row, n x V."""
        out = np.empty((self.n, self.V))
        for v, (X, mean) in enumerate(zip(self.Xs, self.means, strict=True)):
            if sp.issparse(X):
                squares = sp.csr_array((X.data**2, X.indices, X.indptr), shape=X.shape)
                out[:, v] = squares @ np.ones(X.shape[1]) - 2 * (X @ mean) + mean @ mean
            else:
                out[:, v] = np.einsum("ij,ij->i", X, X)
        return np.where(self.present, np.maximum(out, 0.0), 0.0)

    @cached_property
    def max_row_norm(self) -> np.ndarray:
        """Largest |x| of every view."""
        return np.sqrt(self.square_norms.max(axis=0, initial=0.0))

    def gram(self, weights: Callable[[int, int], np.ndarray]) -> np.ndarray:
        """Upper triangle of Σ_t [x_t, 1]ᵀ D_t [x_t, 1] over all views, (Σd + V)².

        ``weights(u, v)`` gives D_t[u, v] for all rows, zero where either view is missing.
        """
        H = np.zeros((self.size, self.size))
        for u in range(self.V):
            for v in range(u, self.V):
                self._pair(H, u, v, weights(u, v))
        return H

    def _pair(self, H: np.ndarray, u: int, v: int, D: np.ndarray) -> None:
        """Fill the blocks of views u ≤ v: w-w, w-b, b-w and b-b."""
        A, B, mean_a, mean_b = self.Xs[u], self.Xs[v], self.means[u], self.means[v]
        rows, columns = self.slices[u], self.slices[v]
        block = H[rows, columns]
        if is_very_sparse(A) and is_very_sparse(B):
            a, b, total = add_sparse_product(A, B, mean_a, mean_b, D, block)
        else:
            total, a = D.sum(), A.T @ D
            b = a if u == v else B.T @ D
            add_weighted_product(A, B, D, block)
            if sp.issparse(A):
                block -= np.outer(mean_a, b)
                a = a - total * mean_a
            if sp.issparse(B):
                block -= np.outer(a, mean_b)
                b = b - total * mean_b
        H[rows, self.d + v] = a
        H[columns, self.d + u] = b
        H[self.d + u, self.d + v] = total


def _centre(
    X: Any, is_present: np.ndarray, mean: np.ndarray | None, weight: np.ndarray | None
) -> tuple[Any, np.ndarray]:
    """The matrix, centred if it is dense, and its column means."""
    if mean is None:
        mass = is_present.astype(np.float64) if weight is None else weight * is_present
        mean = np.asarray(X.T @ mass, dtype=np.float64) / max(mass.sum(), 1e-300)
    if not sp.issparse(X):
        X = np.subtract(X, mean, dtype=np.float64)
        X[~is_present] = 0.0
    elif not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X, mean


def is_very_sparse(X: Any) -> bool:
    return sp.issparse(X) and X.nnz < SPARSE_PRODUCT_MAX_DENSITY * X.shape[0] * X.shape[1]


def add_sparse_product(
    A: Any, B: Any, mean_a: np.ndarray, mean_b: np.ndarray, D: np.ndarray, out: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Add (A − mean)ᵀ diag(D) (B − mean) to ``out``, the upper triangle if A is B.

    Returns the weighted column sums of both, less the means, and ΣD.
    """
    parts = [(X.data, X.indices, X.indptr) for X in (A, B)]
    a = np.empty(A.shape[1])
    if A is B:
        return a, a, sparse_gram(*parts[0], D, mean_a, a, out)
    b = np.empty(B.shape[1])
    return a, b, sparse_gram(*parts[0], *parts[1], D, mean_a, mean_b, a, b, out)


def add_weighted_product(A: Any, B: Any, D: np.ndarray, out: np.ndarray) -> None:
    """Add Aᵀ diag(D) B to ``out``, at least in the upper triangle if A is B; D ≥ 0 then."""
    rows = np.flatnonzero(D)
    step = max(1, CHUNK_ENTRIES // max(A.shape[1], B.shape[1]))
    for start in range(0, len(rows), step):
        part: Any = rows[start : start + step]
        if len(rows) == len(D):
            part = slice(start, start + step)
        a = _dense_rows(A, part)
        if A is B:
            a = a * np.sqrt(D[part])[:, None]
            out += a.T @ a  # one array with itself: NumPy takes the symmetric product
        else:
            out += a.T @ (D[part, None] * _dense_rows(B, part))


def _dense_rows(X: Any, rows: Any) -> np.ndarray:
    return X[rows].toarray() if sp.issparse(X) else X[rows]


def gram_factor(
    X: Any, mean: np.ndarray, present: np.ndarray, least: float = 1e-12
) -> tuple[np.ndarray, np.ndarray]:
    """Z (n x r) with ZZᵀ = the centred Gram matrix, and T (d x r) with X T = Z, for d ≫ n."""
    if sp.issparse(X):
        cross, square = X @ mean, mean @ mean
        K = (X @ X.T).toarray() - cross[:, None] - cross + square
        K *= present[:, None] * present
    else:
        K = X @ X.T
    values, vectors = eigh(K)
    kept = values > least * max(values[-1], np.finfo(float).tiny)
    values, vectors = values[kept], vectors[:, kept]
    T = X.T @ (vectors / np.sqrt(values))
    if sp.issparse(X):
        T -= np.outer(mean, (vectors / np.sqrt(values)).sum(axis=0))
    return vectors * np.sqrt(values), T
