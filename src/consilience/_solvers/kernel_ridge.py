"""Kernel ridge regression with exact left-out predictions, for many targets at once.

Problem: min over α of Σ_i s_i |y_i − f_i|² + λ tr αᵀKα with f = Kα, weights s_i > 0 and a penalty
λ > 0; a constant added to the kernel K stands for the intercept.

``kernel_ridge`` chooses the penalty by the leave-one-out error, from one eigendecomposition.
``solve_kernel_ridge`` is the closed form for a given penalty. ``feature_ridge`` solves the same
problem on explicit features that come in blocks of rows, for more rows than a kernel matrix can
hold. With ``folds``, all rows of a fold are left out at once instead of one row at a time, and are
predicted with the penalty that is best on the other folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, blas, cho_factor, cho_solve, lapack, solve

from consilience._solvers.eigen import symmetric_eigh

__all__ = ["RidgeFit", "exact_ridge", "feature_ridge", "kernel_ridge", "solve_kernel_ridge"]


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """Coefficients (n x K, or p x K of features), left-out predictions, penalty and error."""

    coef: np.ndarray
    left_out: np.ndarray
    penalty: float
    error: float


def kernel_ridge(
    K: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray,
    penalties: Sequence[float] | np.ndarray,
    folds: np.ndarray | None = None,
) -> RidgeFit:
    """Return the solution whose penalty has the least weighted left-out error.

    With A = (K + λS⁻¹)⁻¹ the solution is α = AY, and the prediction for row i by the other rows is
    y_i − α_i / A_ii; for the rows f of a fold by the other folds it is Y_f − A_ff⁻¹ α_f.

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
    folds : int array of shape (n,), optional
        Fold of each row; by default every row is left out alone.
    """
    root, values, Q = _weighted_eigh(K, weight)
    penalties = np.asarray(penalties, dtype=np.float64)
    inverses = 1.0 / (values[:, None] + penalties)
    target = Q.T @ (root[:, None] * Y)
    # all penalties in one product
    rotated = (inverses[:, :, None] * target[:, None, :]).reshape(len(Y), -1)
    coefs = root[:, None, None] * (Q @ rotated).reshape(len(Y), len(penalties), -1)
    if folds is None:
        residuals = coefs / (weight[:, None] * ((Q * Q) @ inverses))[:, :, None]
    else:
        vectors = root[:, None] * Q
        columns = zip(coefs.swapaxes(0, 1), inverses.T, strict=True)
        residuals = np.stack([_fold_residuals(*own, vectors, folds) for own in columns], axis=1)
    fits = []
    for p, penalty in enumerate(penalties.tolist()):
        residual = residuals[:, p]
        error = float(weight @ (residual**2).sum(axis=1))
        fits.append(RidgeFit(coefs[:, p].copy(), Y - residual, penalty, error))
    best = min(fits, key=lambda fit: fit.error)
    if folds is None:
        return best
    left_out, error = _choose_by_other_folds([fit.left_out for fit in fits], Y, weight, folds)
    return RidgeFit(best.coef, left_out, best.penalty, error)


def exact_ridge(
    K: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray,
    penalty: float,
    folds: np.ndarray | None = None,
) -> RidgeFit:
    """Return the solution of ``kernel_ridge`` for one penalty and a positive definite kernel.

    It takes a Cholesky factorisation instead of an eigendecomposition, which is much faster.
    """
    A = K.astype(np.float64) + 1.0
    A[np.diag_indices_from(A)] += penalty / weight
    factor, _ = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    lower, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    coef = _symmetric_product(lower, Y)
    if folds is None:
        residual = coef / lower.diagonal()[:, None]
    else:
        residual = np.empty_like(coef)
        for rows in _rows_of_folds(folds):
            own = np.tril(lower[np.ix_(rows, rows)])
            own += np.tril(own, -1).T
            residual[rows] = solve(own, coef[rows], assume_a="pos", check_finite=False)
    error = float(weight @ (residual**2).sum(axis=1))
    return RidgeFit(coef, Y - residual, float(penalty), error)


def _symmetric_product(lower: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Product with the symmetric matrix whose lower triangle is given."""
    return blas.dsymm(1.0, lower, Y, lower=1)


def _fold_residuals(
    coef: np.ndarray, inverse: np.ndarray, vectors: np.ndarray, folds: np.ndarray
) -> np.ndarray:
    """A_ff⁻¹ α_f for every fold f, where A = vectors · diag(inverse) · vectorsᵀ."""
    residual = np.empty_like(coef)
    for rows in _rows_of_folds(folds):
        A = (vectors[rows] * inverse) @ vectors[rows].T
        residual[rows] = solve(A, coef[rows], assume_a="pos", check_finite=False)
    return residual


def _choose_by_other_folds(
    left_out: Sequence[np.ndarray] | np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray,
    folds: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Predictions of each fold with the penalty that is best on the others, and their error.

    ``left_out`` are the predictions for each penalty. Groups may be few: then the error of the
    penalty that is best on all of them would be too optimistic.
    """
    losses = np.stack([weight * ((Y - left) ** 2).sum(axis=1) for left in left_out])
    chosen, error = np.empty_like(Y, dtype=np.float64), 0.0
    for rows in _rows_of_folds(folds):
        best = int(np.argmin(losses.sum(axis=1) - losses[:, rows].sum(axis=1)))
        chosen[rows] = left_out[best][rows]
        error += float(losses[best, rows].sum())
    return chosen, error


def _rows_of_folds(folds: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(folds, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(folds[order])) + 1)


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
        # Aᵀ is in LAPACK's order, and other targets than in A's precision would convert the factor
        factor = cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
        coef = cho_solve(factor, Y.astype(A.dtype, copy=False), check_finite=False)
        return coef.astype(Y.dtype, copy=False)
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
    folds: np.ndarray | None = None,
) -> RidgeFit:
    """Return the solution of min Σ_i s_i |y_i − z_iβ|² + λ|β|² of least left-out error.

    With G = (ZᵀSZ + λI)⁻¹ the prediction for row i by the other rows is
    y_i − (y_i − z_iβ) / (1 − s_i z_iGz_iᵀ). Folds are left out by fitting on the others.

    Parameters
    ----------
    blocks : callable
        Returns an iterator over the rows of Z (n x p) in order, block by block; called at most
        three times.
    Y : array of shape (n, n_targets)
        Targets.
    weight : array of shape (n,)
        Weights > 0.
    penalties : sequence of float
        Candidates for λ > 0.
    folds : int array of shape (n,), optional
        Fold of each row; by default every row is left out alone.
    """
    gram, moments, start = np.zeros(()), np.zeros(()), 0
    for Z in blocks():
        rows = slice(start, start + len(Z))
        weighted = Z * weight[rows, None]
        gram, moments = gram + Z.T @ weighted, moments + weighted.T @ Y[rows]
        start = rows.stop
    values, Q = symmetric_eigh(gram)
    values, target = np.maximum(values, 0.0), Q.T @ moments
    inverses = [1.0 / (values + penalty) for penalty in penalties]
    if folds is None:
        left_out = _leave_rows_out(blocks, Y, weight, Q, target, inverses)
    else:
        left_out = _leave_folds_out(blocks, Y, weight, folds, gram, moments, penalties)
    errors = [float(weight @ ((Y - left) ** 2).sum(axis=1)) for left in left_out]
    best = int(np.argmin(errors))
    coef = Q @ (inverses[best][:, None] * target)
    left, error = left_out[best], errors[best]
    if folds is not None:
        left, error = _choose_by_other_folds(left_out, Y, weight, folds)
    return RidgeFit(coef, left, float(penalties[best]), error)


def _leave_rows_out(
    blocks: Callable[[], Iterable[np.ndarray]],
    Y: np.ndarray,
    weight: np.ndarray,
    Q: np.ndarray,
    target: np.ndarray,
    inverses: Sequence[np.ndarray],
) -> np.ndarray:
    """Leave-one-out predictions (n_penalties x n x n_targets) from the eigenvectors of ZᵀSZ."""
    left_out = np.empty((len(inverses), *Y.shape))
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
    return left_out


def _leave_folds_out(
    blocks: Callable[[], Iterable[np.ndarray]],
    Y: np.ndarray,
    weight: np.ndarray,
    folds: np.ndarray,
    gram: np.ndarray,
    moments: np.ndarray,
    penalties: Sequence[float] | np.ndarray,
) -> np.ndarray:
    """Predictions (n_penalties x n x n_targets) for each fold by solutions on the other folds."""
    n_folds = int(folds.max()) + 1
    own_gram, own_moments = np.zeros((n_folds, *gram.shape)), np.zeros((n_folds, *moments.shape))
    for fold, rows, Z in _blocks_of_folds(blocks, folds):
        weighted = Z * weight[rows, None]
        own_gram[fold] += Z.T @ weighted
        own_moments[fold] += weighted.T @ Y[rows]
    coefs = np.empty((n_folds, len(penalties), *moments.shape))
    for fold in range(n_folds):
        for p, penalty in enumerate(penalties):
            A = gram - own_gram[fold]
            A[np.diag_indices_from(A)] += penalty
            coefs[fold, p] = solve(A, moments - own_moments[fold], assume_a="pos", overwrite_a=True)
    left_out = np.empty((len(penalties), *Y.shape))
    for fold, rows, Z in _blocks_of_folds(blocks, folds):
        left_out[:, rows] = Z @ coefs[fold]
    return left_out


def _blocks_of_folds(
    blocks: Callable[[], Iterable[np.ndarray]], folds: np.ndarray
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Fold, row numbers and rows: for each block, those of one fold after the other."""
    start = 0
    for Z in blocks():
        for rows in _rows_of_folds(folds[start : start + len(Z)]):
            yield int(folds[start + rows[0]]), start + rows, Z[rows]
        start += len(Z)
