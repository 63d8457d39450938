"""Kernel ridge regression on landmarks: as many rows as one likes, at a cost linear in them.

Problem: with K_nm the kernel between n rows and m landmarks and K_mm = UᵀU that between the
landmarks (U upper triangular),

    min over α of Σ_i s_i |y_i − k_i α|² + λ αᵀK_mm α,   f(x) = k(x, landmarks) α,

by conjugate gradients on  (K_nmᵀ S K_nm + λ K_mm) α = K_nmᵀ S Y  in the variables β = A U α, where
AᵀA = (Σ_i s_i / m) U Uᵀ + λI. The landmarks are a sample of the rows, so A turns the system into
one close to the identity, and a few products with K_nm suffice (Rudi, Carratino & Rosasco 2017,
FALKON). K_nm and the factors are kept in single precision.

Every row is predicted by a solution without its fold, neither among the rows nor among the
landmarks: a landmark whose own row is left out gives the solution a degree of freedom that nothing
holds at this row, so its prediction would be worse than that of any new row. The solutions without
each fold and the one on all rows are columns of the same products with K_nm; each has its own
factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.linalg.lapack import dlauum

__all__ = ["NystromFit", "nystrom_ridge"]

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
    landmark_folds: np.ndarray,
    tested: np.ndarray,
    folds: np.ndarray,
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
    landmark_folds : int array of shape (m,)
        Fold of each landmark, with which it is left out.
    tested : int array
        Rows to predict when left out.
    folds : int array of shape (n,)
        Fold of each row, with which it is left out.
    tol : float
        Residual, relative to the right-hand side, at which a solution is good enough.
    """
    numbers, number = np.unique(folds, return_inverse=True)
    solutions = [Solution(landmarks, np.arange(len(landmarks)), weight, penalty)]
    for fold in numbers:
        rest = np.flatnonzero(landmark_folds != fold)
        if len(rest) == 0:  # all landmarks are of one large group
            rest = np.arange(len(landmarks))
        solutions.append(Solution(landmarks, rest, weight * (folds != fold), penalty))
    # after the factorisations, which need memory of their own
    rows = KernelRows(list(blocks()), np.stack([solution.weight for solution in solutions], axis=1))
    n_targets = Y.shape[1]

    def each(function: Callable[[Solution, np.ndarray], np.ndarray], B: np.ndarray) -> np.ndarray:
        """A function of each solution and its columns, side by side."""
        parts = np.split(B.astype(np.float32), len(solutions), axis=1)
        return np.hstack([function(*pair) for pair in zip(solutions, parts, strict=True)])

    def operator(B: np.ndarray) -> np.ndarray:
        """A⁻ᵀ (U⁻ᵀ K_nmᵀ S K_nm U⁻¹ + λI) A⁻¹ B, each column without its fold."""
        G = rows.adjoint(rows.times(each(Solution.coef, B)))
        return each(Solution.adjoint_coef, G) + penalty * each(Solution.inverse_square, B)

    right = each(Solution.adjoint_coef, rows.adjoint(np.tile(Y, len(solutions))))
    B, n_steps = conjugate_gradients(operator, right.astype(np.float64), tol)
    coef = each(Solution.coef, B)
    predictions = rows.times(coef).reshape(len(Y), len(solutions), n_targets)
    left_out = predictions[tested, 1 + number[tested]].astype(np.float64)
    return NystromFit(coef[:, :n_targets].astype(np.float64), left_out, n_steps)


class Solution:
    """A solution on some of the landmarks: their numbers, the weights of the rows, U and A.

    Coefficients and variables have a row for each landmark; those of the others are 0.
    """

    def __init__(
        self, landmarks: np.ndarray, kept: np.ndarray, weight: np.ndarray, penalty: float
    ) -> None:
        self.kept, self.weight, self.n_landmarks = kept, weight, len(landmarks)
        K = landmarks[np.ix_(kept, kept)]
        ratio = weight.sum() / len(kept)
        U = _factorise(K, JITTER * float(np.trace(K)) / len(kept))
        A = _factorise(dlauum(U)[0], penalty / ratio)
        self.U, self.A = U.astype(np.float32), (np.sqrt(ratio) * A).astype(np.float32)

    def coef(self, B: np.ndarray) -> np.ndarray:
        """α = U⁻¹ A⁻¹ β."""
        return self._scatter(_solve(self.U, _solve(self.A, B[self.kept])))

    def adjoint_coef(self, G: np.ndarray) -> np.ndarray:
        """A⁻ᵀ U⁻ᵀ G."""
        inner = _solve(self.U, G[self.kept], trans=1)
        return self._scatter(_solve(self.A, inner, trans=1))

    def inverse_square(self, B: np.ndarray) -> np.ndarray:
        """A⁻ᵀ A⁻¹ B."""
        return self._scatter(_solve(self.A, _solve(self.A, B[self.kept]), trans=1))

    def _scatter(self, part: np.ndarray) -> np.ndarray:
        out = np.zeros((self.n_landmarks, part.shape[1]), dtype=np.float32)
        out[self.kept] = part
        return out


class KernelRows:
    """Products with the rows of K_nm, for several solutions with weights of their own (n x s).

    The solutions are columns side by side, each with as many columns as there are targets.
    """

    def __init__(self, blocks: list[np.ndarray], weight: np.ndarray) -> None:
        self.blocks, self.weight = blocks, weight.astype(np.float32)

    def times(self, C: np.ndarray) -> np.ndarray:
        """K_nm C (n x columns)."""
        return np.concatenate([block @ C for block in self.blocks])

    def adjoint(self, V: np.ndarray) -> np.ndarray:
        """K_nmᵀ S V (m x columns), where S is 0 for the rows that a solution leaves out."""
        n_targets = V.shape[1] // self.weight.shape[1]
        weighted = np.repeat(self.weight, n_targets, axis=1)
        weighted *= V
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
