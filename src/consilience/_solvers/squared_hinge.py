"""Squared hinge machines over blocks of rows: primal Newton, all one-vs-rest problems at once.

    min_{θ_k}  ½|w_k|² + Σ_i ω_i max(0, 1 − y_ik f_ik)²,   f_ik = w_k·x_i + b_k,   k = 1 … P

The solver sees the data only as ``rows.sum(function, *state)``, the sum of a function of
``row_sums`` over blocks of rows, and as a sample of rows that fits into memory.

A step comes from the exact Hessian of all rows (direct), or from conjugate gradients
preconditioned by the Hessian of the sample, which needs few products whatever the costs are. Where
the sample is a part of the rows, it is solved first and gives the start. The objective is
piecewise quadratic: direct steps end with the exact solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from consilience._solvers.conjugate import conjugate_gradients
from consilience._solvers.row_sums import (
    InMemoryRows,
    changes,
    curvature,
    hessian_product,
    hessians,
    loss_and_gradient,
    scaled_rows,
    shared_hessian,
)

__all__ = ["Solution", "minimise_squared_hinge"]

# up to so many columns the Hessian of all rows costs less than the products that avoid it
DIRECT_MAX_COLUMNS = 96
# a Hessian of d columns costs about as much as d / PASSES products with it
COLUMNS_PER_PASS = 10
# rows of the sample: this many for each column
SAMPLE_ROWS_PER_COLUMN, MIN_SAMPLE_ROWS = 6, 1000
# beyond so many columns no Hessian is formed, and the sample has so many rows
HESSIAN_MAX_COLUMNS, WIDE_SAMPLE_ROWS = 1000, 2000
# entries of the Hessians of problems that are solved together
MAX_HESSIAN_ENTRIES = 1 << 26
# how far rounding lets the relative gradient fall, at worst
ROUNDING_TOL = 1e-7
# steps without progress after which rounding is to blame
PATIENCE = 3
# of a step that does not descend
MAX_HALVINGS = 30


@dataclass
class Solution:
    """θ ((d + 1) x P), steps taken, largest relative gradient, whether it reached the goal."""

    theta: np.ndarray
    n_iter: int
    residual: float
    converged: bool


def invert(H):
    """The function rhs -> (diag(1, …, 1, 0) + H)⁻¹ rhs; H is overwritten.

    An intercept without curvature gets curvature 1, and rounding is made up for by a ridge.
    """
    H[np.diag_indices(len(H) - 1)] += 1.0
    if H[-1, -1] <= 0:
        H[-1, -1] = 1.0
    scale = 1 / np.sqrt(H.diagonal())
    H *= scale[:, None]
    H *= scale
    for ridge in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
        H[np.diag_indices(len(H))] = 1.0 + ridge
        try:
            factor = cho_factor(H, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return lambda rhs: scale * cho_solve(factor, scale * rhs, check_finite=False)
    raise np.linalg.LinAlgError("the Hessian is not positive definite; scale the columns")


def inverses_by_rows(block, theta, which):
    """Nearly the same by systems of the rows: I − Aᵀ(I + AAᵀ)⁻¹A, A = √(2ω [s > 0]) [x, 1]."""
    return [invert_by_rows(scaled_rows(block, w)) for w in curvature(block, theta, which).T]


def invert_by_rows(A):
    if len(A) == 0:
        return np.copy
    small = A @ A.T
    small[np.diag_indices(len(small))] += 1.0
    factor = cho_factor(small, check_finite=False)
    return lambda rhs: rhs - A.T @ cho_solve(factor, A @ rhs, check_finite=False)


class Hessians:
    """The Hessians of all problems, followed from θ to θ by the rows that enter and leave."""

    def __init__(self, rows):
        self.rows, self.H = rows, None
        self.theta = np.zeros((rows.d + 1, rows.P))

    def inverses(self, theta, which):
        """The functions rhs -> H⁻¹ rhs of the problems ``which`` at θ."""
        self._follow(theta, which)
        return [invert(self.H[k].copy()) for k in which]

    def _follow(self, theta, which):
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


def apply_inverses(inverses, rhs):
    return np.stack([inverse(r) for inverse, r in zip(inverses, rhs.T, strict=True)], axis=1)


class CholeskyStep:
    """Steps −H⁻¹g by the Hessians of all rows."""

    def __init__(self, rows):
        self.inverses = Hessians(rows).inverses

    def __call__(self, theta, g, which, size):
        """Directions of the problems ``which``."""
        return apply_inverses(self.inverses(theta, which), -g[:, which])


class CGStep:
    """Steps by conjugate gradients, preconditioned by the Hessian of a sample of the rows.

    After ``budget`` passes over the rows they go on as ``CholeskyStep``, whose cost is then no
    more than what was spent: nobody knows before how many passes a problem needs.
    """

    def __init__(self, rows, precondition, budget=np.inf):
        self.rows, self.precondition, self.budget = rows, precondition, budget
        self.exact = CholeskyStep(rows)

    def __call__(self, theta, g, which, size):
        """Directions of the problems ``which``, each to a residual of min(0.1, √size)."""
        if self.budget <= 0:
            return self.exact(theta, g, which, size)
        inverses = self.precondition(theta, which)
        goal = np.minimum(0.1, np.sqrt(size[which])) * np.linalg.norm(g[:, which], axis=0)

        def times(p, left):
            (Hp,) = self.rows.sum(hessian_product, theta, p, which[left])
            self.budget -= 1
            Hp[:-1] += p[:-1]
            return Hp

        def precondition(r, left):
            return apply_inverses([inverses[j] for j in left], r)

        return conjugate_gradients(times, precondition, -g[:, which], goal)


def evaluate(rows, theta, which):
    """Objectives, gradients and relative sizes of the gradients of the problems ``which``.

    That of w is measured by |w| + |w − g| + √Σλ with λ = 2 ω s: the first two are equal at the
    solution, and no more than the third. Since the objective curves by 1 at least, |g| bounds the
    distance of w from there. That of b is measured by Σλ.
    """
    loss, g, mass = rows.sum(loss_and_gradient, theta, which)
    w, pulled = theta[:-1], np.linalg.norm(g[:-1], axis=0)
    value = np.einsum("ij,ij->j", w, w) / 2 + loss
    g[:-1] += w
    scale = np.linalg.norm(w, axis=0) + pulled + np.sqrt(mass)
    tiny = np.finfo(np.float64).tiny
    size = np.linalg.norm(g[:-1], axis=0) / np.maximum(scale, tiny)
    return value, g, np.maximum(size, np.abs(g[-1]) / np.maximum(mass, tiny))


def newton(rows, theta, directions, *, tol, max_iter, evaluate=evaluate):
    """Newton steps with halving until every relative gradient is below ``tol``."""
    P = theta.shape[1]
    every = np.arange(P)
    value, g, size = evaluate(rows, theta, every)
    best, patience, stuck = size.copy(), np.full(P, PATIENCE), np.zeros(P, dtype=bool)
    for step in range(max_iter + 1):
        patience[size > 0.5 * best] -= 1
        patience[size <= 0.5 * best] = PATIENCE
        best = np.minimum(best, size)
        which = np.flatnonzero((size > tol) & ((patience > 0) | (size > ROUNDING_TOL)) & ~stuck)
        if len(which) == 0 or step == max_iter:
            break
        move = directions(theta, g, which, size)
        slope = np.einsum("ij,ij->j", g[:, which], move)
        t = 1.0
        for _ in range(MAX_HALVINGS):
            trial = theta[:, which] + t * move
            new = evaluate(rows, trial, which)
            allowed = value[which] + 1e-4 * t * slope + 1e-12 * np.abs(value[which])
            fine = new[0] <= allowed
            done = which[fine]
            theta[:, done], value[done] = trial[:, fine], new[0][fine]
            g[:, done], size[done] = new[1][:, fine], new[2][fine]
            which, move, slope = which[~fine], move[:, ~fine], slope[~fine]
            if len(which) == 0:
                break
            t /= 2
        stuck[which] = True  # rounding: no step is small enough to descend
    worst = float(size.max())
    return Solution(theta, step, worst, bool(worst <= max(tol, ROUNDING_TOL)))


def minimise_squared_hinge(rows, *, method="auto", tol=1e-10, max_iter=100, random_state=None):
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
        Most Newton steps.
    random_state : RandomState
        Draws the sample.

    Returns
    -------
    Solution
    """
    size = max(1, MAX_HESSIAN_ENTRIES // (rows.d + 1) ** 2)
    groups = [np.arange(rows.P)[k : k + size] for k in range(0, rows.P, size)]
    parts = [rows if len(groups) == 1 else rows.problems(group) for group in groups]
    solution = [_minimise(part, method, tol, max_iter, random_state) for part in parts]
    return Solution(
        np.hstack([part.theta for part in solution]),
        max(part.n_iter for part in solution),
        max(part.residual for part in solution),
        all(part.converged for part in solution),
    )


def _minimise(rows, method, tol, max_iter, random_state):
    theta, wide = np.zeros((rows.d + 1, rows.P)), rows.d > HESSIAN_MAX_COLUMNS
    settings = {"tol": tol, "max_iter": max_iter}
    sample = rows.sample(
        WIDE_SAMPLE_ROWS if wide else max(SAMPLE_ROWS_PER_COLUMN * rows.d, MIN_SAMPLE_ROWS),
        random_state,
    )
    whole = len(sample.X) == rows.n
    if wide and method != "direct":
        inverses = partial(inverses_by_rows, sample)
        return newton(rows, theta, CGStep(rows, inverses), **settings)
    small = InMemoryRows(sample.X, sample.signs, sample.cost, intercept=bool(sample.bias))
    first = CholeskyStep(small)
    if whole and method != "cg":
        return newton(small, theta, first, **settings)
    start = newton(small, theta, first, tol=1e-3, max_iter=max_iter)
    budget = {
        "auto": rows.d / COLUMNS_PER_PASS if rows.d > DIRECT_MAX_COLUMNS else 0,
        "cg": np.inf,
        "direct": 0,
    }[method]
    solution = newton(rows, start.theta, CGStep(rows, first.inverses, budget), **settings)
    solution.n_iter += start.n_iter
    return solution
