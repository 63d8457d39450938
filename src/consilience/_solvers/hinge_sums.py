"""Sums of hinge losses of many samples: a smooth approximation, then interior points on few rows.

    min_θ  ½ Σ_v |w_v|² + Σ_t ω_t Σ_k cost_k max_{j of k} (h_j − H_j·z_t)
    where  z_tv = y_t (w_v·x_tv + b_v)

Given: labels y_t = ±1, weights ω_t > 0, costs, and the pieces (H_j, h_j) of every term k, as the
constraints of ``interior_point`` hold them. At the solution most samples are far from all kinks:
there the loss is linear, whatever happens to the others. So

1. ``approximate`` finds where samples lie, by semismooth Newton on hinges with rounded kinks and
   proximal point steps in the multipliers;
2. samples near a kink form the working set; the others enter by the piece on which they lie;
3. interior points solve that problem exactly, from the approximate solution;
4. a sample that turns out to lie on another piece joins the working set, and 3 is repeated.

If that does not settle soon, interior points work on all rows; no accuracy is given up.

References: J. Farquhar et al., "Two view learning: SVM-2K, theory and practice", NIPS 2005 (the
problem); R. T. Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm
in convex programming", Mathematics of Operations Research 1 (1976).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience._solvers.centred_views import CentredViews
from consilience._solvers.interior_point import Constraints, Loss, Outside, Start, solve_margins
from consilience._solvers.linalg import cholesky_inverse
from consilience._solvers.newton import relative_gradients, secant_search
from consilience._solvers.solution import Solution, multipliers

__all__ = ["Hinges", "solve_hinges"]

# with fewer rows, or more columns for a row, interior points need no approximate solution
MIN_ROWS, MIN_ROWS_PER_COLUMN = 2000, 4
# widths of the rounded kinks: at least the first ones, more while too many samples lie in them
WIDTHS, MIN_WIDTHS = tuple(0.2**k for k in range(9)), 4
# relative residual to reach with each width, and the maximum number of steps
APPROXIMATE_TOL, MAX_STEPS = 0.01, 30
# products of multipliers and distances at the start of the interior points, in costs times widths
START_PRODUCT = 0.03
# a working set is at least this many times as large as θ; if it grows to more than this share of
# the rows, or this often, or takes more steps than this, all rows are taken
MIN_WORKING_FACTOR, MAX_WORKING_SHARE, MAX_ROUNDS, MAX_WORKING_STEPS = 2, 0.4, 5, 40


@dataclass(frozen=True)
class Hinges:
    """Terms cost_k max(0, target_k − G_k·z) of every sample, imposed where ``on`` (K x n) says so.

    They are the same loss as the ``constraints`` of interior points, with one slope for every kink.
    """

    G: np.ndarray
    target: np.ndarray
    cost: np.ndarray
    on: np.ndarray
    constraints: Constraints
    loss: Loss

    def rows(self, index: np.ndarray) -> Hinges:
        """The same for some samples."""
        part = Constraints(**{**vars(self.constraints), "on": self.constraints.on[index]})
        return Hinges(self.G, self.target, self.cost, self.on[:, index], part, self.loss)


def solve_hinges(
    views: CentredViews,
    y: np.ndarray,
    weight: np.ndarray,
    hinges: Hinges,
    *,
    tol: float = 1e-11,
    max_iter: int = 100,
) -> Solution:
    """Solve the problem above; ``tol`` and the result are those of ``solve_margins``."""
    n_iter = 0
    if views.n >= max(MIN_ROWS, MIN_ROWS_PER_COLUMN * views.size):
        pieces = Pieces(views, y, weight, hinges)
        theta, working, width, n_iter = approximate(pieces)
        for _ in range(MAX_ROUNDS):
            if working.mean() > MAX_WORKING_SHARE:
                break
            solution = pieces.solve(
                working,
                Start(theta, START_PRODUCT * width * float(hinges.loss.slope.mean())),
                tol,
                min(max_iter, MAX_WORKING_STEPS),
            )
            n_iter += solution.n_iter
            if not solution.converged:
                break
            wrong = pieces.misplaced(solution.theta) & ~working
            if not wrong.any():
                solution.n_iter = n_iter
                return solution
            theta, working = solution.theta, working | wrong
    loss, constraints = hinges.loss, hinges.constraints
    solution = solve_margins(views, y, weight, loss, constraints, tol=tol, max_iter=max_iter)
    solution.n_iter += n_iter
    return solution


class Pieces:
    """Which of their linear pieces (terms x n) all samples are on."""

    def __init__(
        self, views: CentredViews, y: np.ndarray, weight: np.ndarray, hinges: Hinges
    ) -> None:
        self.views, self.y, self.weight, self.hinges = views, y, weight, hinges
        self.slots = [
            np.flatnonzero(hinges.constraints.slot == k) for k in range(len(hinges.loss.slope))
        ]
        self.chosen = np.zeros((len(self.slots), views.n), dtype=np.intp)

    def values(self, theta: np.ndarray) -> np.ndarray:
        """h_j − H_j·z of all pieces, p x n; −∞ where one is not imposed."""
        constraints = self.hinges.constraints
        z = self.y * self.views.matvec(theta).T
        return np.where(constraints.on.T, constraints.h[:, None] - constraints.H @ z, -np.inf)

    def near_kinks(self, theta: np.ndarray, width: float) -> np.ndarray:
        """Choose the pieces by θ; the samples where two of them nearly tie in some term."""
        values, lead = self.values(theta), np.full(self.views.n, np.inf)
        for k, pieces in enumerate(self.slots):
            part = values[pieces]
            self.chosen[k] = pieces[part.argmax(axis=0)]
            part.sort(axis=0)
            np.minimum(lead, part[-1] - part[-2], out=lead)
        least = min(MIN_WORKING_FACTOR * self.views.size, self.views.n) - 1
        return lead <= max(width, np.partition(lead, least)[least])

    def misplaced(self, theta: np.ndarray) -> np.ndarray:
        """Samples that are not on the chosen pieces."""
        values, wrong = self.values(theta), np.zeros(self.views.n, dtype=bool)
        for pieces, chosen in zip(self.slots, self.chosen, strict=True):
            wrong |= np.take_along_axis(values, chosen[None], 0)[0] < values[pieces].max(axis=0)
        return wrong

    def outside(self, where: np.ndarray) -> tuple[Outside, np.ndarray]:
        """What the samples there contribute by their pieces, and their multipliers by view."""
        constraints, slope = self.hinges.constraints, self.hinges.loss.slope
        lam = np.zeros((self.views.n, self.views.V))
        constant = np.zeros(self.views.n)
        for k, chosen in enumerate(self.chosen):
            lam += slope[k] * constraints.H[chosen]
            constant += slope[k] * constraints.h[chosen]
        weight = np.where(where, self.weight, 0.0)
        lam *= weight[:, None]
        linear = -self.views.rmatvec(self.y[:, None] * lam)
        return Outside(linear, float(weight @ constant), float(np.abs(lam).sum())), lam

    def solve(self, working: np.ndarray, start: Start, tol: float, max_iter: int) -> Solution:
        """Interior points on the working set."""
        rows = np.flatnonzero(working)
        part = self.hinges.rows(rows)
        outside, lam = self.outside(~working)
        solution = solve_margins(
            self.views.rows(rows),
            self.y[rows],
            self.weight[rows],
            part.loss,
            part.constraints,
            start=start,
            outside=outside,
            tol=tol,
            max_iter=max_iter,
        )
        lam[rows] = multipliers(solution)
        solution.lam = lam
        return solution


def approximate(pieces: Pieces) -> tuple[np.ndarray, np.ndarray, float, int]:
    """θ near the solution, samples near kinks, how near, and the number of steps."""
    views, y, weight, hinges = pieces.views, pieces.y, pieces.weight, pieces.hinges
    theta, n_iter, few = np.zeros(views.size), 0, 6 * views.size
    if views.n > 2 * few:
        # the widest kinks first on few rows
        rows = np.linspace(0, views.n - 1, few).astype(int)
        scaled = weight[rows] * (weight.sum() / weight[rows].sum())
        part, lam = hinges.rows(rows), np.zeros((len(hinges.cost), few))
        rounded = Rounded(views.rows(rows), y[rows], scaled, part, lam, WIDTHS[0])
        theta, _, n_iter = rounded.minimise(theta)
    lam = np.zeros((len(hinges.cost), views.n))
    for number, width in enumerate(WIDTHS, start=1):
        theta, lam, steps = Rounded(views, y, weight, hinges, lam, width).minimise(theta)
        n_iter += steps
        if number >= MIN_WIDTHS:
            working = pieces.near_kinks(theta, width)
            if working.mean() <= MAX_WORKING_SHARE:
                break
    return theta, working, width, n_iter


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
            inverse = cholesky_inverse(self.hessian(lam))
            if inverse is None:
                break
            p = inverse(-g)
            dz = self.y * views.matvec(p).T
            t = self.search(theta[:d], p[:d], z, dz)
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

    def search(self, w: np.ndarray, p: np.ndarray, z: np.ndarray, dz: np.ndarray) -> float:
        wp, pp, along = w @ p, p @ p, self.weight * (self.hinges.G @ dz)

        def derivative(t: float) -> float:
            return wp + t * pp - np.vdot(self.multipliers(z + t * dz), along)

        return secant_search(derivative)
