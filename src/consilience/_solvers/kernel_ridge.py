"""Kernel ridge regression with exact leave-one-out predictions, for many targets at once.

Problem: min over α of Σ_i s_i |y_i − f_i|² + λ tr αᵀKα with f = Kα, weights s_i > 0 and a penalty
λ > 0; a constant added to the kernel K stands for the intercept.

``kernel_ridge`` chooses the penalty by the leave-one-out error, from one eigendecomposition.
``solve_kernel_ridge`` is the closed form for a given penalty. ``feature_ridge`` solves the same
problem on explicit features that come in blocks of rows, for more rows than a kernel matrix can
hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from consilience._solvers.eigen import symmetric_eigh

__all__ = ["RidgeFit", "feature_ridge", "kernel_ridge", "solve_kernel_ridge"]


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """Coefficients (n x K, or p x K of features), leave-one-out predictions, penalty and error."""

    coef: np.ndarray
    left_out: np.ndarray
    penalty: float
    error: float


def kernel_ridge(
    K: np.ndarray, Y: np.ndarray, weight: np.ndarray, penalties: Sequence[float] | np.ndarray
) -> RidgeFit:
    """Return the solution whose penalty has the least weighted leave-one-out error.

    With A = (K + λS⁻¹)⁻¹ the solution is α = AY, and the prediction for row i by the other rows is
    y_i − α_i / A_ii.

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel without the constant.
    Y : array of shape (n, n_targets)
        Targets.
    weight : array of shape (n,)
        Weights > 0.
    penalties : sequence of float
        Candidates for λ > 0.
    """
    root, values, Q = _weighted_eigh(K, weight)
    target, squares = Q.T @ (root[:, None] * Y), Q * Q
    fits = []
    for penalty in penalties:
        inverse = 1.0 / (values + penalty)
        coef = root[:, None] * (Q @ (inverse[:, None] * target))
        residual = coef / (weight * (squares @ inverse))[:, None]
        error = float(weight @ (residual**2).sum(axis=1))
        fits.append(RidgeFit(coef, Y - residual, float(penalty), error))
    return min(fits, key=lambda fit: fit.error)


def solve_kernel_ridge(
    K: np.ndarray, Y: np.ndarray, weight: np.ndarray, penalty: float
) -> np.ndarray:
    """Return α = (K + 1 + λS⁻¹)⁻¹ Y for a kernel K (n x n) without the constant.

    A kernel that is not positive semidefinite is replaced by its positive part, as in
    ``kernel_ridge``, unless the penalty makes up for it.
    """
    A = K + 1.0
    A[np.diag_indices_from(A)] += penalty / weight
    try:
        return cho_solve(cho_factor(A, overwrite_a=True, check_finite=False), Y, check_finite=False)
    except LinAlgError:
        root, values, Q = _weighted_eigh(K, weight)
        return root[:, None] * (Q @ ((Q.T @ (root[:, None] * Y)) / (values + penalty)[:, None]))


def _weighted_eigh(K: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return S^½ and the eigenpairs of S^½(K + 1)S^½, negative eigenvalues set to 0."""
    root = np.sqrt(weight)
    values, Q = symmetric_eigh((K + 1.0) * np.outer(root, root))
    return root, np.maximum(values, 0.0), Q


def feature_ridge(
    blocks: Callable[[], Iterable[np.ndarray]],
    Y: np.ndarray,
    weight: np.ndarray,
    penalties: Sequence[float] | np.ndarray,
) -> RidgeFit:
    """Return the solution of min Σ_i s_i |y_i − z_iβ|² + λ|β|² of least leave-one-out error.

    With G = (ZᵀSZ + λI)⁻¹ the prediction for row i by the other rows is
    y_i − (y_i − z_iβ) / (1 − s_i z_iGz_iᵀ).

    Parameters
    ----------
    blocks : callable
        Returns an iterator over the rows of Z (n x p) in order, block by block; called twice.
    Y : array of shape (n, n_targets)
        Targets.
    weight : array of shape (n,)
        Weights > 0.
    penalties : sequence of float
        Candidates for λ > 0.
    """
    gram, target, start = np.zeros(()), np.zeros(()), 0
    for Z in blocks():
        rows = slice(start, start + len(Z))
        weighted = Z * weight[rows, None]
        gram, target = gram + Z.T @ weighted, target + weighted.T @ Y[rows]
        start = rows.stop
    values, Q = symmetric_eigh(gram)
    values, target = np.maximum(values, 0.0), Q.T @ target
    inverses = [1.0 / (values + penalty) for penalty in penalties]
    left_out = np.empty((len(penalties), *Y.shape))
    start = 0
    for Z in blocks():
        rows = slice(start, start + len(Z))
        rotated = Z @ Q
        squares = rotated**2
        for left, inverse in zip(left_out, inverses, strict=True):
            fitted = rotated @ (inverse[:, None] * target)
            leverage = np.minimum(weight[rows] * (squares @ inverse), 1.0 - 1e-9)
            left[rows] = Y[rows] - (Y[rows] - fitted) / (1.0 - leverage)[:, None]
        start = rows.stop
    errors = [float(weight @ ((Y - left) ** 2).sum(axis=1)) for left in left_out]
    best = int(np.argmin(errors))
    coef = Q @ (inverses[best][:, None] * target)
    return RidgeFit(coef, left_out[best], float(penalties[best]), errors[best])
