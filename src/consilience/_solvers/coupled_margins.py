"""Semismooth Newton for coupled margins in memory: SMVMED and L2 support vector machines.

    min_θ  ½ Σ_v |w_v|² + Σ_t ω_t Φ(u_t),   u_tv = p_tv − y_t (w_v·x_tv + b_v)

Given: labels y_t = ±1, weights ω_t > 0, margins p_tv to be reached, and the coupling a, b of the
slacks in Φ (``water_filling``); θ = (w, b) as in ``centred_views``. No constraints: Φ is what is
left of them. The objective is C¹ and piecewise quadratic; only rows with λ > 0 enter a Newton step.
Steps come from a Cholesky factor, or from conjugate gradients where Σd is large.

The loop is not that of ``newton``, which sees the data only through sums over all rows. In memory
the decisions along a step are known, so that an exact line search costs no pass over the data, and
the last step can be extrapolated, which reaches residuals below the rounding of the margins.

Reference: L. Mao, S. Sun, "Soft margin consistency based scalable multi-view maximum entropy
discrimination", IJCAI 2016 (the problem); S. Keerthi, D. DeCoste, "A modified finite Newton method
for fast solution of large scale linear SVMs", Journal of Machine Learning Research 6 (2005).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from consilience._solvers.centred_views import CentredViews
from consilience._solvers.linalg import cholesky_inverse
from consilience._solvers.newton import CGStep, relative_gradients, secant_search
from consilience._solvers.solution import Solution
from consilience._solvers.water_filling import Curvature, water_fill

__all__ = ["homotopy", "minimise"]

# with more columns than this the Hessian is not formed
DIRECT_MAX_SIZE = 3000
# residual below which rounding may count
ROUNDING_BELOW = 1e-2
# iterations within rounding before the search ends
PATIENCE = 4
# the first c of the homotopy, relative to the last
MIN_START = 1e-12
EPS = np.finfo(np.float64).eps


def minimise(
    views: CentredViews,
    y: np.ndarray,
    weight: np.ndarray,
    a: float,
    b: float,
    *,
    target: float | np.ndarray = 1.0,
    theta: np.ndarray | None = None,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> Solution:
    """Solve the problem above from ``theta``.

    Parameters
    ----------
    views : CentredViews
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
        Maximum number of Newton iterations.

    Returns
    -------
    Solution
    """
    theta = np.zeros(views.size) if theta is None else theta.copy()
    signs, stiffness, patience = y[:, None] * views.present, weight / a, PATIENCE
    target = target * views.present
    F = views.matvec(theta)
    for n_iter in range(max_iter + 1):
        U = target - signs * F
        lam = water_fill(U, a, b) * weight[:, None]
        g = gradient(views, theta, signs * lam)
        size = residual(views, theta, g, lam)
        if size <= tol or n_iter == max_iter:
            break
        curvature = Curvature(lam, a, b, weight)
        p = direction(views, theta, g, curvature, size)
        along = views.matvec(p)
        slope = -signs * along
        if size < ROUNDING_BELOW:
            model = lam + curvature.multiply(slope)
            ahead = full_step(views, theta + p, model, U + slope, signs, weight, a, b)
            if ahead is not None and ahead[1] <= tol:
                return Solution(theta + p, n_iter + 1, ahead[1], True, ahead[0])
            patience -= size <= rounding_floor(views, theta, g, lam, stiffness)
            if patience == 0:
                break
        t = line_search(U, slope, theta[: views.d], p[: views.d], g @ p, weight, a, b)
        if t == 0:  # rounding: the slope cannot be made smaller
            break
        theta += t * p
        F = F + t * along
    fine = size <= tol or relative_gap(views, theta, g, lam) <= tol
    if not fine:
        # rounding excuses a small residual, not a large one: that has to be reported
        fine = size <= min(rounding_floor(views, theta, g, lam, stiffness), 1e-6)
    return Solution(theta, n_iter, size, bool(fine), lam)


def relative_gap(views: CentredViews, theta: np.ndarray, g: np.ndarray, lam: np.ndarray) -> float:
    """Duality gap ½|g_w|² + |b·g_b| over the objective, which is Σλ/2 at the solution."""
    d = views.d
    gap = g[:d] @ g[:d] / 2 + np.abs(theta[d:] * g[d:]).sum()
    return gap / max(lam.sum() / 2, 1e-300)


def full_step(
    views: CentredViews,
    theta: np.ndarray,
    lam: np.ndarray,
    U: np.ndarray,
    signs: np.ndarray,
    weight: np.ndarray,
    a: float,
    b: float,
) -> tuple[np.ndarray, float] | None:
    """λ after a full step by its linear model, and the residual; None where the model is wrong.

    λ is a margin's distance times ω/a, which may be large: rounding of the margins then spoils
    λ, but not this extrapolation, which holds while no sample enters or leaves.
    """
    lam, stiffness = np.maximum(lam, 0.0), weight / a
    seen = water_fill(U, a, b) * weight[:, None]
    if (np.abs(lam - seen) > 1e-11 * stiffness[:, None] + 1e-8 * seen).any():
        return None
    g = gradient(views, theta, signs * lam)
    return lam, residual(views, theta, g, lam)


def homotopy(
    views: CentredViews,
    y: np.ndarray,
    weight: np.ndarray,
    couple: Callable[[float], tuple[float, float]],
    c: float,
    *,
    theta: np.ndarray | None = None,
    start: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> Solution:
    """Minimise for c, approached from below: c/4, c/16, … as starts, the first on fewer rows.

    ``couple(c)`` gives (a, b). A ``theta`` given is taken as the solution for ``start``.
    """
    n_iter = 0
    if theta is None or start is None:
        few = 6 * int(views.widths.max())
        if views.n > 2 * few and views.size <= DIRECT_MAX_SIZE:
            rows = np.linspace(0, views.n - 1, few).astype(int)
            part, scaled = views.rows(rows), weight[rows] * (weight.sum() / weight[rows].sum())
            start = first_c(part, scaled, c)
            first = minimise(part, y[rows], scaled, *couple(start), tol=0.3, max_iter=max_iter)
            theta, n_iter = first.theta, first.n_iter
        else:
            start = first_c(views, weight, c)
    while start < c / 4:
        stage = minimise(views, y, weight, *couple(start), theta=theta, tol=1e-3, max_iter=max_iter)
        theta, n_iter, start = stage.theta, n_iter + stage.n_iter, start * 4
    last = minimise(views, y, weight, *couple(c), theta=theta, tol=tol, max_iter=max_iter)
    last.n_iter += n_iter
    return last


def first_c(views: CentredViews, weight: np.ndarray, c: float) -> float:
    """The c to start from: 4 over the root mean square of the rows' lengths, at most ``c``."""
    norm = np.sqrt((weight @ views.square_norms.sum(axis=1)) / weight.sum())
    return max(min(c, 4 / max(norm, 1e-300)), MIN_START * c)


def gradient(views: CentredViews, theta: np.ndarray, signed_lam: np.ndarray) -> np.ndarray:
    """(w_v − X_vᵀ y λ_v …, −Σ y λ_v …)."""
    g = -views.rmatvec(signed_lam)
    g[: views.d] += theta[: views.d]
    return g


def residual(views: CentredViews, theta: np.ndarray, g: np.ndarray, lam: np.ndarray) -> float:
    """Largest relative gradient over the views, as ``newton.relative_gradients`` measures it."""
    mass = lam.sum(axis=0)[:, None]
    return float(relative_gradients(views.slices, theta[:, None], g[:, None], mass)[0])


def rounding_floor(
    views: CentredViews, theta: np.ndarray, g: np.ndarray, lam: np.ndarray, stiffness: np.ndarray
) -> float:
    """The part of the residual that rounding explains.

    ``stiffness`` (ω/a) times the rounding of a margin is the least error that λ can have.
    """
    floor, root = 0.0, np.sqrt(lam.sum())
    for v, where in enumerate(views.slices):
        active, mass = lam[:, v] > 0, lam[:, v].sum()
        noise = 8 * EPS * np.sqrt((stiffness[active] ** 2).sum())
        w, dw = theta[where], g[where]
        scale = np.linalg.norm(w) + np.linalg.norm(w - dw) + root
        if mass > 0:
            floor = max(floor, noise / mass, noise * views.max_row_norm[v] / scale)
    return floor


def direction(
    views: CentredViews, theta: np.ndarray, g: np.ndarray, curvature: Curvature, size: float
) -> np.ndarray:
    """Newton step −H⁻¹g; only active rows enter H."""
    if views.size > DIRECT_MAX_SIZE:
        rows = np.flatnonzero(curvature.active.any(axis=1))
        step = conjugate_step(views.rows(rows), curvature[rows])
        return step(theta[:, None], g[:, None], np.zeros(1, dtype=int), np.array([size]))[:, 0]
    H = views.gram(curvature.block)
    H[np.diag_indices(views.d)] += 1.0
    inverse = cholesky_inverse(H, scaled=False)
    return -g if inverse is None else inverse(-g)


def conjugate_step(views: CentredViews, curvature: Curvature) -> CGStep:
    """Steps by conjugate gradients, preconditioned by the diagonal of the Hessian."""
    diagonal = views.gram_diagonal(curvature.diagonal())
    diagonal[: views.d] += 1.0
    diagonal[diagonal <= 0] = 1.0

    def product(theta: np.ndarray, p: np.ndarray, which: np.ndarray) -> np.ndarray:
        out = views.rmatvec(curvature.multiply(views.matvec(p[:, 0])))
        out[: views.d] += p[: views.d, 0]
        return out[:, None]

    return CGStep(product, lambda theta, which: lambda r, left: r / diagonal[:, None])


def line_search(
    U: np.ndarray,
    slope: np.ndarray,
    w: np.ndarray,
    p: np.ndarray,
    first: float,
    weight: np.ndarray,
    a: float,
    b: float,
) -> float:
    """Step t along p with the derivative ``first`` at 0, or 0 if p does not descend."""
    wp, pp, weighted = w @ p, p @ p, slope * weight[:, None]

    def derivative(t: float) -> float:
        lam = water_fill(U + t * slope, a, b)
        return wp + t * pp + np.vdot(lam.T, weighted.T)  # columns are contiguous

    return secant_search(derivative, first)
