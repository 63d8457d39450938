"""Kernel ridge regression on landmarks: as many rows as one likes, at a cost linear in them.

Problem: with K_nm the kernel between n rows and m landmarks and K_mm = TᵀT that between the
landmarks (T upper triangular), ridge regression on the features Z = K_nm T⁻¹,

    min over β of Σ_i s_i |y_i − z_i β|² + λ|β|²,   f(x) = k(x, landmarks) T⁻¹ β.

Features and their products are computed in single precision, block by block; what remains are two
Cholesky factorisations of m x m matrices in double precision. Some rows are left out, one at a time
by their leverages, or fold by fold by solving without the products of each fold. They should not be
landmarks, whose leverages are too close to 1 for single precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, blas, cho_solve, cholesky, solve_triangular

__all__ = ["NystromFit", "nystrom_ridge"]

JITTER = 1e-6  # of the mean diagonal of K_mm, which single precision can resolve
MAX_ATTEMPTS = 6
MAX_LEVERAGE = 1.0 - 1e-6

KernelBlocks = Callable[[], Iterable[np.ndarray]]


@dataclass(frozen=True, eq=False)
class NystromFit:
    """Coefficients of the landmarks (m x K), and predictions of some rows when left out."""

    coef: np.ndarray
    left_out: np.ndarray


def nystrom_ridge(
    landmarks: np.ndarray,
    blocks: KernelBlocks,
    Y: np.ndarray,
    weight: np.ndarray,
    penalty: float,
    tested: np.ndarray,
    folds: np.ndarray | None = None,
) -> NystromFit:
    """Return the solution on all rows, and predictions of some rows by the others.

    Parameters
    ----------
    landmarks : array of shape (m, m)
        Kernel between the landmarks, with the constant for the intercept.
    blocks : callable
        Returns an iterator over the rows of the kernel (n x m) between rows and landmarks, with
        the constant, block by block; called twice.
    Y : array of shape (n, n_targets)
        Targets.
    weight : array of shape (n,)
        Weights > 0.
    penalty : float
        λ; should not be much below 1e-3, where products in single precision are lost.
    tested : int array
        Rows to predict when left out, in ascending order.
    folds : int array of shape (n,), optional
        Fold of each row, with which it is left out; by default alone.
    """
    T = _factorise(landmarks, JITTER * float(np.trace(landmarks)) / len(landmarks))
    single = T.astype(np.float32)

    def features(K: np.ndarray) -> np.ndarray:
        return _solve(single, K.T.astype(np.float32), trans=1)

    n_folds = 1 if folds is None else int(folds.max()) + 1
    fold_of = np.zeros(len(Y), dtype=np.intp) if folds is None else folds
    grams = np.zeros((n_folds, *T.shape), dtype=np.float32)
    moments = np.zeros((n_folds, len(T), Y.shape[1]))
    kept, start = [], 0
    for K in blocks():
        rows = slice(start, start + len(K))
        Z = features(K) * np.sqrt(weight[rows]).astype(np.float32)
        kept.append(Z[:, tested[(tested >= start) & (tested < rows.stop)] - start])
        targets = np.sqrt(weight[rows])[:, None] * Y[rows]
        for fold in np.unique(fold_of[rows]):
            own = fold_of[rows] == fold
            part = Z if n_folds == 1 else Z[:, own]
            grams[fold] = blas.ssyrk(1.0, part, 1.0, grams[fold].T, overwrite_c=True).T
            moments[fold] += part @ targets[own]
        start = rows.stop
    gram, moment = _symmetric(grams.sum(axis=0)), moments.sum(axis=0)
    factor = _factorise(gram, penalty)
    beta = cho_solve((factor, False), moment, check_finite=False)
    Z, root, Y = np.hstack(kept), np.sqrt(weight[tested])[:, None], Y[tested]
    if folds is None:
        leverage = _leverages(factor.astype(np.float32), Z)[:, None]
        residual = (root * Y - Z.T @ beta) / (1.0 - np.minimum(leverage, MAX_LEVERAGE))
        left_out = Y - residual / root
    else:
        left_out = np.empty_like(Y, dtype=np.float64)
        for fold in range(n_folds):
            own = np.flatnonzero(folds[tested] == fold)
            rest = _factorise(gram - _symmetric(grams[fold]), penalty)
            other = cho_solve((rest, False), moment - moments[fold], check_finite=False)
            left_out[own] = (Z[:, own].T @ other) / root[own]
    return NystromFit(_solve(T, beta), left_out)


def _factorise(A: np.ndarray, shift: float) -> np.ndarray:
    """Upper Cholesky factor of A + shift · I, in double precision.

    Rounding in single precision may make A slightly indefinite: then the shift grows.
    """
    for attempt in range(MAX_ATTEMPTS):
        shifted = A.astype(np.float64)
        shifted[np.diag_indices_from(shifted)] += 10.0**attempt * shift
        try:
            return cholesky(shifted, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
    raise LinAlgError(f"a kernel matrix of {len(A)} rows is not positive definite")


def _solve(triangle: np.ndarray, X: np.ndarray, trans: int = 0) -> np.ndarray:
    return solve_triangular(triangle, X, trans=trans, check_finite=False)


def _symmetric(lower: np.ndarray) -> np.ndarray:
    """The matrix whose lower triangle is given, in double precision."""
    A = np.tril(lower).astype(np.float64)
    return A + np.tril(A, -1).T


def _leverages(factor: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """z_iᵀ A⁻¹ z_i for the columns of Z, where A = factorᵀ · factor."""
    half = _solve(factor, Z, trans=1)
    return np.einsum("ji,ji->i", half, half)
