"""Sums of hinge losses of many samples: an approximate solution by rounding the kinks.

    min_θ  ½ Σ_v |w_v|² + Σ_t ω_t Σ_k cost_k max(0, target_k − G_k·z_t)
    where  z_tv = y_t (w_v·x_tv + b_v)

Given: labels y_t = ±1, weights ω_t > 0, costs, targets and directions of the terms. Kinks are
rounded over a width; the smooth problem is solved by semismooth Newton, and its multipliers are the
start of the next, narrower one: proximal point steps in the dual. Only samples within a width of a
kink enter a Newton step. ``working_set`` makes the result exact.

Reference: R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point
algorithm in convex programming", Mathematics of Operations Research 1 (1976).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from consilience._solvers.centred_views import CentredViews
from consilience._solvers.linalg import cholesky_inverse
from consilience._solvers.newton import relative_gradients, secant_search
from consilience._solvers.working_set import MAX_WORKING_SHARE, Approximation, Pieces

__all__ = ["Hinges", "approximate"]

# widths of the rounded kinks: at least the first ones, more while too many samples lie in them
WIDTHS, MIN_WIDTHS = tuple(0.2**k for k in range(9)), 4
# relative residual to reach with each width, and the maximum number of steps
APPROXIMATE_TOL, MAX_STEPS = 0.01, 30


@dataclass(frozen=True)
class Hinges:
    """G (K x V), target and cost (K,), and where the terms are imposed, ``on`` (K x n)."""

    G: np.ndarray
    target: np.ndarray
    cost: np.ndarray
    on: np.ndarray


def approximate(pieces: Pieces, hinges: Hinges) -> Approximation:
    """A solution for kinks so narrow that few samples lie in them; ``pieces`` is the same loss."""
    views, y, weight = pieces.views, pieces.y, pieces.weight
    theta, n_iter, few = np.zeros(views.size), 0, 6 * views.size
    if views.n > 2 * few:
        # the widest kinks first on few rows
        rows = np.linspace(0, views.n - 1, few).astype(int)
        scaled = weight[rows] * (weight.sum() / weight[rows].sum())
        part, lam = replace(hinges, on=hinges.on[:, rows]), np.zeros((len(hinges.cost), few))
        rounded = Rounded(views.rows(rows), y[rows], scaled, part, lam, WIDTHS[0])
        theta, _, n_iter = rounded.minimise(theta)
    lam = np.zeros((len(hinges.cost), views.n))
    for number, width in enumerate(WIDTHS, start=1):
        theta, lam, steps = Rounded(views, y, weight, hinges, lam, width).minimise(theta)
        n_iter += steps
        few_left = number >= MIN_WIDTHS and (
            pieces.near_kinks(theta, width).mean() <= MAX_WORKING_SHARE
        )
        if few_left:
            break
    return Approximation(theta, width, n_iter)


class Rounded:
    """Hinges with rounded kinks: multipliers are those before plus cost (target − G·z) / width,
    clipped to [0, cost]: a proximal point step in the dual."""

    def __init__(
        self,
        views: CentredViews,
        y: np.ndarray,
        weight: np.ndarray,
        hinges: Hinges,
        before: np.ndarray,
        width: float,
    ) -> None:
        self.views, self.y, self.weight, self.hinges = views, y, weight, hinges
        self.stiffness = hinges.cost / width
        self.before = before + (self.stiffness * hinges.target)[:, None]
        self.steep = self.stiffness[:, None] * hinges.G
        self.top = np.where(hinges.on, hinges.cost[:, None], 0.0)

    def multipliers(self, z: np.ndarray) -> np.ndarray:
        """λ of all terms, per unit of weight, for z (V x n)."""
        lam = self.before - self.steep @ z
        np.maximum(lam, 0.0, out=lam)
        return np.minimum(lam, self.top, out=lam)

    def pull(self, lam: np.ndarray) -> np.ndarray:
        """ω Gᵀλ, V x n."""
        return self.weight * (self.hinges.G.T @ lam)

    def minimise(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """θ from here, its multipliers and the number of Newton steps."""
        views, d = self.views, self.views.d
        z = self.y * views.matvec(theta).T
        for n_iter in range(MAX_STEPS + 1):
            lam = self.multipliers(z)
            pull = self.pull(lam)
            g = -views.rmatvec((self.y * pull).T)
            g[:d] += theta[:d]
            mass = np.abs(pull).sum(axis=1)[:, None]
            size = relative_gradients(views.slices, theta[:, None], g[:, None], mass)[0]
            if size <= APPROXIMATE_TOL or n_iter == MAX_STEPS:
                break
            inverse = cholesky_inverse(self.hessian(lam), scaled=False)
            if inverse is None:
                break
            p = inverse(-g)
            dz = self.y * views.matvec(p).T
            t = self.search(theta[:d], p[:d], float(g @ p), z, dz)
            if t == 0:
                break
            theta = theta + t * p
            z += t * dz
        return theta, lam, n_iter

    def hessian(self, lam: np.ndarray) -> np.ndarray:
        """Upper triangle of the generalised Hessian: terms strictly between 0 and their cost."""
        rising = ((lam > 0) & (lam < self.top)) * self.weight
        G = self.hinges.G
        H = self.views.gram(lambda u, v: (self.stiffness * G[:, u] * G[:, v]) @ rising)
        H[np.diag_indices(self.views.d)] += 1.0
        return H

    def search(
        self, w: np.ndarray, p: np.ndarray, first: float, z: np.ndarray, dz: np.ndarray
    ) -> float:
        """Step along p, by which z changes by dz."""
        wp, pp, along = w @ p, p @ p, self.weight * (self.hinges.G @ dz)

        def derivative(t: float) -> float:
            return wp + t * pp - np.vdot(self.multipliers(z + t * dz), along)

        return secant_search(derivative, first)
