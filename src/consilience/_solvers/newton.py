"""Semismooth Newton for coupled margins: the primal of SMVMED and of L2 support vector machines.

    min_θ  ½ Σ_v |w_v|² + Σ_t ω_t Φ(u_t),   u_tv = p_tv − y_t (w_v·x_tv + b_v)

with Φ from ``water_filling`` (parameters a, b) and θ = (w, b) as in ``blocks``. The objective is C¹
and piecewise quadratic: a Newton step uses the rows with λ > 0 only, a line search on the slope
along it makes the method global, and it ends with the exact solution once the active rows stay the
same. Steps come from a Cholesky factor, or from conjugate gradients where Σd is large.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from consilience._solvers.conjugate import conjugate_gradients
from consilience._solvers.water_filling import curvature, water_fill

__all__ = ["Solution", "homotopy", "minimise", "residual", "solve_posdef"]

# with more columns than this the Hessian is not formed
DIRECT_MAX_SIZE = 3000
# steps that may pass within rounding before the search ends
PATIENCE = 4
EPS = np.finfo(np.float64).eps


@dataclass
class Solution:
    """Parameters θ, multipliers λ (n x V), steps taken, and how well the conditions hold."""

    theta: np.ndarray
    lam: np.ndarray
    n_iter: int
    residual: float
    converged: bool


def minimise(blocks, y, weight, a, b, *, target=1.0, theta=None, tol=1e-8, max_iter=200):
    """Solve the problem above from ``theta``.

    Parameters
    ----------
    blocks : Blocks
        Views.
    y, weight : arrays of shape (n,)
        Labels ±1, weights ω > 0.
    a, b : float
        Coupling of the slacks.
    target : float or array of shape (n, V)
        Margins p to be reached.
    theta : array, optional
        Start; zeros if not given.
    tol : float
        Relative residual of the optimality conditions to reach.
    max_iter : int
        Most Newton steps.

    Returns
    -------
    Solution
    """
    theta = np.zeros(blocks.size) if theta is None else theta.copy()
    signs, stiffness, patience = y[:, None] * blocks.present, weight / a, PATIENCE
    F = blocks.matvec(theta)
    for step in range(max_iter + 1):
        U = target * blocks.present - signs * F
        lam = water_fill(U, a, b) * weight[:, None]
        g = gradient(blocks, theta, signs * lam)
        size, floor = residual(blocks, theta, g, lam, stiffness)
        patience -= size <= floor
        if size <= tol or step == max_iter or patience == 0:
            break
        p = direction(blocks, g, lam, weight, a, b, size)
        slope = -signs * blocks.matvec(p)
        if size < 1e-2:
            model = lam + change_of_lam(slope, lam, weight, a, b)
            ahead = full_step(blocks, theta + p, model, U + slope, signs, weight, a, b)
            if ahead is not None and ahead[1] <= tol:
                return Solution(theta + p, ahead[0], step + 1, ahead[1], True)
        t = line_search(U, slope, theta[: blocks.d], p[: blocks.d], weight, a, b)
        if t == 0:  # rounding: the slope cannot be made smaller
            break
        theta += t * p
        F = blocks.matvec(theta)
    # rounding excuses a small residual, not a large one: that has to be told
    fine = size <= max(tol, min(floor, 1e-6)) or relative_gap(blocks, theta, g, lam) <= tol
    return Solution(theta, lam, step, size, bool(fine))


def relative_gap(blocks, theta, g, lam):
    """Duality gap ½|g_w|² + |b·g_b| over the objective, which is Σλ/2 at the solution."""
    d = blocks.d
    gap = g[:d] @ g[:d] / 2 + np.abs(theta[d:] * g[d:]).sum()
    return gap / max(lam.sum() / 2, 1e-300)


def full_step(blocks, theta, lam, U, signs, weight, a, b):
    """λ after a full step by its linear model, and the residual; None where the model is wrong.

    λ is a margin's distance times ω/a, which may be large: rounding of the margins then spoils
    λ, but not this extrapolation, which holds while no sample enters or leaves.
    """
    lam, stiffness = np.maximum(lam, 0.0), weight / a
    seen = water_fill(U, a, b) * weight[:, None]
    if (np.abs(lam - seen) > 1e-11 * stiffness[:, None] + 1e-8 * seen).any():
        return None
    g = gradient(blocks, theta, signs * lam)
    return lam, residual(blocks, theta, g, lam, stiffness)[0]


def homotopy(blocks, y, weight, couple, c, *, theta=None, start=None, tol=1e-8, max_iter=200):
    """Minimise for c, approached from below: c/4, c/16, … as starts, the first on fewer rows.

    ``couple(c)`` gives (a, b). A ``theta`` given is taken as the solution for ``start``.
    """
    steps = 0
    if theta is None:
        norm = np.sqrt((weight @ blocks.square_norms().sum(axis=1)) / weight.sum())
        start = min(c, 4 / max(norm, 1e-300))
        few = 6 * int(blocks.widths.max())
        if blocks.n > 2 * few and blocks.size <= DIRECT_MAX_SIZE:
            rows = np.linspace(0, blocks.n - 1, few).astype(int)
            scaled = weight[rows] * (weight.sum() / weight[rows].sum())
            first = minimise(
                blocks.rows(rows), y[rows], scaled, *couple(start), tol=0.3, max_iter=max_iter
            )
            theta, steps = first.theta, first.n_iter
    while start < c / 4:
        stage = minimise(
            blocks, y, weight, *couple(start), theta=theta, tol=1e-3, max_iter=max_iter
        )
        theta, steps, start = stage.theta, steps + stage.n_iter, start * 4
    last = minimise(blocks, y, weight, *couple(c), theta=theta, tol=tol, max_iter=max_iter)
    last.n_iter += steps
    return last


def gradient(blocks, theta, signed_lam):
    """(w_v − X_vᵀ y λ_v …, −Σ y λ_v …)."""
    g = -blocks.rmatvec(signed_lam)
    g[: blocks.d] += theta[: blocks.d]
    return g


def residual(blocks, theta, g, lam, stiffness):
    """Largest relative gradient over the views, and the part of it that rounding explains.

    A view's w is measured by |w| + |w − g| + √Σλ (at the solution Σλ is twice the objective), its
    b by Σλ. ``stiffness`` (ω/a) times the rounding
    of a margin is the least error that λ can have.
    """
    worst, floor, scale = 0.0, 0.0, np.sqrt(lam.sum())
    for v, where in enumerate(blocks.slices):
        w, dw, db = theta[where], g[where], g[blocks.d + v]
        active = lam[:, v] > 0
        noise = 8 * EPS * np.sqrt((stiffness[active] ** 2).sum())
        scale_b = lam[:, v].sum()
        scale_w = np.linalg.norm(w) + np.linalg.norm(w - dw) + scale
        if scale_b > 0:
            worst = max(worst, abs(db) / scale_b)
            floor = max(floor, noise / scale_b)
        if scale_w > 0:
            worst = max(worst, np.linalg.norm(dw) / scale_w)
            floor = max(floor, noise * blocks.max_row_norm[v] / scale_w)
    return worst, floor


def direction(blocks, g, lam, weight, a, b, size):
    """Newton step −H⁻¹g; only active rows enter H."""
    active = lam > 0
    own, shared = curvature(lam, a, b)
    own, shared = own * weight, shared * weight

    def weights(u, v):
        return (own * (u == v) - shared) * (active[:, u] & active[:, v])

    if blocks.size > DIRECT_MAX_SIZE:
        rows = np.flatnonzero(active.any(axis=1))
        part = blocks.rows(rows), -g, active[rows], own[rows], shared[rows]
        return conjugate_step(*part, min(0.1, np.sqrt(size)))
    H = blocks.gram(weights)
    H[np.diag_indices(blocks.d)] += 1.0
    solve = solve_posdef(H)
    return -g if solve is None else solve(-g)


def change_of_lam(slope, lam, weight, a, b):
    """H-part of the samples times a change of u, n x V."""
    active = lam > 0
    own, shared = curvature(lam, a, b)
    moved = slope * active
    moved = own[:, None] * moved - active * (shared * moved.sum(axis=1))[:, None]
    return moved * weight[:, None]


def solve_posdef(H):
    """The function rhs -> H⁻¹ rhs from H's upper triangle, which is overwritten; None if it fails.

    A parameter without any curvature gets curvature 1, and rounding is made up for by a ridge.
    """
    diagonal = H.diagonal().copy()
    diagonal[~(diagonal > 0)] = 1.0
    scale = 1 / np.sqrt(diagonal)
    H *= scale[:, None]
    H *= scale
    for ridge in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
        H[np.diag_indices(len(H))] = 1.0 + ridge
        # columns of Hᵀ are rows of H: nothing has to be turned around
        factor, failed = dpotrf(H.T, lower=True, clean=False)
        if not failed:
            return lambda rhs: scale * dpotrs(factor, scale * rhs, lower=True)[0]
    return None


def conjugate_step(part, rhs, active, own, shared, eta):
    """Approximate H⁻¹ rhs to the relative residual ``eta``, preconditioned by the diagonal."""

    def times(p, _):
        Q = part.matvec(p[:, 0]) * active
        out = part.rmatvec(own[:, None] * Q - active * (shared * Q.sum(axis=1))[:, None])
        out[: part.d] += p[: part.d, 0]
        return out[:, None]

    diagonal = np.ones(part.size)
    R = (own - shared)[:, None] * active
    diagonal[part.d :] = R.sum(axis=0)
    for v, (X, where) in enumerate(zip(part.Xs, part.slices, strict=True)):
        squares = X.power(2) if hasattr(X, "power") else X * X
        diagonal[where] += squares.T @ R[:, v]
    diagonal[diagonal <= 0] = 1.0
    goal = eta * np.linalg.norm(rhs)
    if goal == 0:
        return np.zeros_like(rhs)

    def precondition(r, _):
        return r / diagonal[:, None]

    return conjugate_gradients(times, precondition, rhs[:, None], np.array([goal]))[:, 0]


def line_search(U, slope, w, p, weight, a, b, sharpness=0.1, max_iter=60):
    """Step t along p with |φ'(t)| ≤ sharpness · |φ'(0)|; 0 if p does not descend.

    φ' rises, since φ is convex, so a bracket of its zero can always be narrowed.
    """
    wp, pp = w @ p, p @ p

    def derivative(t):
        lam = water_fill(U + t * slope, a, b)
        return wp + t * pp + np.einsum("ij,ij,i->", lam, slope, weight)

    first = derivative(0.0)
    if not first < 0:
        return 0.0
    low, at_low, high, at_high, t = 0.0, first, None, None, 1.0
    for k in range(max_iter):
        here = derivative(t)
        if abs(here) <= sharpness * -first:
            break
        if here < 0:
            low, at_low = t, here
        else:
            high, at_high = t, here
        if high is None:
            t *= 2
            continue
        # the zero of the secant, or the middle where that moves too little
        t = (low * at_high - high * at_low) / (at_high - at_low)
        if k % 3 == 2 or not low < t < high:
            t = (low + high) / 2
    return t
