"""Newton's method for P convex problems at once: the loop, its steps, and when to stop.

    min_{θ_k}  ½ Σ_v |w_v|² + Σ_t loss_tk(w_1·x_t1 + b_1, …),   θ_k = (w_1 … b_V),   k = 1 … P

Given: θ as a matrix with one column for each problem; ``evaluate(theta, which)``, the objectives,
gradients and relative gradients of the problems ``which``; a step, ``step(theta, g, which, size)``,
their descent directions. Each evaluation is one pass over the data, which may be anywhere. The
objectives are C¹ and piecewise quadratic: with exact steps the method ends with the exact solution
once the active rows stay the same.

Reference: S. Keerthi, D. DeCoste, "A modified finite Newton method for fast solution of large scale
linear SVMs", Journal of Machine Learning Research 6 (2005).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from consilience._solvers.linalg import Inverse, conjugate_gradients
from consilience._solvers.solution import Solution

__all__ = [
    "CGStep",
    "CholeskyStep",
    "apply_inverses",
    "minimise_by_newton",
    "relative_gradients",
    "secant_search",
]

Step = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]

# how far rounding lets the relative gradient fall, at worst
ROUNDING_TOL = 1e-7
# steps without progress after which rounding is to blame
PATIENCE = 3
# of a step that does not descend
MAX_HALVINGS = 30
TINY = np.finfo(np.float64).tiny


def relative_gradients(
    slices: Sequence[slice], theta: np.ndarray, g: np.ndarray, mass: np.ndarray
) -> np.ndarray:
    """Largest relative gradient over the views, of P problems.

    That of a view's w is measured by |w| + |w − g| + √Σλ: the first two are equal at the solution,
    where Σλ is twice the objective. Since the objective curves by 1 at least, |g| bounds the
    distance of w from there. That of b is measured by the view's Σλ.

    Parameters
    ----------
    slices : V slices
        Places of the views' w in θ; the intercepts come after them.
    theta, g : arrays of shape (m, P)
        Parameters and gradients.
    mass : array of shape (V, P)
        Σλ of the views.
    """
    d, root = slices[-1].stop, np.sqrt(mass.sum(axis=0))
    size = np.zeros(theta.shape[1])
    for v, where in enumerate(slices):
        w, dw, db = theta[where], g[where], g[d + v]
        scale = np.linalg.norm(w, axis=0) + np.linalg.norm(w - dw, axis=0) + root
        size = np.maximum(size, np.linalg.norm(dw, axis=0) / np.maximum(scale, TINY))
        size = np.maximum(size, np.abs(db) / np.maximum(mass[v], TINY))
    return size


def apply_inverses(inverses: Sequence[Inverse | None], rhs: np.ndarray) -> np.ndarray:
    """H_k⁻¹ rhs_k for every column; rhs_k itself where there is no inverse."""
    columns = zip(inverses, rhs.T, strict=True)
    return np.stack([r if inverse is None else inverse(r) for inverse, r in columns], axis=1)


class CholeskyStep:
    """Exact steps −H⁻¹g.

    Parameters
    ----------
    inverses : function
        ``inverses(theta, which)`` are the inverse Hessians of the problems ``which``; None in the
        place of one makes a gradient step.
    """

    def __init__(self, inverses: Callable[[np.ndarray, np.ndarray], Sequence[Inverse | None]]):
        self.inverses = inverses

    def __call__(
        self, theta: np.ndarray, g: np.ndarray, which: np.ndarray, size: np.ndarray
    ) -> np.ndarray:
        """Directions of the problems ``which``."""
        return apply_inverses(self.inverses(theta, which), -g[:, which])


class CGStep:
    """Approximate steps by preconditioned conjugate gradients.

    Parameters
    ----------
    product : function
        ``product(theta, p, which)`` are the Hessians of the problems ``which`` times the columns
        of p: one pass over the data.
    preconditioner : function
        ``preconditioner(theta, which)`` gives the function (r, left) -> approximate H⁻¹r for the
        problems ``which[left]``.
    max_products : float
        Number of passes after which ``fallback`` takes over: how many a problem needs is not known
        beforehand.
    fallback : step, optional
        Steps whose cost is then no more than what has been spent.
    """

    def __init__(
        self,
        product: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
        preconditioner: Callable[[np.ndarray, np.ndarray], Callable[..., np.ndarray]],
        max_products: float = np.inf,
        fallback: Step | None = None,
    ) -> None:
        self.product, self.preconditioner = product, preconditioner
        self.products_left, self.fallback = max_products, fallback

    def __call__(
        self, theta: np.ndarray, g: np.ndarray, which: np.ndarray, size: np.ndarray
    ) -> np.ndarray:
        """Directions of the problems ``which``, each to a residual of min(0.1, √size)."""
        if self.fallback is not None and self.products_left <= 0:
            return self.fallback(theta, g, which, size)

        def multiply(p: np.ndarray, left: np.ndarray) -> np.ndarray:
            self.products_left -= 1
            return self.product(theta, p, which[left])

        goal = np.minimum(0.1, np.sqrt(size[which])) * np.linalg.norm(g[:, which], axis=0)
        precondition = self.preconditioner(theta, which)
        return conjugate_gradients(multiply, precondition, -g[:, which], goal)


def minimise_by_newton(
    evaluate: Callable[[np.ndarray, np.ndarray], Any],
    theta: np.ndarray,
    step: Step,
    *,
    tol: float,
    max_iter: int,
) -> Solution:
    """Newton steps with halving until every relative gradient is below ``tol``.

    Parameters
    ----------
    evaluate : function
        ``evaluate(theta, which)`` -> objectives (P,), gradients (m x P), relative gradients (P,).
    theta : array of shape (m, P)
        Start; overwritten.
    step : function
        ``step(theta, g, which, size)`` -> directions of the problems ``which``.
    tol : float
        Relative gradient to reach.
    max_iter : int
        Maximum number of iterations.
    """
    P = theta.shape[1]
    value, g, size = evaluate(theta, np.arange(P))
    best, patience, stuck = size.copy(), np.full(P, PATIENCE), np.zeros(P, dtype=bool)
    for n_iter in range(max_iter + 1):
        patience[size > 0.5 * best] -= 1
        patience[size <= 0.5 * best] = PATIENCE
        best = np.minimum(best, size)
        which = np.flatnonzero((size > tol) & ((patience > 0) | (size > ROUNDING_TOL)) & ~stuck)
        if len(which) == 0 or n_iter == max_iter:
            break
        move = step(theta, g, which, size)
        slope = np.einsum("ij,ij->j", g[:, which], move)
        t = 1.0
        for _ in range(MAX_HALVINGS):
            trial = theta[:, which] + t * move
            new = evaluate(trial, which)
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
    return Solution(theta, n_iter, worst, bool(worst <= max(tol, ROUNDING_TOL)))


def secant_search(
    derivative: Callable[[float], float],
    first: float,
    sharpness: float = 0.1,
    max_iter: int = 60,
) -> float:
    """Step t along a direction with |φ'(t)| ≤ sharpness · |first|, first = φ'(0); else 0.

    φ' rises, since φ is convex, so a bracket of its zero can always be narrowed.
    """
    if not first < 0:
        return 0.0
    low, at_low, high, at_high, t = 0.0, first, np.inf, np.inf, 1.0
    for k in range(max_iter):
        here = derivative(t)
        if abs(here) <= sharpness * -first:
            break
        if here < 0:
            low, at_low = t, here
        else:
            high, at_high = t, here
        if high == np.inf:
            t *= 2
            continue
        # the zero of the secant, or the middle where that moves too little
        t = (low * at_high - high * at_low) / (at_high - at_low)
        if k % 3 == 2 or not low < t < high:
            t = (low + high) / 2
    return t
