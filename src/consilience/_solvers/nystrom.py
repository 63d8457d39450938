"""Kernel ridge regression on landmarks: as many rows as one likes, at a cost linear in them.

Problem: with K_nm the kernel between n rows and m landmarks and K_mm = UᵀU that between the
landmarks (U upper triangular),

    min over α of Σ_i s_i |y_i − k_i α|² + λ αᵀK_mm α,   f(x) = k(x, landmarks) α,

by conjugate gradients on  (U⁻ᵀ K_nmᵀ S K_nm U⁻¹ + λI) c = U⁻ᵀ K_nmᵀ S Y  with α = U⁻¹ c. The
landmarks are a sample of the rows, so with r = Σ_i s_i / m this is close to r U Uᵀ + λI, and as

    (r U Uᵀ + λI)⁻¹ = U (r K_mm + λI)⁻¹ U⁻¹,

it is preconditioned by the factors of K_mm and of r K_mm + λI; a few products with K_nm suffice
(Rudi, Carratino & Rosasco 2017, FALKON). K_nm and the factors are kept in single precision.

Rows are predicted by a solution without their fold, neither among the rows nor among the
landmarks: a landmark whose own row is left out gives the solution a degree of freedom that nothing
holds at this row, so its prediction would be worse than that of any new row. The solutions without
a fold and the one on all rows are columns of the same products with K_nm; each has its own factors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from consilience._core.threads import Map
from consilience._solvers.linalg import cholesky_in_place

__all__ = ["NystromFit", "nystrom_ridge"]

JITTER = 1e-6  # of the mean diagonal of K_mm, which single precision can resolve
MAX_ATTEMPTS = 6
BLOCK_ROWS = 256  # copied by a thread at once
TOLERANCE = 1e-3  # of the residuals, relative to the right-hand sides
MAX_STEPS = 50


@dataclass(frozen=True, eq=False)
class NystromFit:
    """Coefficients of the landmarks (m x K), and predictions of some rows when left out."""

    coef: np.ndarray
    left_out: np.ndarray
    n_steps: int


def nystrom_ridge(
    landmarks: np.ndarray,
    blocks: Callable[[], Sequence[np.ndarray]],
    Y: np.ndarray,
    weight: np.ndarray,
    penalty: float,
    landmark_folds: np.ndarray,
    tested: np.ndarray,
    folds: np.ndarray,
    tol: float = TOLERANCE,
    run: Map = map,
) -> NystromFit:
    """Return the solution on all rows, and predictions of some rows without their fold.

    Parameters
    ----------
    landmarks : array of shape (m, m)
        Kernel between the landmarks, with the constant for the intercept.
    blocks : callable
        Returns the rows of the kernel (n x m) between rows and landmarks, with the constant, in
        single precision and cut into blocks.
    Y : array of shape (n, n_targets)
        Targets.
    weight : array of shape (n,)
        Weights > 0.
    penalty : float
        λ; should not be much below 1e-3, where products in single precision are lost.
    landmark_folds : int array of shape (m,)
        Fold of each landmark, with which it is left out.
    tested : int array
        Rows to predict when left out; the fewer folds they are in, the less it takes.
    folds : int array of shape (n,)
        Fold of each row, with which it is left out.
    tol : float
        Residual, relative to the right-hand side, at which a solution is good enough.
    run : callable
        ``map``, or the same on threads.
    """
    numbers, number = np.unique(folds[tested], return_inverse=True)
    kept = [np.arange(len(landmarks)), *(np.flatnonzero(landmark_folds != f) for f in numbers)]
    weights = [weight, *(weight * (folds != f) for f in numbers)]

    solutions = []
    memory = np.empty(landmarks.shape)
    for rest, own in zip(kept, weights, strict=True):
        # all landmarks may be of one large group
        rest = rest if len(rest) else np.arange(len(landmarks))
        ratio = own.sum() / len(rest)
        solutions.append(Solution(landmarks, rest, ratio, penalty, memory, run))
    del memory  # before the rows need theirs
    rows = KernelRows(blocks(), np.stack(weights, axis=1), run)
    n_targets = Y.shape[1]

    def each(method: Callable[[Solution, np.ndarray], np.ndarray], B: np.ndarray) -> np.ndarray:
        """Call a method of each solution with its columns."""
        parts = np.split(B.astype(np.float32), len(solutions), axis=1)
        return np.hstack([method(*own) for own in zip(solutions, parts, strict=True)])

    def operator(C: np.ndarray) -> np.ndarray:
        """(U⁻ᵀ K_nmᵀ S K_nm U⁻¹ + λI) C, each column without its fold."""
        G = rows.adjoint(rows.times(each(Solution.coef, C)))
        return each(Solution.adjoint, G) + penalty * C

    right = each(Solution.adjoint, rows.adjoint(np.tile(Y, len(solutions)))).astype(np.float64)
    C, n_steps = conjugate_gradients(
        operator, right, tol, lambda B: each(Solution.precondition, B).astype(np.float64)
    )
    coef = each(Solution.coef, C)
    predictions = rows.times(coef).reshape(len(Y), len(solutions), n_targets)
    left_out = predictions[tested, 1 + number].astype(np.float64)
    return NystromFit(coef[:, :n_targets].astype(np.float64), left_out, n_steps)


class Solution:
    """A solution on the kept landmarks: factors of their kernel and of r K_mm + λI.

    All arrays of columns have a row for each landmark; those of landmarks left out are 0.
    """

    def __init__(
        self,
        landmarks: np.ndarray,
        kept: np.ndarray,
        ratio: float,
        penalty: float,
        memory: np.ndarray,
        run: Map,
    ) -> None:
        self.kept = kept
        K = landmarks if len(kept) == len(landmarks) else landmarks[np.ix_(kept, kept)]
        memory = memory[: len(K), : len(K)]
        jitter = JITTER * float(np.trace(K)) / len(K)
        self.U = _factorise(K, jitter, memory, run)
        self.R = _factorise(K, jitter + penalty / ratio, memory, run)
        self.R *= np.float32(np.sqrt(ratio))

    def coef(self, C: np.ndarray) -> np.ndarray:
        """U⁻¹ C."""
        return self._scatter(_solve(self.U, C[self.kept]), len(C))

    def adjoint(self, G: np.ndarray) -> np.ndarray:
        """U⁻ᵀ G."""
        return self._scatter(_solve(self.U, G[self.kept], trans=1), len(G))

    def precondition(self, B: np.ndarray) -> np.ndarray:
        """U (r K_mm + λI)⁻¹ U⁻¹ B."""
        inner = _solve(self.U, B[self.kept])
        inner = _solve(self.R, _solve(self.R, inner, trans=1))
        return self._scatter(self.U @ inner, len(B))

    def _scatter(self, part: np.ndarray, size: int) -> np.ndarray:
        out = np.zeros((size, part.shape[1]), dtype=np.float32)
        out[self.kept] = part
        return out


class KernelRows:
    """Products with the rows of K_nm, for several solutions with weights of their own (n x s).

    The solutions are columns side by side, each with as many columns as there are targets. Sums
    over the blocks are taken in their order, so they do not depend on ``run``.
    """

    def __init__(self, blocks: Sequence[np.ndarray], weight: np.ndarray, run: Map = map) -> None:
        self.blocks, self.weight, self.run = blocks, weight.astype(np.float32), run
        self.starts = np.cumsum([0, *(len(block) for block in blocks)])

    def times(self, C: np.ndarray) -> np.ndarray:
        """K_nm C (n x columns)."""
        return np.concatenate(list(self.run(lambda block: block @ C, self.blocks)))

    def adjoint(self, V: np.ndarray) -> np.ndarray:
        """K_nmᵀ S V (m x columns), where S is 0 for the rows that a solution leaves out."""
        n_targets = V.shape[1] // self.weight.shape[1]

        def part(b: int) -> np.ndarray:
            rows = slice(self.starts[b], self.starts[b + 1])
            return self.blocks[b].T @ (np.repeat(self.weight[rows], n_targets, axis=1) * V[rows])

        total = np.zeros((self.blocks[0].shape[1], V.shape[1]))
        for product in self.run(part, range(len(self.blocks))):
            total += product
        return total


def conjugate_gradients(
    operator: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    tol: float,
    precondition: Callable[[np.ndarray], np.ndarray] = np.copy,
) -> tuple[np.ndarray, int]:
    """Solve operator(B) = right for each column; return B and the number of steps.

    Residuals are measured in the norm of the preconditioner.
    """
    B, residual = np.zeros_like(right), right.copy()
    direction = precondition(residual)
    squares = np.einsum("ij,ij->j", residual, direction)
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
        preconditioned = precondition(residual)
        new_squares = np.einsum("ij,ij->j", residual, preconditioned)
        direction = preconditioned + new_squares / np.maximum(squares, 1e-300) * direction
        squares = new_squares
    return B, MAX_STEPS


def _factorise(A: np.ndarray, shift: float, memory: np.ndarray, run: Map = map) -> np.ndarray:
    """Upper Cholesky factor of A + shift · I, which is computed in double precision, in single.

    Rounding in single precision may make A slightly indefinite: then the shift grows.
    """
    n = len(A)
    blocks = [slice(start, min(start + BLOCK_ROWS, n)) for start in range(0, n, BLOCK_ROWS)]

    def copy(rows: slice) -> None:
        memory[rows] = A[rows]

    def take_triangle(rows: slice) -> None:
        factor[rows] = memory[rows]
        for i in range(rows.start, rows.stop):
            factor[i, i + 1 :] = 0.0

    for attempt in range(MAX_ATTEMPTS):
        list(run(copy, blocks))
        memory[np.diag_indices(n)] += 10.0**attempt * shift
        if cholesky_in_place(memory, run):
            factor = np.empty((n, n), dtype=np.float32)
            list(run(take_triangle, blocks))
            return factor.T
    raise np.linalg.LinAlgError(f"a kernel matrix of {len(A)} rows is not positive definite")


def _solve(triangle: np.ndarray, X: np.ndarray, trans: int = 0) -> np.ndarray:
    return solve_triangular(triangle, X, trans=trans, check_finite=False)
