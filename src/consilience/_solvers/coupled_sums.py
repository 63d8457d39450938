"""Coupled margins over blocks of rows: the problem of ``newton``, P labellings at once.

    min_{θ_k}  ½ Σ_v |w_v|² + Σ_t ω_t Φ(u_t),   u_tv = 1 − y_tk (w_v·x_tv + b_v),   k = 1 … P

The solver sees the data only as ``sum(function, *state)``, the sum of a function below over the
blocks. Steps come from the Hessians of all rows, or from conjugate gradients where these would be
large. θ is a matrix with a column of ``blocks``' θ for every problem.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import scipy.sparse as sp

from consilience._solvers.blocks import CentredViews
from consilience._solvers.conjugate import conjugate_gradients
from consilience._solvers.newton import solve_posdef
from consilience._solvers.squared_hinge import newton
from consilience._solvers.water_filling import curvature, water_fill

__all__ = ["MarginBlock", "minimise_sums"]

# entries of the Hessians of all problems that a block returns
MAX_HESSIAN_ENTRIES = 1 << 23
TINY = np.finfo(np.float64).tiny


@dataclass
class MarginBlock:
    """Centred views of some rows, their labels ±1 (n x P) and weights ω.

    ``memo`` keeps what the products of one step share.
    """

    views: CentredViews
    signs: np.ndarray
    weight: np.ndarray
    memo: dict = field(default_factory=dict, repr=False, compare=False)


def matvec(views, theta):
    """X_v w_v + b_v of all problems, P x n x V; rows where a view is missing mean nothing."""
    out = np.empty((theta.shape[1], views.n, views.V))
    for v, (X, where) in enumerate(zip(views.Xs, views.slices, strict=True)):
        shift = views.means[v] @ theta[where] if sp.issparse(X) else 0.0
        out[:, :, v] = (X @ theta[where] + (theta[views.d + v] - shift)).T
    return out


def rmatvec(views, R):
    """The adjoint of ``matvec`` for R (P x n x V), zero where a view is missing."""
    out = np.empty((views.size, len(R)))
    out[views.d :] = totals = R.sum(axis=1).T
    for v, (X, where) in enumerate(zip(views.Xs, views.slices, strict=True)):
        out[where] = X.T @ np.ascontiguousarray(R[:, :, v].T)
        if sp.issparse(X):
            out[where] -= np.outer(views.means[v], totals[v])
    return out


def slacks(block, theta, which):
    """u of the problems ``which`` (P x n x V), and y where the view is present."""
    signs = block.signs[:, which].T[:, :, None] * block.views.present
    return block.views.present - signs * matvec(block.views, theta), signs


def loss_and_gradient(block, theta, which, a, b):
    """Σ ω Φ(u), its gradient −Σ y λ [x, 1] and Σ λ of every view, with λ = ω ∇Φ(u)."""
    U, signs = slacks(block, theta, which)
    lam = np.stack([water_fill(u, a, b) for u in U]) * block.weight[:, None]
    # Φ is quadratic along u: twice its value is λ·u, where λ is not 0
    loss = np.einsum("kiv,kiv->k", lam, U) / 2
    return loss, -rmatvec(block.views, signs * lam), lam.sum(axis=1).T


def hessians(block, theta, which, a, b):
    """Upper triangles of Σ ω ∇²Φ on [x, 1], P x size x size."""
    U, _ = slacks(block, theta, which)
    return (np.stack([_hessian(block, water_fill(u, a, b), a, b) for u in U]),)


def _hessian(block, lam, a, b):
    active = lam > 0
    own, shared = (part * block.weight for part in curvature(lam, a, b))

    def weights(u, v):
        return (own * (u == v) - shared) * (active[:, u] & active[:, v])

    return block.views.gram(weights)


def cached_curvature(block, theta, a, b):
    """Active entries, own and shared curvature of all problems at θ."""
    if not np.array_equal(block.memo.get("theta"), theta):
        U, _ = slacks(block, theta, slice(None))
        lams = [water_fill(u, a, b) for u in U]
        parts = [(lam > 0, *curvature(lam, a, b)) for lam in lams]
        kept = [np.stack(column) for column in zip(*parts, strict=True)]
        block.memo.update(theta=theta.copy(), parts=kept)
    return block.memo["parts"]


def hessian_product(block, theta, directions, which, a, b):
    """Σ ω ∇²Φ on [x, 1], times a direction for each of the problems ``which``."""
    active, own, shared = (part[which] for part in cached_curvature(block, theta, a, b))
    Q = matvec(block.views, directions) * active
    Q = own[:, :, None] * Q - active * (shared * Q.sum(axis=2))[:, :, None]
    return (rmatvec(block.views, Q * block.weight[:, None]),)


def hessian_diagonal(block, theta, which, a, b):
    """The diagonal of the same Hessians, size x P."""
    active, own, shared = (part[which] for part in cached_curvature(block, theta, a, b))
    R = (own - shared)[:, :, None] * active * block.weight[:, None]
    out = np.empty((block.views.size, len(R)))
    out[block.views.d :] = totals = R.sum(axis=1).T
    for v, (X, where) in enumerate(zip(block.views.Xs, block.views.slices, strict=True)):
        weights = np.ascontiguousarray(R[:, :, v].T)
        if sp.issparse(X):
            mean = block.views.means[v][:, None]
            out[where] = X.power(2).T @ weights - 2 * mean * (X.T @ weights) + mean**2 * totals[v]
        else:
            out[where] = (X * X).T @ weights
    return (out,)


# -- the solver -----------------------------------------------------------------------------------


class CholeskyStep:
    """Steps −H⁻¹g by the Hessians of all rows."""

    def __init__(self, total, d, a, b):
        self.total, self.d, self.a, self.b = total, d, a, b

    def __call__(self, theta, g, which, size):
        """Directions of the problems ``which``."""
        (H,) = self.total(hessians, theta[:, which], which, self.a, self.b)
        out = -g[:, which]
        for k, h in enumerate(H):
            h[np.diag_indices(self.d)] += 1.0
            solve = solve_posdef(h)
            if solve is not None:
                out[:, k] = solve(out[:, k])
        return out


class CGStep:
    """Steps by conjugate gradients, preconditioned by the diagonal."""

    def __init__(self, total, d, a, b):
        self.total, self.d, self.a, self.b = total, d, a, b

    def __call__(self, theta, g, which, size):
        """Directions of the problems ``which``, each to a residual of min(0.1, √size)."""
        (diagonal,) = self.total(hessian_diagonal, theta, which, self.a, self.b)
        diagonal[: self.d] += 1.0
        diagonal[diagonal <= 0] = 1.0
        goal = np.minimum(0.1, np.sqrt(size[which])) * np.linalg.norm(g[:, which], axis=0)

        def times(p, left):
            (Hp,) = self.total(hessian_product, theta, p, which[left], self.a, self.b)
            Hp[: self.d] += p[: self.d]
            return Hp

        def precondition(r, left):
            return r / diagonal[:, left]

        return conjugate_gradients(times, precondition, -g[:, which], goal)


def evaluate(slices, total, theta, which, *, a, b):
    """Objectives, gradients and their relative sizes, as ``newton.residual`` measures them."""
    loss, g, mass = total(loss_and_gradient, theta, which, a, b)
    d = slices[-1].stop
    value = np.einsum("ij,ij->j", theta[:d], theta[:d]) / 2 + loss
    pulled = g[:d].copy()
    g[:d] += theta[:d]
    scale, size = np.sqrt(mass.sum(axis=0)), np.zeros(len(which))
    for v, where in enumerate(slices):
        norms = [np.linalg.norm(part[where], axis=0) for part in (theta, pulled, g)]
        size = np.maximum(size, norms[2] / np.maximum(norms[0] + norms[1] + scale, TINY))
        size = np.maximum(size, np.abs(g[d + v]) / np.maximum(mass[v], TINY))
    return value, g, size


def minimise_sums(total, slices, theta, a, b, *, tol=1e-8, max_iter=200):
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
        Most Newton steps.

    Returns
    -------
    squared_hinge.Solution
    """
    size, P = theta.shape
    steps = CholeskyStep if P * size * size <= MAX_HESSIAN_ENTRIES else CGStep
    return newton(
        total,
        theta.copy(),
        steps(total, slices[-1].stop, a, b),
        tol=tol,
        max_iter=max_iter,
        evaluate=partial(evaluate, slices, a=a, b=b),
    )
