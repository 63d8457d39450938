"""Kernel ridge regression with its exact leave-one-out predictions, for many targets at once.

``kernel_ridge`` chooses the penalty by the leave-one-out error from one eigendecomposition;
``solve_kernel_ridge`` is the plain solution for a known penalty; ``feature_ridge`` is the same
for more rows than a kernel matrix can hold, on features that come in blocks of rows. A constant
added to the kernel stands for the intercept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

__all__ = ["RidgeFit", "feature_ridge", "kernel_ridge", "solve_kernel_ridge"]


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """Coefficients (n x K, or p x K of features), leave-one-out predictions, penalty and error."""

    coef: np.ndarray
    left_out: np.ndarray
    penalty: float
    error: float


def kernel_ridge(K, Y, weight, penalties):
    """min over α and the penalty: Σ_i s_i |y_i − f_i|² + λ tr αᵀKα, f = Kα, K with a constant.

    With A = (K + λS⁻¹)⁻¹ the solution is α = AY, and the prediction for row i by the other rows is
    y_i − α_i / A_ii. The penalty is the one of least weighted leave-one-out error.

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel.
    Y : array of shape (n, n_targets)
        Targets.
    weight : array of shape (n,)
        Weights > 0.
    penalties : sequence of float
        Candidates for λ > 0.
    """
    root = np.sqrt(weight)
    values, Q = eigh((K + 1.0) * np.outer(root, root), overwrite_a=True, check_finite=False)
    values = np.maximum(values, 0.0)
    target, squares = Q.T @ (root[:, None] * Y), Q * Q
    best = None
    for penalty in penalties:
        inverse = 1.0 / (values + penalty)
        coef = root[:, None] * (Q @ (inverse[:, None] * target))
        residual = coef / (weight * (squares @ inverse))[:, None]
        error = float(weight @ (residual**2).sum(axis=1))
        if best is None or error < best.error:
            best = RidgeFit(coef, Y - residual, float(penalty), error)
    return best


def solve_kernel_ridge(K, Y, weight, penalty):
    """α = (K + 1 + λS⁻¹)⁻¹ Y for a kernel K (n x n) without the constant."""
    A = K + 1.0
    A[np.diag_indices_from(A)] += penalty / weight
    return cho_solve(cho_factor(A, overwrite_a=True, check_finite=False), Y, check_finite=False)


def feature_ridge(blocks, Y, weight, penalties):
    """min over β and the penalty: Σ_i s_i |y_i − z_iβ|² + λ|β|², rows z_i in blocks.

    With G = (ZᵀSZ + λI)⁻¹ the prediction for row i by the other rows is
    y_i − (y_i − z_iβ) / (1 − s_i z_iGz_iᵀ).

    Parameters
    ----------
    blocks : callable
        Gives an iterator over the rows of Z (n x p) in order, block by block; called twice.
    Y : array of shape (n, n_targets)
        Targets.
    weight : array of shape (n,)
        Weights > 0.
    penalties : sequence of float
        Candidates for λ > 0.
    """
    gram, target, start = 0.0, 0.0, 0
    for Z in blocks():
        rows = slice(start, start + len(Z))
        weighted = Z * weight[rows, None]
        gram, target = gram + Z.T @ weighted, target + weighted.T @ Y[rows]
        start = rows.stop
    values, Q = eigh(gram, overwrite_a=True, check_finite=False)
    values, target = np.maximum(values, 0.0), Q.T @ target
    inverses = [1.0 / (values + penalty) for penalty in penalties]
    left_out = np.empty((len(penalties), *Y.shape))
    start = 0
    for Z in blocks():
        rows = slice(start, start + len(Z))
        turned = Z @ Q
        squares = turned**2
        for left, inverse in zip(left_out, inverses, strict=True):
            fitted = turned @ (inverse[:, None] * target)
            leverage = np.minimum(weight[rows] * (squares @ inverse), 1.0 - 1e-9)
            left[rows] = Y[rows] - (Y[rows] - fitted) / (1.0 - leverage)[:, None]
        start = rows.stop
    errors = [float(weight @ ((Y - left) ** 2).sum(axis=1)) for left in left_out]
    k = int(np.argmin(errors))
    coef = Q @ (inverses[k][:, None] * target)
    return RidgeFit(coef, left_out[k], float(penalties[k]), errors[k])
