"""Kernels between rows, dense or CSR, float32 or float64: values against a fixed set of rows.

``KernelAgainst(Z, ...)`` prepares the rows Z once; called with rows X it gives the block k(X, Z).
``kernel_gamma`` and ``distance_gamma`` turn "scale", "auto" and "median" into numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import chi2_kernel, laplacian_kernel
from sklearn.utils.extmath import row_norms

from consilience._core import gaussian_rows, pack_panels, rbf_epilogue
from consilience._core.blas_threads import threads_for_product
from consilience._model_types import model_type

__all__ = [
    "GAMMAS",
    "KERNELS",
    "KernelAgainst",
    "check_symmetric",
    "distance_gamma",
    "distance_kernel",
    "kernel_block",
    "kernel_diagonal",
    "kernel_gamma",
    "square_distances_from_products",
    "square_norms",
]

# a dense array, or a CSR array
Matrix = Any

KERNELS = ("linear", "rbf", "poly", "sigmoid", "laplacian", "chi2", "cosine")
GAMMAS = ("scale", "auto", "median")
# rows from whose distances the median is computed
MEDIAN_MAX_ROWS = 1000
# entries of a block that is used up as soon as it is computed
CHUNK_ENTRIES = 1 << 22
# entries of a product that BLAS computes at once: it cannot be interrupted
LONG_PRODUCT_ENTRIES = 1 << 24


@model_type("solvers.KernelAgainst")
class KernelAgainst:
    """k(·, Z) for fixed rows Z.

    Parameters
    ----------
    Z : array or CSR array of shape (m, d)
        Rows to compare with.
    kernel : str or callable
        One of KERNELS, or a function (X, Z) -> (n, m).
    gamma, degree, coef0 : float
        Parameters of the kernel, as in ``sklearn.metrics.pairwise``.
    dtype : float64 or float32
        Type of the blocks, and of the arithmetic.
    centre : bool
        Whether the mean of a dense Z is subtracted before distances are computed; it is not for
        rows that have to stay sparse.
    origin : array of shape (d,), optional
        Subtracted from all rows before products are computed, for a linear kernel whose origin
        does not matter, since it is centred later: rounding of large products would remain.
    """

    def __init__(
        self,
        Z: Matrix,
        kernel: str | Callable = "rbf",
        *,
        gamma: float = 1.0,
        degree: float = 3,
        coef0: float = 1.0,
        dtype: Any = np.float64,
        centre: bool = True,
        origin: np.ndarray | None = None,
    ) -> None:
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, degree, coef0
        self.dtype, self.n_references = np.dtype(dtype), Z.shape[0]
        self.origin, self.row_scale = origin, 1.0
        if kernel == "rbf":
            # distances do not depend on the origin, but their rounding does; with √γ in the rows
            # their squares stay within the range of float32
            self.row_scale = np.sqrt(gamma)
            if centre and not sp.issparse(Z) and len(Z):
                self.origin = Z.mean(axis=0, dtype=np.float64)
        self.Z = Z if callable(kernel) else self._prepare(Z)
        if kernel == "rbf":
            self.norms = square_norms(self.Z)
        if not callable(kernel) and not sp.issparse(self.Z):
            self.Z_transposed = np.ascontiguousarray(self.Z.T)

    def __call__(self, X: Matrix, out: np.ndarray | None = None) -> np.ndarray:
        """The block k(X, Z), n x m, in ``out`` or a new array; dense and C-contiguous."""
        if out is None:
            out = np.empty((X.shape[0], self.n_references), dtype=self.dtype)
        if callable(self.kernel):
            out[:] = self._call_function(X)
        elif self.kernel in ("laplacian", "chi2"):
            self._from_differences(X, out)
        else:
            self._from_products(self._prepare(X), out)
        return out

    def _from_products(self, X: Matrix, out: np.ndarray) -> None:
        self._products(X, out)
        if self.kernel == "rbf":
            # twice as fast as scikit-learn's rbf_kernel
            rbf_epilogue(out, square_norms(X), self.norms, 1.0)
        elif self.kernel in ("poly", "sigmoid"):
            out *= self.dtype.type(self.gamma)
            out += self.dtype.type(self.coef0)
            np.power(out, self.degree, out=out) if self.kernel == "poly" else np.tanh(out, out=out)

    def square_distances(self, X: Matrix) -> np.ndarray:
        """γ|x − z|², n x m; for the rbf kernel."""
        X, out = self._prepare(X), np.empty((X.shape[0], self.n_references), dtype=self.dtype)
        self._products(X, out)
        return square_distances_from_products(out, square_norms(X), self.norms)

    def own_rows(self) -> Callable[[np.ndarray, np.ndarray], Any]:
        """Function (t, out) that writes k(z_t, Z) for some of the rows Z, by their numbers."""
        Z = self.Z
        if self.kernel == "rbf" and self.dtype == np.float32 and not sp.issparse(Z):
            packed, norms = pack_panels(Z), self.norms
            # without a product in memory: up to twice as fast as BLAS and exponentials
            return lambda t, out: gaussian_rows(Z[t], norms[t], packed, norms, out)
        if callable(self.kernel) or self.kernel in ("laplacian", "chi2"):
            return lambda t, out: self(Z[t], out=out)
        return lambda t, out: self._from_products(Z[t], out)

    def times(self, X: Matrix, coefs: np.ndarray) -> np.ndarray:
        """k(X, Z) @ coefs without keeping more than some rows of the block."""
        out = np.empty((X.shape[0], *coefs.shape[1:]))
        for part in chunks(X.shape[0], self.n_references):
            out[part] = self(X[part]) @ coefs
        return out

    def _prepare(self, X: Matrix) -> Matrix:
        """Rows with the type, origin and length that the kernel is computed from."""
        if sp.issparse(X) and self.origin is not None:
            X = X.toarray()
        if sp.issparse(X):
            X = sp.csr_array(X if self.row_scale == 1 else X * self.row_scale, dtype=self.dtype)
        else:
            if self.origin is not None:
                X = np.subtract(X, self.origin)
                X *= self.row_scale
            elif self.row_scale != 1:
                X = X * self.row_scale
            X = np.ascontiguousarray(X, dtype=self.dtype)
        if self.kernel != "cosine":
            return X
        lengths = np.sqrt(square_norms(X))
        scale = np.divide(1, lengths, where=lengths > 0, out=np.zeros_like(lengths))
        return sp.csr_array(X * scale[:, None]) if sp.issparse(X) else X * scale[:, None]

    def _products(self, X: Matrix, out: np.ndarray) -> None:
        """XZᵀ."""
        if not sp.issparse(self.Z):
            if sp.issparse(X):
                out[:] = X @ self.Z_transposed
            else:
                with threads_for_product(len(X), *self.Z.shape):
                    for part in chunks(len(X), self.n_references, LONG_PRODUCT_ENTRIES):
                        np.matmul(X[part], self.Z_transposed, out=out[part])
            return
        # a few dense rows at a time are faster than the product of two sparse matrices
        for part in chunks(X.shape[0], X.shape[1] + self.n_references):
            rows = X[part].toarray() if sp.issparse(X) else X[part]
            out[part] = (self.Z @ np.ascontiguousarray(rows.T)).T

    def _from_differences(self, X: Matrix, out: np.ndarray) -> None:
        kernel = laplacian_kernel if self.kernel == "laplacian" else chi2_kernel
        Z = self.Z.toarray() if sp.issparse(self.Z) else self.Z
        for part in chunks(X.shape[0], X.shape[1] + self.n_references):
            rows = X[part].toarray() if sp.issparse(X) else X[part]
            out[part] = kernel(rows.astype(self.dtype, copy=False), Z, gamma=self.gamma)

    def _call_function(self, X: Matrix) -> np.ndarray:
        assert callable(self.kernel)
        try:
            block = np.asarray(self.kernel(X, self.Z), dtype=np.float64)
        except Exception as error:
            raise ValueError(f"the kernel function {self.kernel!r} failed: {error}") from error
        if block.shape != (X.shape[0], self.n_references):
            raise ValueError(
                "the kernel function must return an array of shape "
                f"{(X.shape[0], self.n_references)}, one row for each row of its first argument; "
                f"got {block.shape}"
            )
        if not np.isfinite(block).all():
            raise ValueError("the kernel function returned NaN or infinity")
        return block


def kernel_block(
    X: Matrix, Z: Matrix, kernel: str | Callable = "rbf", **parameters: Any
) -> np.ndarray:
    """k(X, Z), n x m; see ``KernelAgainst``."""
    return KernelAgainst(Z, kernel, **parameters)(X)


def kernel_diagonal(
    X: Matrix,
    kernel: str | Callable = "rbf",
    gamma: float = 1.0,
    degree: float = 3,
    coef0: float = 1.0,
) -> np.ndarray:
    """k(x, x) of every row, float64."""
    if callable(kernel):
        parts = [X[start : start + 64] for start in range(0, X.shape[0], 64)]
        return np.concatenate([KernelAgainst(Z, kernel)(Z).diagonal() for Z in parts])
    if kernel in ("rbf", "laplacian", "chi2"):
        return np.ones(X.shape[0])
    norms = square_norms(X.astype(np.float64, copy=False))
    if kernel == "cosine":
        return (norms > 0).astype(np.float64)
    if kernel == "linear":
        return norms
    inside = gamma * norms + coef0
    return inside**degree if kernel == "poly" else np.tanh(inside)


def distance_kernel(D: np.ndarray, gamma: float) -> np.ndarray:
    """exp(−γD)."""
    return np.exp(-gamma * np.asarray(D, dtype=np.float64))


def square_norms(X: Matrix) -> np.ndarray:
    """|x|² of every row, in the type of X."""
    return row_norms(X, squared=True).astype(X.dtype, copy=False)


def square_distances_from_products(
    products: np.ndarray, x_norms: np.ndarray, z_norms: np.ndarray
) -> np.ndarray:
    """|x − z|² from xᵀz (n x m) and the squared norms; overwrites the products."""
    products *= -2
    products += x_norms[:, None]
    products += z_norms
    return np.maximum(products, 0, out=products)


def chunks(n: int, width: int, entries: int = CHUNK_ENTRIES) -> list[slice]:
    """Slices of n rows, of up to ``entries`` entries where a row has ``width`` of them."""
    step = max(1, entries // max(width, 1))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def check_symmetric(K: np.ndarray, view: str) -> None:
    """Check that a matrix between samples is symmetric."""
    largest = np.abs(K).max(initial=0)
    for start in range(0, len(K), 512):
        part = slice(start, start + 512)
        difference = np.abs(K[part] - K[:, part].T).max(initial=0)
        if difference > 1e-6 * largest:
            raise ValueError(
                f"view {view!r} is not symmetric between the training samples: entries differ by "
                f"up to {difference:.3g}"
            )


def kernel_gamma(gamma: float | str, X: Matrix, weight: np.ndarray | None = None) -> float:
    """γ as a number: "scale" 1/(d Var X), "auto" 1/d, "median" 1/(median of |x − x'|² > 0).

    Weights count as repetitions of rows.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    n, d = X.shape
    weight = np.ones(n) if weight is None else near_one(weight)
    if gamma == "auto" or n == 0:
        return 1 / d
    if gamma == "scale":
        variance = entry_variance(X, weight)
        return 1 / (d * variance) if variance > 0 else 1.0
    if n > MEDIAN_MAX_ROWS:
        ends = np.cumsum(weight)
        places = (np.arange(MEDIAN_MAX_ROWS) + 0.5) / MEDIAN_MAX_ROWS * ends[-1]
        X, weight = X[np.minimum(np.searchsorted(ends, places), n - 1)], np.ones(MEDIAN_MAX_ROWS)
    squares = KernelAgainst(X, "rbf").square_distances(X)
    return median_gamma(squares, weight)


def distance_gamma(gamma: float | str, D: np.ndarray, weight: np.ndarray | None = None) -> float:
    """γ for exp(−γD) as a number: "scale" and "auto" 1/(mean of D), "median" 1/(median of D > 0).

    D is the square block between the training samples.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    weight = np.ones(len(D)) if weight is None else near_one(weight)
    if gamma == "median":
        return median_gamma(np.asarray(D, dtype=np.float64), weight)
    mean = weight @ D @ weight / weight.sum() ** 2
    return 1 / mean if mean > 0 else 1.0


def near_one(weight: np.ndarray) -> np.ndarray:
    """Weights times a power of 2, so that products of two of them stay within range."""
    return np.ldexp(weight, -int(np.frexp(weight.max(initial=0.0))[1]))


def entry_variance(X: Matrix, weight: np.ndarray) -> float:
    """Variance over all entries, rows counted by weight."""
    total = weight.sum() * X.shape[1]
    if sp.issparse(X):
        repeated = np.repeat(weight, np.diff(X.indptr))
        data = X.data.astype(np.float64, copy=False)
        mean = repeated @ data / total
        return repeated @ (data - mean) ** 2 / total + mean**2 * (1 - repeated.sum() / total)
    mean = weight @ X.sum(axis=1, dtype=np.float64) / total
    squares = np.subtract(X, mean, dtype=np.float64)
    return weight @ np.einsum("ij,ij->i", squares, squares) / total


def median_gamma(squares: np.ndarray, weight: np.ndarray) -> float:
    """1 / weighted median of the positive entries above the diagonal."""
    i, j = np.triu_indices(len(squares), 1)
    values, mass = squares[i, j], weight[i] * weight[j]
    # copies of a row differ by rounding only
    is_distinct = values > 1e-12 * values.max(initial=0.0)
    if not is_distinct.any():
        return 1.0
    values, mass = values[is_distinct], mass[is_distinct]
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(mass[order])
    return 1 / values[order[np.searchsorted(ends, ends[-1] / 2)]]
