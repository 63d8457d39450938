"""Linear algebra of the solvers: inverses of positive definite matrices, conjugate gradients.

An inverse is a function rhs -> H⁻¹ rhs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs

from consilience._core.threads import Map

__all__ = [
    "Inverse",
    "cholesky_in_place",
    "cholesky_inverse",
    "conjugate_gradients",
    "low_rank_inverse",
]

Inverse = Callable[[np.ndarray], np.ndarray]

# added to the diagonal, scaled to 1, one after the other until the factorisation succeeds
RIDGES = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)

# matrices up to this order are factorised by LAPACK in about a second; larger ones in blocks
LAPACK_MAX_ORDER, BLOCK_ORDER = 4096, 384


def cholesky_inverse(H: np.ndarray, *, scaled: bool = True) -> Inverse | None:
    """The inverse of H from its upper triangle, which is overwritten; None if H is indefinite.

    A parameter without any curvature gets curvature 1; a ridge makes up for rounding. Both need
    H with a diagonal of 1; with ``scaled=False`` it is tried as it is before.
    """
    if not scaled:
        plain = lower_cholesky(H.T)
        if plain is not None:
            return lambda rhs: dpotrs(plain, rhs, lower=True)[0]
    diagonal = H.diagonal().copy()
    diagonal[~(diagonal > 0)] = 1.0
    scale = 1 / np.sqrt(diagonal)
    H *= scale[:, None]
    H *= scale
    for ridge in RIDGES:
        H[np.diag_indices(len(H))] = 1.0 + ridge
        # columns of Hᵀ are rows of H: nothing has to be transposed
        factor = lower_cholesky(H.T)
        if factor is not None:
            return lambda rhs: scale * dpotrs(factor, scale * rhs, lower=True)[0]
    return None


def lower_cholesky(A: np.ndarray) -> np.ndarray | None:
    """The Cholesky factor, in the lower triangle, of a matrix in Fortran order; None if indefinite.

    LAPACK cannot be interrupted, so a factorisation that takes seconds goes block by block.
    """
    n = len(A)
    if n <= LAPACK_MAX_ORDER:
        factor, failed = dpotrf(A, lower=True, clean=False)
        return None if failed else factor
    factor = A.copy(order="F")
    return factor if cholesky_in_place(factor) else None


def cholesky_in_place(A: np.ndarray, run: Map = map) -> bool:
    """Overwrite the lower triangle of A with its Cholesky factor; return False if A is indefinite.

    For large matrices: it goes block by block, on threads if ``run`` does, can be interrupted, and
    needs no second matrix, as fresh memory may cost as much as the factorisation.
    """
    n = len(A)
    blocks = [slice(start, min(start + BLOCK_ORDER, n)) for start in range(0, n, BLOCK_ORDER)]
    for k, own in enumerate(blocks):
        try:
            A[own, own] = np.linalg.cholesky(A[own, own])
        except np.linalg.LinAlgError:
            return False
        below = blocks[k + 1 :]
        inverse = solve_triangular(
            A[own, own], np.eye(own.stop - own.start), lower=True, check_finite=False
        )

        def divide(rows: slice, own: slice = own, inverse: np.ndarray = inverse) -> None:
            A[rows, own] = A[rows, own] @ inverse.T

        def subtract(pair: tuple[slice, slice], own: slice = own) -> None:
            rows, columns = pair
            A[rows, columns] -= A[rows, own] @ A[columns, own].T

        list(run(divide, below))
        list(
            run(subtract, [(rows, below[j]) for i, rows in enumerate(below) for j in range(i + 1)])
        )
    return True


def low_rank_inverse(A: np.ndarray) -> Inverse:
    """(I + AᵀA)⁻¹ = I − Aᵀ(I + AAᵀ)⁻¹A, for A with fewer rows than columns."""
    if len(A) == 0:
        return np.copy
    small = A @ A.T
    small[np.diag_indices(len(small))] += 1.0
    factor = lower_cholesky(small.T)
    if factor is None:
        raise np.linalg.LinAlgError("the Hessian is not positive definite; scale the columns")
    return lambda rhs: rhs - A.T @ dpotrs(factor, A @ rhs, lower=True)[0]


def conjugate_gradients(
    multiply: Callable[[np.ndarray, np.ndarray], np.ndarray],
    precondition: Callable[[np.ndarray, np.ndarray], np.ndarray],
    rhs: np.ndarray,
    goal: np.ndarray,
) -> np.ndarray:
    """Approximate solutions (m x P) of P positive definite systems, all of them in one pass.

    Parameters
    ----------
    multiply, precondition : functions
        ``multiply(p, which)`` are the products of the systems ``which`` with the columns of p,
        ``precondition(r, which)`` those with their approximate inverses.
    rhs : array of shape (m, P)
        Right-hand sides.
    goal : array of shape (P,)
        Norms of the residuals to reach.

    Returns
    -------
    array of shape (m, P)
    """
    left = np.arange(rhs.shape[1])
    x, r, p = np.zeros_like(rhs), rhs.copy(), precondition(rhs, left)
    rz = np.einsum("ij,ij->j", r, p)
    for _ in range(10 * len(rhs)):
        Hp = multiply(p[:, left], left)
        along = rz[left] / np.einsum("ij,ij->j", p[:, left], Hp)
        x[:, left] += along * p[:, left]
        r[:, left] -= along * Hp
        left = left[np.linalg.norm(r[:, left], axis=0) > goal[left]]
        if len(left) == 0:
            break
        z = precondition(r[:, left], left)
        new = np.einsum("ij,ij->j", r[:, left], z)
        p[:, left] = z + (new / rz[left]) * p[:, left]
        rz[left] = new
    return x
