"""Squared hinge machines over blocks of rows: primal Newton, all one-vs-rest problems at once.

    min_{θ_k}  ½|w_k|² + Σ_i ω_i max(0, 1 − y_ik f_ik)²,   f_ik = w_k·x_i + b_k,   k = 1 … P

The solver sees the data only as ``rows.sum(function, *state)``, the sum of ``function(block, …)``
over blocks of rows, and as a sample of rows that fits into memory. Every pass serves all P
problems; θ is a matrix (d + 1) x P whose last row holds the intercepts.

A step comes from the exact Hessian of all rows (direct), or from conjugate gradients
preconditioned by the Hessian of the sample, which needs few products whatever the costs are. Where
the sample is a part of the rows, it is solved first and gives the start. The objective is
piecewise quadratic: direct steps end with the exact solution.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg import cho_factor, cho_solve

__all__ = ["Block", "RowBlocks", "Solution", "minimise_squared_hinge"]

# entries of a block of rows
BLOCK = 1 << 21
# up to so many columns the Hessian of all rows costs less than the products that avoid it
DIRECT = 96
# rows of the sample: this many for each column, but no more than fit a system of the rows
SAMPLE, LEAST, MOST = 6, 1000, 3000
# how far rounding lets the relative gradient fall, at worst
FLOOR = 1e-7
# steps without progress after which rounding is to blame
PATIENCE = 3


@dataclass
class Block:
    """Rows x (n x d), labels ±1 (n x P), costs ω (n,) and the value of the intercept's column.

    ``memo`` keeps what the products of one step share; a block that is made anew just lacks it.
    """

    X: np.ndarray
    signs: np.ndarray
    cost: np.ndarray
    bias: float = 1.0
    memo: dict = field(default_factory=dict, repr=False, compare=False)


class RowBlocks:
    """Rows in memory, cut into blocks that do not depend on the number of threads.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    signs : array of shape (n, P)
        Labels ±1 of the P problems.
    cost : array of shape (n,)
        Costs ω > 0.
    intercept : bool
        Whether the machines have a (free) intercept.
    n_jobs : int or None
        Threads over the blocks.
    """

    def __init__(self, X, signs, cost, *, intercept=True, n_jobs=None):
        (self.n, self.d), self.P, self.n_jobs = X.shape, signs.shape[1], n_jobs
        self.whole = Block(X, signs, cost, float(intercept))
        size = max(1, BLOCK // max(1, self.d))
        cuts = [slice(start, start + size) for start in range(0, self.n, size)]
        self.blocks = [Block(X[cut], signs[cut], cost[cut], float(intercept)) for cut in cuts]

    def sum(self, function, *state):
        """Sum of the tuples of arrays ``function(block, *state)`` over the blocks, in order."""
        if len(self.blocks) == 1:
            return function(self.blocks[0], *state)
        run = Parallel(n_jobs=self.n_jobs, require="sharedmem", return_as="generator")
        parts = run(delayed(function)(block, *state) for block in self.blocks)
        total = next(parts)
        for part in parts:
            for mine, other in zip(total, part, strict=True):
                mine += other
        return total

    def sample(self, size, rng):
        """At most ``size`` rows as a block, with costs scaled to the same total."""
        if size >= self.n:
            return self.whole
        block, rows = self.whole, np.sort(rng.choice(self.n, size, replace=False))
        cost = block.cost[rows]
        cost = cost * (block.cost.sum() / cost.sum())
        return Block(block.X[rows], block.signs[rows], cost, block.bias)


@dataclass
class Solution:
    """θ ((d + 1) x P), steps taken, largest relative gradient, whether it reached the goal."""

    theta: np.ndarray
    n_iter: int
    residual: float
    converged: bool


# -- sums over blocks ------------------------------------------------------------------------


def decisions(block, X, theta):
    """f = Xw + b, n x P."""
    out = X @ theta[:-1]
    out += block.bias * theta[-1]
    return out


def pull(block, X, R):
    """The adjoint [Xᵀ R; 1ᵀ R]."""
    out = np.empty((X.shape[1] + 1, R.shape[1]))
    out[:-1] = X.T @ R
    out[-1] = block.bias * R.sum(axis=0)
    return out


def loss_and_gradient(block, theta, which):
    """Σ ω s², its gradient −2 Σ ω y s x and Σ 2 ω s, where s = max(0, 1 − y f)."""
    signs = block.signs[:, which]
    slack = decisions(block, block.X, theta)
    slack *= signs
    np.subtract(1.0, slack, out=slack)
    np.maximum(slack, 0.0, out=slack)
    costly = slack * (2.0 * block.cost[:, None])
    loss = np.einsum("ij,ij->j", costly, slack) / 2.0
    mass = costly.sum(axis=0)
    costly *= signs
    return loss, -pull(block, block.X, costly), mass


def curvature(block, theta, which):
    """2 ω [s > 0], n x P: the weight of every row in every Hessian."""
    active = decisions(block, block.X, theta[:, which]) * block.signs[:, which] < 1.0
    return active * (2.0 * block.cost[:, None])


def hessian_product(block, theta, step, directions, which):
    """Σ 2 ω [s > 0] x xᵀ d for the problems ``which``."""
    if block.memo.get("step") != step:
        weight = curvature(block, theta, slice(None))
        rows = np.flatnonzero(weight.any(axis=1))
        few = len(rows) < 0.7 * len(weight)  # else copying costs more than it saves
        part = (block.X[rows], weight[rows]) if few else (block.X, weight)
        block.memo.update(step=step, part=part)
    X, weight = block.memo["part"]
    moved = decisions(block, X, directions)
    moved *= weight[:, which]
    return (pull(block, X, moved),)


def scaled_rows(block, weight):
    """√weight [x, 1] for the rows of positive weight."""
    rows = np.flatnonzero(weight > 0)
    root = np.sqrt(weight[rows])
    A = np.empty((len(rows), block.X.shape[1] + 1))
    np.multiply(block.X[rows], root[:, None], out=A[:, :-1])
    A[:, -1] = block.bias * root
    return A


def gram(block, weight):
    """[X, 1]ᵀ diag(weight) [X, 1]."""
    A = scaled_rows(block, weight)
    return A.T @ A


def shared_hessian(block):
    """Σ 2 ω [x, 1][x, 1]ᵀ, the Hessian of every problem at θ = 0."""
    return (gram(block, 2.0 * block.cost),)


def changes(block, theta, previous, which):
    """For each problem, how many rows are active, and how many became so or ceased to be."""
    now, before = (curvature(block, t, which) > 0 for t in (theta, previous))
    return now.sum(axis=0), (now != before).sum(axis=0)


def hessians(block, theta, previous, which, fresh):
    """Σ 2 ω [s > 0] [x, 1][x, 1]ᵀ for the problems ``which``; its change where not ``fresh``."""
    now, before = (curvature(block, t, which) for t in (theta, previous))
    out = []
    for k, anew in enumerate(fresh):
        if anew:
            out.append(gram(block, now[:, k]))
            continue
        change = now[:, k] - before[:, k]
        out.append(gram(block, change))
        out[-1] -= gram(block, -change)
    return (np.stack(out),)


# -- inverses --------------------------------------------------------------------------------


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


def invert_by_rows(block, weight):
    """Nearly the same for few rows: I − Aᵀ(I + AAᵀ)⁻¹A with A = √weight [x, 1]."""
    A = scaled_rows(block, weight)
    if len(A) == 0:
        return np.copy
    small = A @ A.T
    small[np.diag_indices(len(small))] += 1.0
    factor = cho_factor(small, check_finite=False)
    return lambda rhs: rhs - A.T @ cho_solve(factor, A @ rhs, check_finite=False)


class Hessians:
    """The Hessians of all problems, followed from θ to θ by the rows that enter and leave."""

    def __init__(self, rows):
        self.rows, self.theta = rows, np.zeros((rows.d + 1, rows.P))
        (H,) = rows.sum(shared_hessian)
        self.H = np.repeat(H[None], rows.P, axis=0)

    def inverses(self, theta, which):
        """The functions rhs -> H⁻¹ rhs of the problems ``which`` at θ."""
        state = theta, self.theta, which
        active, changed = self.rows.sum(changes, *state)
        fresh = active < changed
        if changed.any():
            (H,) = self.rows.sum(hessians, *state, fresh)
            for j, k in enumerate(which):
                self.H[k] = H[j] if fresh[j] else self.H[k] + H[j]
        self.theta[:, which] = theta[:, which]
        return [invert(self.H[k].copy()) for k in which]


# -- Newton ----------------------------------------------------------------------------------


def apply(inverses, rhs):
    return np.stack([inverse(r) for inverse, r in zip(inverses, rhs.T, strict=True)], axis=1)


class Exact:
    """Steps −H⁻¹g by the Hessian of all rows."""

    def __init__(self, rows):
        self.hessians = Hessians(rows)

    def __call__(self, theta, g, which, step, size):
        """Directions of the problems ``which``."""
        return apply(self.hessians.inverses(theta, which), -g[:, which])


class Conjugate:
    """Steps by conjugate gradients, preconditioned by the Hessian of a sample of the rows."""

    def __init__(self, rows, precondition):
        self.rows, self.precondition = rows, precondition

    def __call__(self, theta, g, which, step, size):
        """Directions of the problems ``which``, each to a residual of min(0.1, √size)."""
        inverses = self.precondition(theta, which)
        x, r = np.zeros((len(theta), len(which))), -g[:, which]
        goal = np.minimum(0.1, np.sqrt(size[which])) * np.linalg.norm(r, axis=0)
        p = apply(inverses, r)
        rz = np.einsum("ij,ij->j", r, p)
        left = np.arange(len(which))
        for _ in range(10 * len(theta)):
            (Hp,) = self.rows.sum(hessian_product, theta, step, p[:, left], which[left])
            Hp[:-1] += p[:-1, left]
            along = rz[left] / np.einsum("ij,ij->j", p[:, left], Hp)
            x[:, left] += along * p[:, left]
            r[:, left] -= along * Hp
            left = left[np.linalg.norm(r[:, left], axis=0) > goal[left]]
            if len(left) == 0:
                break
            z = apply([inverses[j] for j in left], r[:, left])
            new = np.einsum("ij,ij->j", r[:, left], z)
            p[:, left] = z + (new / rz[left]) * p[:, left]
            rz[left] = new
        return x


def newton(rows, theta, directions, *, tol, max_iter):
    """Newton steps with halving until every relative gradient is below ``tol``."""
    P = theta.shape[1]
    every = np.arange(P)
    value, g, size = evaluate(rows, theta, every)
    best, patience = size.copy(), np.full(P, PATIENCE)
    for step in range(max_iter + 1):
        patience[size > 0.5 * best] -= 1
        patience[size <= 0.5 * best] = PATIENCE
        best = np.minimum(best, size)
        which = np.flatnonzero((size > tol) & ((patience > 0) | (size > FLOOR)))
        if len(which) == 0 or step == max_iter:
            break
        move = directions(theta, g, which, step, size)
        slope = np.einsum("ij,ij->j", g[:, which], move)
        t = 1.0
        for _ in range(40):
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
    worst = float(size.max())
    return Solution(theta, step, worst, bool(worst <= max(tol, FLOOR)))


def evaluate(rows, theta, which):
    """Objectives, gradients and relative sizes of the gradients of the problems ``which``.

    That of w is measured by |w| + |w − g|, equal at the solution; since the objective curves by 1
    at least, |g| bounds the distance of w from there. That of b is measured by Σ 2 ω s.
    """
    loss, g, mass = rows.sum(loss_and_gradient, theta, which)
    w, pulled = theta[:-1], np.linalg.norm(g[:-1], axis=0)
    value = np.einsum("ij,ij->j", w, w) / 2 + loss
    g[:-1] += w
    scale = np.linalg.norm(w, axis=0) + pulled
    tiny = np.finfo(np.float64).tiny
    size = np.linalg.norm(g[:-1], axis=0) / np.maximum(scale, tiny)
    return value, g, np.maximum(size, np.abs(g[-1]) / np.maximum(mass, tiny))


def minimise_squared_hinge(
    rows, *, method="auto", tol=1e-10, max_iter=100, random_state=None
):
    """Solve the problem above.

    Parameters
    ----------
    rows : RowBlocks, or any object with its n, d, P, sum and sample
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
    theta, wide = np.zeros((rows.d + 1, rows.P)), rows.d > MOST
    sample = rows.sample(MOST if wide else max(SAMPLE * rows.d, LEAST), random_state)
    settings = {"max_iter": max_iter, "tol": tol}
    whole = len(sample.X) == rows.n
    if method == "auto":
        method = "direct" if (whole and not wide) or rows.d <= DIRECT else "cg"
    if method == "direct" and whole:
        return newton(rows, theta, Exact(rows), **settings)
    if wide:
        precondition = partial(inverses_by_rows, sample)
        return newton(rows, theta, Conjugate(rows, precondition), **settings)
    small = RowBlocks(sample.X, sample.signs, sample.cost, intercept=bool(sample.bias))
    first = Exact(small)
    theta = newton(small, theta, first, max_iter=max_iter, tol=1e-3).theta
    steps = Exact(rows) if method == "direct" else Conjugate(rows, first.hessians.inverses)
    return newton(rows, theta, steps, **settings)


def inverses_by_rows(sample, theta, which):
    weight = curvature(sample, theta, which)
    return [invert_by_rows(sample, weight[:, j]) for j in range(len(which))]
