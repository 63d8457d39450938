"""Newton for squared hinge machines over blocks of rows: all one-vs-rest problems at once.

    min_{θ_k}  ½|w_k|² + Σ_i ω_i max(0, 1 − y_ik f_ik)²,   f_ik = w_k·x_i + b_k,   k = 1 … P

Given: labels y_ik = ±1, costs ω_i > 0; no constraints. The data are seen only as
``rows.sum(function, *state)``, the sum of a function of ``row_sums`` over blocks of rows, and as a
sample of rows that fits into memory.

A step comes from the exact Hessian of all rows (direct), or from conjugate gradients
preconditioned by the Hessian of the sample, which needs few products whatever the costs are. Where
the sample is a part of the rows, it is solved first and gives the start. The objective is
piecewise quadratic: direct steps end with the exact solution.

Reference: as in ``newton``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from consilience._solvers.linalg import Inverse, cholesky_inverse, low_rank_inverse
from consilience._solvers.newton import (
    CGStep,
    CholeskyStep,
    apply_inverses,
    minimise_by_newton,
    relative_gradients,
)
from consilience._solvers.row_sums import (
    Block,
    InMemoryRows,
    changes,
    curvature,
    hessian_product,
    hessians,
    loss_and_gradient,
    scaled_rows,
    shared_hessian,
)
from consilience._solvers.solution import Solution, summarise

__all__ = ["minimise_squared_hinge"]

# up to so many columns the Hessian of all rows costs less than the products that avoid it
DIRECT_MAX_COLUMNS = 96
# a Hessian of d columns costs about as much as d / COLUMNS_PER_PASS products with it
COLUMNS_PER_PASS = 10
# rows of the sample
SAMPLE_ROWS_PER_COLUMN, MIN_SAMPLE_ROWS = 6, 1000
# with more columns no Hessian is formed, and the sample has this many rows
HESSIAN_MAX_COLUMNS, WIDE_SAMPLE_ROWS = 1000, 2000
# entries of the Hessians of problems that are solved together
MAX_HESSIAN_ENTRIES = 1 << 26

Inverses = Callable[[np.ndarray, np.ndarray], list[Inverse]]


def inverse_hessian(H: np.ndarray) -> Inverse:
    """(diag(1, …, 1, 0) + H)⁻¹; H is overwritten."""
    H[np.diag_indices(len(H) - 1)] += 1.0
    inverse = cholesky_inverse(H)
    if inverse is None:
        raise np.linalg.LinAlgError("the Hessian is not positive definite; scale the columns")
    return inverse


def inverses_by_rows(block: Block, theta: np.ndarray, which: np.ndarray) -> list[Inverse]:
    """Nearly the same from systems of the rows, (I + AᵀA)⁻¹ with A = √(2ω [s > 0]) [x, 1]."""
    return [low_rank_inverse(scaled_rows(block, w)) for w in curvature(block, theta, which).T]


class Hessians:
    """The Hessians of all problems, followed from θ to θ by the rows that enter and leave."""

    def __init__(self, rows: Any) -> None:
        self.rows: Any = rows
        self.H: Any = None
        self.theta = np.zeros((rows.d + 1, rows.P))

    def inverses(self, theta: np.ndarray, which: np.ndarray) -> list[Inverse]:
        """The inverse Hessians of the problems ``which`` at θ."""
        self._follow(theta, which)
        return [inverse_hessian(self.H[k].copy()) for k in which]

    def _follow(self, theta: np.ndarray, which: np.ndarray) -> None:
        if self.H is None and not theta.any():
            (H,) = self.rows.sum(shared_hessian)
            self.H = np.repeat(H[None], self.rows.P, axis=0)
            return
        if self.H is None:
            which, fresh = np.arange(self.rows.P), np.ones(self.rows.P, dtype=bool)
            self.H = np.empty((self.rows.P, *2 * (self.rows.d + 1,)))
        else:
            active, changed = self.rows.sum(changes, theta, self.theta, which)
            moved = changed > 0
            which, fresh = which[moved], (active < changed)[moved]
        if len(which):
            (H,) = self.rows.sum(hessians, theta, self.theta, which, fresh)
            for j, k in enumerate(which):
                self.H[k] = H[j] if fresh[j] else self.H[k] + H[j]
            self.theta[:, which] = theta[:, which]


def cg_step(rows: Any, inverses: Inverses, max_products: float = np.inf) -> CGStep:
    """Steps by conjugate gradients, preconditioned by approximate inverse Hessians."""

    def product(theta: np.ndarray, p: np.ndarray, which: np.ndarray) -> np.ndarray:
        (Hp,) = rows.sum(hessian_product, theta, p, which)
        Hp[:-1] += p[:-1]
        return Hp

    def preconditioner(theta: np.ndarray, which: np.ndarray) -> Callable[..., np.ndarray]:
        approximate = inverses(theta, which)
        return lambda r, left: apply_inverses([approximate[j] for j in left], r)

    return CGStep(product, preconditioner, max_products, CholeskyStep(Hessians(rows).inverses))


def evaluate(
    rows: Any, theta: np.ndarray, which: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Objectives, gradients and relative gradients of the problems ``which``; λ = 2 ω s."""
    loss, g, mass = rows.sum(loss_and_gradient, theta, which)
    w = theta[:-1]
    g[:-1] += w
    value = np.einsum("ij,ij->j", w, w) / 2 + loss
    return value, g, relative_gradients([slice(0, len(w))], theta, g, mass[None])


def minimise_squared_hinge(
    rows: Any,
    *,
    method: str = "auto",
    tol: float = 1e-10,
    max_iter: int = 100,
    random_state: np.random.RandomState | None = None,
) -> Solution:
    """Solve the problem above.

    Parameters
    ----------
    rows : InMemoryRows, or any object with its n, d, P, sum, sample and problems
        Data.
    method : {"auto", "direct", "cg"}
        Exact Hessians, or conjugate gradients; "auto" takes what costs less.
    tol : float
        Relative gradient to reach.
    max_iter : int
        Maximum number of Newton iterations.
    random_state : RandomState
        Draws the sample.

    Returns
    -------
    Solution
    """
    size = max(1, MAX_HESSIAN_ENTRIES // (rows.d + 1) ** 2)
    groups = [np.arange(rows.P)[k : k + size] for k in range(0, rows.P, size)]
    parts = [rows if len(groups) == 1 else rows.problems(group) for group in groups]
    solutions = [_minimise(part, method, tol, max_iter, random_state) for part in parts]
    return Solution(np.hstack([s.theta for s in solutions]), **summarise(solutions))


def _minimise(
    rows: Any,
    method: str,
    tol: float,
    max_iter: int,
    random_state: np.random.RandomState | None,
) -> Solution:
    theta, wide = np.zeros((rows.d + 1, rows.P)), rows.d > HESSIAN_MAX_COLUMNS
    sample = rows.sample(
        WIDE_SAMPLE_ROWS if wide else max(SAMPLE_ROWS_PER_COLUMN * rows.d, MIN_SAMPLE_ROWS),
        random_state,
    )

    def solve(rows: Any, start: np.ndarray, step: Any, tol: float = tol) -> Solution:
        return minimise_by_newton(partial(evaluate, rows), start, step, tol=tol, max_iter=max_iter)

    if wide and method != "direct":
        return solve(rows, theta, cg_step(rows, partial(inverses_by_rows, sample)))
    small = InMemoryRows(sample.X, sample.signs, sample.cost, intercept=bool(sample.bias))
    small_inverses = Hessians(small).inverses
    if len(sample.X) == rows.n and method != "cg":
        return solve(small, theta, CholeskyStep(small_inverses))
    start = solve(small, theta, CholeskyStep(small_inverses), tol=1e-3)
    max_products = {
        "auto": rows.d / COLUMNS_PER_PASS if rows.d > DIRECT_MAX_COLUMNS else 0,
        "cg": np.inf,
        "direct": 0,
    }[method]
    solution = solve(rows, start.theta, cg_step(rows, small_inverses, max_products))
    solution.n_iter += start.n_iter
    return solution
