"""Smooth convex minimisation over the simplex {x >= 0, Σx = 1}, for few variables.

``minimise_on_simplex`` takes Newton steps on the variables that are free to move and falls back to
a projected gradient step where the model misleads; it stops on the duality gap g·x − min g, which
bounds how far f(x) is above the minimum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["minimise_on_simplex", "project_on_simplex"]

Oracle = Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]]


def project_on_simplex(z: Any) -> np.ndarray:
    """The point of the simplex nearest to ``z``: max(z − θ, 0) with θ from the sorted entries."""
    z = np.asarray(z, dtype=np.float64)
    z = z - z.max()  # a shift changes nothing, but 1 could be lost beside large entries
    ordered = np.sort(z)[::-1]
    excess = np.cumsum(ordered) - 1
    last = np.flatnonzero(ordered * np.arange(1, len(z) + 1) > excess)[-1]
    return np.maximum(z - excess[last] / (last + 1), 0.0)


def minimise_on_simplex(
    oracle: Oracle, x: np.ndarray, tol: float = 1e-10, max_iter: int = 500
) -> tuple[np.ndarray, float]:
    """Minimise f over the simplex from ``x``.

    Parameters
    ----------
    oracle : callable
        ``oracle(x)`` -> f(x), its gradient, its Hessian (f convex, twice differentiable).
    x : array of shape (V,)
        Start, a point of the simplex.
    tol : float
        Duality gap to reach, relative to 1 + |f|.
    max_iter : int
        Maximum number of steps; the gap tells whether they sufficed.

    Returns
    -------
    x : ndarray of shape (V,)
        The minimiser.
    gap : float
        f(x) minus the minimum is at most this.
    """
    f, g, H = oracle(x)
    for _ in range(max_iter):
        if duality_gap(x, g) <= tol * (1 + abs(f)):
            break
        for direction in (newton_direction(x, g, H), gradient_direction(x, g, H)):
            moved = line_search(oracle, x, f, g, direction)
            if moved is not None:
                break
        else:
            break  # rounding: no direction improves f any more
        x, f, g, H = moved
    return x, duality_gap(x, g)


def duality_gap(x: np.ndarray, g: np.ndarray) -> float:
    """g·x − min g: f(x) is above the minimum by at most this."""
    return g @ x - g.min()


def newton_direction(x: np.ndarray, g: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Newton step with Σd = 0 on the variables that are positive or want to become so."""
    free = (x > 0) | (g < g @ x)
    d = np.zeros_like(x)
    while free.sum() > 1:
        index = np.flatnonzero(free)
        k = len(index)
        system = np.zeros((k + 1, k + 1))
        system[:k, :k] = H[np.ix_(index, index)]
        system[:k, :k] += 1e-12 * (1 + np.trace(system)) * np.eye(k)
        system[k, :k] = system[:k, k] = 1.0
        step = np.linalg.lstsq(system, np.append(-g[index], 0.0), rcond=None)[0][:k]
        blocked = (x[index] <= 0) & (step < 0)
        if not blocked.any():
            d[index] = step
            return d
        free[index[blocked]] = False
    return d


def gradient_direction(x: np.ndarray, g: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Projected gradient step of length 1 / largest curvature."""
    curvature = max(np.linalg.eigvalsh(H)[-1], 1e-12)
    return project_on_simplex(x - g / curvature) - x


def line_search(
    oracle: Oracle, x: np.ndarray, f: float, g: np.ndarray, d: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray] | None:
    """The first of the steps t, t/2, ... that lowers f enough; None if d does not descend."""
    slope, gap = g @ d, duality_gap(x, g)
    if not slope < 1e-14 * (1 + abs(f)):  # at the minimum rounding may hide the sign
        return None
    falling = d < 0
    t = min(1.0, (x[falling] / -d[falling]).min()) if falling.any() else 1.0
    for _ in range(60):
        moved = np.maximum(x + t * d, 0.0)
        moved[moved < 1e-15] = 0.0
        moved /= moved.sum()
        value, gradient, hessian = oracle(moved)
        lower = value <= f + 1e-4 * t * slope and value < f
        # near the minimum rounding hides the fall of f, but not that of the gap
        level = value <= f + 4 * np.finfo(float).eps * (1 + abs(f))
        if lower or (level and duality_gap(moved, gradient) < 0.9 * gap):
            return moved, value, gradient, hessian
        t /= 2
    return None
