"""Kernel ridge regression on landmarks: as many rows as one likes, at a cost linear in them.

Problem: with K_nm the kernel between n rows and m landmarks and K_mm = TᵀT that between the
landmarks (T upper triangular),

    min over α of Σ_i s_i |y_i − k_i α|² + λ αᵀK_mm α,   f(x) = k(x, landmarks) α,

by conjugate gradients on  (K_nmᵀ S K_nm + λ K_mm) α = K_nmᵀ S Y  in the variables β = A T α, where
AᵀA = (Σ_i s_i / m) T Tᵀ + λI. The landmarks are a sample of the rows, so A turns the system into
one close to the identity, and a few products with K_nm suffice (Rudi, Carratino & Rosasco 2017,
FALKON). K_nm is kept in single precision; nothing but A and T is factorised.

Every row is predicted by a solution without its fold. The solutions without each fold and the one
on all rows are columns of the same products, so they cost little more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

__all__ = ["NystromFit", "nystrom_ridge"]

N_FOLDS = 4  # folds of rows that are left out together where none are given
JITTER = 1e-6  # of the mean diagonal of K_mm, which single precision can resolve
MAX_ATTEMPTS = 6
TOLERANCE = 1e-3  # of the residuals, relative to the right-hand sides
MAX_STEPS = 50

KernelBlocks = Callable[[], Iterable[np.ndarray]]


@dataclass(frozen=True, eq=False)
class NystromFit:
    """Coefficients of the landmarks (m x K), and predictions of some rows when left out."""

    coef: np.ndarray
    left_out: np.ndarray
    n_steps: int


def nystrom_ridge(
    landmarks: np.ndarray,
    blocks: KernelBlocks,
    Y: np.ndarray,
    weight: np.ndarray,
    penalty: float,
    tested: np.ndarray,
    folds: np.ndarray | None = None,
    tol: float = TOLERANCE,
) -> NystromFit:
    """Return the solution on all rows, and predictions of some rows without their fold.

    Parameters
    ----------
    landmarks : array of shape (m, m)
        Kernel between the landmarks, with the constant for the intercept.
    blocks : callable
        Returns an iterator over the rows of the kernel (n x m) between rows and landmarks, with
        the constant, block by block.
    Y : array of shape (n, n_targets)
        Targets.
    weight : array of shape (n,)
        Weights > 0.
    penalty : float
        λ; should not be much below 1e-3, where products in single precision are lost.
    tested : int array
        Rows to predict when left out.
    folds : int array of shape (n,), optional
        Fold of each row, with which it is left out; by default every fourth row.
    tol : float
        Residual, relative to the right-hand side, at which a solution is good enough.
    """
    folds = np.arange(len(Y)) % N_FOLDS if folds is None else folds
    m, n_targets = len(landmarks), Y.shape[1]
    T = _factorise(landmarks, JITTER * float(np.trace(landmarks)) / m)
    A = _factorise(T @ T.T, penalty * m / weight.sum())
    A *= np.sqrt(weight.sum() / m)
    # after the factorisations, which need memory of their own
    rows = KernelRows(list(blocks()), weight, folds, n_targets)

    def operator(B: np.ndarray) -> np.ndarray:
        """A⁻ᵀ (T⁻ᵀ K_nmᵀ S K_nm T⁻¹ + λI) A⁻¹ B, each column without its fold."""
        C = _solve(A, B)
        G = rows.adjoint(rows.times(_solve(T, C)))
        return _solve(A, _solve(T, G, trans=1) + penalty * C, trans=1)

    targets = np.tile(Y, rows.n_solutions)
    right = _solve(A, _solve(T, rows.adjoint(targets), trans=1), trans=1)
    B, n_steps = conjugate_gradients(operator, right, tol)
    coef = _solve(T, _solve(A, B))
    predictions = rows.times(coef).reshape(len(Y), rows.n_solutions, n_targets)
    return NystromFit(coef[:, :n_targets], predictions[tested, 1 + rows.number[tested]], n_steps)


class KernelRows:
    """Products with the rows of K_nm, for the solution on all rows and those without each fold.

    The solutions are columns side by side: all rows first, then the folds in ascending order.
    """

    def __init__(
        self, blocks: list[np.ndarray], weight: np.ndarray, folds: np.ndarray, n_targets: int
    ) -> None:
        self.blocks = blocks
        numbers, self.number = np.unique(folds, return_inverse=True)
        self.n_solutions = 1 + len(numbers)
        kept = self.number[:, None] != np.arange(len(numbers))
        used = weight[:, None] * np.column_stack([np.ones(len(weight)), kept])
        self.weight = np.repeat(used.astype(np.float32), n_targets, axis=1)

    def times(self, C: np.ndarray) -> np.ndarray:
        """K_nm C (n x columns)."""
        single = C.astype(np.float32)
        return np.concatenate([block @ single for block in self.blocks])

    def adjoint(self, V: np.ndarray) -> np.ndarray:
        """K_nmᵀ S V (m x columns), where S is 0 for the rows that a solution leaves out."""
        weighted = (self.weight * V).astype(np.float32, copy=False)
        total, start = np.zeros((self.blocks[0].shape[1], V.shape[1])), 0
        for block in self.blocks:
            total += block.T @ weighted[start : start + len(block)]
            start += len(block)
        return total


def conjugate_gradients(
    operator: Callable[[np.ndarray], np.ndarray], right: np.ndarray, tol: float
) -> tuple[np.ndarray, int]:
    """Solve operator(B) = right for each column; return B and the number of steps."""
    B, residual = np.zeros_like(right), right.copy()
    direction = residual.copy()
    squares = np.einsum("ij,ij->j", residual, residual)
    limit = tol**2 * squares
    for step in range(MAX_STEPS):
        if (squares <= limit).all():
            return B, step
        image = operator(direction)
        curvature = np.einsum("ij,ij->j", direction, image)
        # columns that are done (or zero) stay as they are
        active = (squares > limit) & (curvature > 0)
        length = np.where(active, squares / np.where(active, curvature, 1.0), 0.0)
        B += length * direction
        residual -= length * image
        new_squares = np.einsum("ij,ij->j", residual, residual)
        direction = residual + new_squares / np.maximum(squares, 1e-300) * direction
        squares = new_squares
    return B, MAX_STEPS


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
