"""Semismooth Newton for coupled margins over blocks of rows: P labellings at once.

    min_{θ_k}  ½ Σ_v |w_v|² + Σ_t ω_t Φ(u_t),   u_tv = 1 − y_tk (w_v·x_tv + b_v),   k = 1 … P

Given: labels y_tk = ±1, weights ω_t > 0, the coupling a, b of the slacks in Φ (``water_filling``).
The data are seen only as ``total(function, *state)``, the sum of a function below over the blocks.
Steps come from the Hessians of all rows, or from conjugate gradients where these would be large. θ
is a matrix with a column of ``centred_views``' θ for every problem.

Reference: as in ``coupled_margins``, the same problem in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from consilience._solvers.centred_views import CentredViews
from consilience._solvers.linalg import Inverse, cholesky_inverse
from consilience._solvers.newton import (
    CGStep,
    CholeskyStep,
    minimise_by_newton,
    relative_gradients,
)
from consilience._solvers.solution import Solution
from consilience._solvers.water_filling import Curvature, water_fill

__all__ = ["MarginBlock", "minimise_sums"]

# entries of the Hessians of all problems that a block returns
MAX_HESSIAN_ENTRIES = 1 << 23

Total = Callable[..., Any]


@dataclass
class MarginBlock:
    """Centred views of some rows, their labels ±1 (n x P) and weights ω.

    ``memo`` keeps what the products of one step share.
    """

    views: CentredViews
    signs: np.ndarray
    weight: np.ndarray
    memo: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)


# -- sums over the rows of a block ----------------------------------------------------------------


def slacks(block: MarginBlock, theta: np.ndarray, which: Any) -> tuple[np.ndarray, np.ndarray]:
    """u of the problems ``which`` (P x n x V), and y where the view is present."""
    signs = block.signs[:, which].T[:, :, None] * block.views.present
    return block.views.present - signs * block.views.matvec(theta), signs


def loss_and_gradient(
    block: MarginBlock, theta: np.ndarray, which: np.ndarray, a: float, b: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Σ ω Φ(u), its gradient −Σ y λ [x, 1] and Σ λ of every view, with λ = ω ∇Φ(u)."""
    U, signs = slacks(block, theta, which)
    lam = water_fill(U, a, b) * block.weight[:, None]
    # Φ is quadratic along u: twice its value is λ·u, where λ is not 0
    loss = np.einsum("kiv,kiv->k", lam, U) / 2
    return loss, -block.views.rmatvec(signs * lam), lam.sum(axis=1).T


def hessians(
    block: MarginBlock, theta: np.ndarray, which: np.ndarray, a: float, b: float
) -> tuple[np.ndarray]:
    """Upper triangles of Σ ω ∇²Φ on [x, 1], P x size x size."""
    U, _ = slacks(block, theta, which)
    curvature = Curvature(water_fill(U, a, b), a, b, block.weight)
    return (np.stack([block.views.gram(curvature[k].block) for k in range(len(which))]),)


def cached_curvature(block: MarginBlock, theta: np.ndarray, a: float, b: float) -> Curvature:
    """The curvature of all problems at θ."""
    if "theta" not in block.memo or not np.array_equal(block.memo["theta"], theta):
        U, _ = slacks(block, theta, slice(None))
        curvature = Curvature(water_fill(U, a, b), a, b, block.weight)
        block.memo.update(theta=theta.copy(), curvature=curvature)
    return block.memo["curvature"]


def hessian_product(
    block: MarginBlock,
    theta: np.ndarray,
    directions: np.ndarray,
    which: np.ndarray,
    a: float,
    b: float,
) -> tuple[np.ndarray]:
    """Σ ω ∇²Φ on [x, 1], times a direction for each of the problems ``which``."""
    curvature = cached_curvature(block, theta, a, b)[which]
    return (block.views.rmatvec(curvature.multiply(block.views.matvec(directions))),)


def hessian_diagonal(
    block: MarginBlock, theta: np.ndarray, which: np.ndarray, a: float, b: float
) -> tuple[np.ndarray]:
    """The diagonals of the same Hessians, size x P."""
    curvature = cached_curvature(block, theta, a, b)[which]
    return (block.views.gram_diagonal(curvature.diagonal()),)


# -- the solver -----------------------------------------------------------------------------------


def cholesky_step(total: Total, d: int, a: float, b: float) -> CholeskyStep:
    """Steps by the Hessians of all rows."""

    def inverses(theta: np.ndarray, which: np.ndarray) -> list[Inverse | None]:
        (H,) = total(hessians, theta[:, which], which, a, b)
        H[:, np.arange(d), np.arange(d)] += 1.0
        return [cholesky_inverse(h) for h in H]

    return CholeskyStep(inverses)


def cg_step(total: Total, d: int, a: float, b: float) -> CGStep:
    """Steps by conjugate gradients, preconditioned by the diagonals of the Hessians."""

    def product(theta: np.ndarray, p: np.ndarray, which: np.ndarray) -> np.ndarray:
        (Hp,) = total(hessian_product, theta, p, which, a, b)
        Hp[:d] += p[:d]
        return Hp

    def preconditioner(theta: np.ndarray, which: np.ndarray) -> Callable[..., np.ndarray]:
        (diagonal,) = total(hessian_diagonal, theta, which, a, b)
        diagonal[:d] += 1.0
        diagonal[diagonal <= 0] = 1.0
        return lambda r, left: r / diagonal[:, left]

    return CGStep(product, preconditioner)


def evaluate(
    slices: Sequence[slice],
    total: Total,
    theta: np.ndarray,
    which: np.ndarray,
    *,
    a: float,
    b: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Objectives, gradients and relative gradients of the problems ``which``."""
    loss, g, mass = total(loss_and_gradient, theta, which, a, b)
    w = theta[: slices[-1].stop]
    g[: len(w)] += w
    value = np.einsum("ij,ij->j", w, w) / 2 + loss
    return value, g, relative_gradients(slices, theta, g, mass)


def minimise_sums(
    total: Total,
    slices: Sequence[slice],
    theta: np.ndarray,
    a: float,
    b: float,
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> Solution:
    """Solve the problem above.

    Parameters
    ----------
    total : function
        ``total(function, *state)`` is the sum of ``function(block, *state)`` over all blocks.
    slices : list of V slices
        Columns of each view in θ.
    theta : array of shape (Σd + V, P)
        Start.
    a, b : float
        Coupling of the slacks.
    tol : float
        Relative residual of the optimality conditions to reach.
    max_iter : int
        Maximum number of Newton iterations.

    Returns
    -------
    Solution
    """
    size, P = theta.shape
    make_step = cholesky_step if P * size * size <= MAX_HESSIAN_ENTRIES else cg_step
    return minimise_by_newton(
        partial(evaluate, slices, total, a=a, b=b),
        theta.copy(),
        make_step(total, slices[-1].stop, a, b),
        tol=tol,
        max_iter=max_iter,
    )
