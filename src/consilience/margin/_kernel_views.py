"""Training views as kernels: of their columns, or given as a matrix between samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._kernel_views import (
    KernelSpec,
    check_nonnegative,
    kernel_against,
    present_rows,
    read_square,
    resolve_gamma,
)
from consilience._solvers.kernels import distance_gamma, distance_kernel, kernel_diagonal
from consilience.margin._design import zero_missing
from consilience.margin._machine import Expansion, KernelExpansion, LinearExpansion
from consilience.views import MultiViewData

__all__ = ["CentredKernel", "ComputedKernel", "GivenKernel", "TrainingKernel", "training_kernel"]

# rows from which the rounding errors of a kernel are estimated
MAX_SAMPLED_ROWS = 64

# writes the kernel rows of some samples into an array
RowWriter = Callable[[np.ndarray, np.ndarray], Any]


class ComputedKernel:
    """Kernel of a view's columns; rows that lack the view hold zeros and are never used.

    Of dense views the weighted column means are subtracted where products of large values would
    lose digits. That changes no distance, and of linear kernels only the intercept, because all
    solvers have Σ y λ = 0 in each view.
    """

    def __init__(
        self, data: MultiViewData, name: str, spec: KernelSpec, weight: np.ndarray
    ) -> None:
        self.data, self.name = data, name
        self.spec = resolve_gamma(spec, data, name, weight)
        is_present = data.present[:, data.view_names.index(name)]
        self.X = zero_missing(data[name], is_present)
        if spec.kernel == "chi2":
            check_nonnegative(self.X, name)
        self.some_rows = evenly_spaced(np.flatnonzero(is_present))
        self.mean = None
        if not sp.issparse(self.X) and is_present.any() and self._loses_digits(is_present):
            mass = np.where(is_present, weight, 0.0)
            self.mean = mass / mass.sum() @ self.X
            self.X = self.X - self.mean
            self.X[~is_present] = 0.0

    def _loses_digits(self, is_present: np.ndarray) -> bool:
        # distances are computed from centred rows, but with the zeros of missing ones in the mean
        kernel = self.spec.kernel
        return kernel == "linear" or (kernel == "rbf" and not is_present.all())

    def rows(self, dtype: Any) -> RowWriter:
        """Function (samples, out) that writes rows of the kernel."""
        return self.spec.against(self.X, dtype).own_rows()

    def diagonal(self) -> np.ndarray:
        """k(x, x) of all rows."""
        spec = self.spec
        return kernel_diagonal(self.X, spec.kernel, spec.gamma, spec.degree, spec.coef0)

    @property
    def has_constants(self) -> bool:
        """Whether rows and columns may have large constants in common."""
        return self.spec.kernel in ("linear", "poly") or callable(self.spec.kernel)

    def cancellation(self) -> float:
        """See the function; the rbf kernel has the rounding errors of γ|x|²."""
        X = self.X[self.some_rows]
        kernel = self.spec.against(X)
        K = kernel(X)
        size = np.abs(K.diagonal()).mean() if len(K) else 0.0
        if self.spec.kernel == "rbf" and len(K):
            size += kernel.norms.mean()
        elif self.spec.kernel == "laplacian" and len(K):
            size += self.spec.gamma * np.abs(X).sum() / len(K)
        return cancellation(K, size)

    def times(self, g: np.ndarray) -> np.ndarray:
        """K g for g of shape (n,)."""
        if self.spec.kernel == "linear":
            return np.asarray(self.X @ (self.X.T @ g))
        support = np.flatnonzero(g)
        return self.spec.against(self.X[support]).times(self.X, g[support])

    def expansion(self, support: np.ndarray, coefs: np.ndarray) -> Expansion:
        """The fitted view: support vectors with coefficients (n_support x P)."""
        if self.spec.kernel == "linear":
            return LinearExpansion(np.asarray(self.X[support].T @ coefs))
        return KernelExpansion(kernel_against(self.spec, self.data, self.name, support), coefs)

    def offset(self, expansion: Expansion) -> Any:
        """What to subtract from the intercepts (P,) because of the means."""
        if self.mean is None or not isinstance(expansion, LinearExpansion):
            return 0.0
        return self.mean @ expansion.coef


class GivenKernel:
    """A kernel or distance view between the training samples; 0 where one lacks the view."""

    def __init__(
        self, data: MultiViewData, name: str, spec: KernelSpec, weight: np.ndarray
    ) -> None:
        rows = present_rows(data, name)
        self.has_constants = data.kinds[name] == "kernel"
        K, gamma = read_square(data, name, rows), None
        if data.kinds[name] == "distance":
            gamma = distance_gamma(spec.gamma, K, weight[rows])
            K = distance_kernel(K, gamma)
        self.data, self.name, self.spec = data, name, replace(spec, gamma=gamma)
        if len(rows) < len(data):
            K, present_block = np.zeros((len(data), len(data))), K
            K[np.ix_(rows, rows)] = present_block
        self.K, self.some_rows = K, evenly_spaced(rows)

    def rows(self, dtype: Any) -> RowWriter:
        """Function (samples, out) that writes rows of the kernel."""

        def copy(samples: np.ndarray, out: np.ndarray) -> None:
            out[:] = self.K[samples]

        return copy

    def diagonal(self) -> np.ndarray:
        """K_tt of all rows."""
        return self.K.diagonal()

    def cancellation(self) -> float:
        """See the function."""
        K = self.K[np.ix_(self.some_rows, self.some_rows)]
        return cancellation(K, np.abs(K.diagonal()).mean() if len(K) else 0.0)

    def times(self, g: np.ndarray) -> np.ndarray:
        """K g for g of shape (n,)."""
        return self.K @ g

    def expansion(self, support: np.ndarray, coefs: np.ndarray) -> Expansion:
        """The fitted view: the samples to compare with, and their coefficients."""
        return KernelExpansion(kernel_against(self.spec, self.data, self.name, support), coefs)

    def offset(self, expansion: Expansion) -> Any:
        """Nothing: a given kernel stays as it is."""
        return 0.0


TrainingKernel = ComputedKernel | GivenKernel


def evenly_spaced(rows: np.ndarray) -> np.ndarray:
    """A few of the rows."""
    places = np.linspace(0, len(rows) - 1, min(len(rows), MAX_SAMPLED_ROWS))
    return rows[places.astype(np.intp)]


def cancellation(K: np.ndarray, size: float) -> float:
    """``size``, to which rounding errors of K are proportional, relative to the size of HKHᵀ.

    H = I − 11ᵀ/n: constants in rows and columns of a kernel have no influence on a solution, but
    on its rounding errors.
    """
    spread = K.diagonal().mean() - K.mean() if len(K) else 0.0
    return float(size / max(spread, 1e-300)) if size > 0 else 1.0


def training_kernel(
    data: MultiViewData, name: str, spec: KernelSpec, weight: np.ndarray
) -> TrainingKernel:
    """The kernel of a view between all training samples."""
    kind = ComputedKernel if data.kinds[name] == "features" else GivenKernel
    return kind(data, name, spec, weight)


class CentredKernel:
    """HKHᵀ, H = I − 1ωᵀ/Σω on the rows that have the view and 0 elsewhere."""

    def __init__(self, kernel: TrainingKernel, is_present: np.ndarray, weight: np.ndarray) -> None:
        self.kernel, self.is_present = kernel, is_present
        self.shares = np.where(is_present, weight, 0.0) / max(weight[is_present].sum(), 1e-300)
        self.means = kernel.times(self.shares)
        self.mean = self.shares @ self.means

    def rows(self, dtype: Any) -> RowWriter:
        """Function (samples, out) that writes rows of the kernel."""
        write = self.kernel.rows(dtype)
        columns = (self.means - self.mean).astype(dtype)

        def centre(samples: np.ndarray, out: np.ndarray) -> None:
            write(samples, out)
            out -= columns
            out -= self.means[samples, None].astype(dtype)
            out[:, ~self.is_present] = 0
            out[~self.is_present[samples]] = 0

        return centre

    def diagonal(self) -> np.ndarray:
        """Diagonal of the kernel."""
        return np.where(self.is_present, self.kernel.diagonal() - 2 * self.means + self.mean, 0.0)

    def coefs(self, g: np.ndarray) -> np.ndarray:
        """Hᵀg: the coefficients of the plain kernel, up to a constant of the decision."""
        g = np.where(self.is_present, g, 0.0)
        return g - g.sum() * self.shares
