"""Margins with kinks on many samples: interior points on the few that are near a kink.

    min_θ  ½ Σ_v |w_v|² + Σ_t ω_t Σ_k q_k(max_{j of k} (h_j − H_j·z_t))
    where  z_tv = y_t (w_v·x_tv + b_v)

Given: labels y_t = ±1, weights ω_t > 0, the terms q_k(ξ) = slope_k ξ + bend_k ξ²/2 and their pieces
(H_j, h_j), which are the loss and the constraints of ``interior_point``; a term without slope has 0
as one more piece. At the solution most samples are far from every kink: their loss is linear or
quadratic, whatever happens to the others. So

1. an approximate solution tells which samples are near a kink: the working set;
2. the others enter by the pieces on which they lie;
3. interior points solve that problem exactly, from the approximate solution;
4. samples that turn out to lie on other pieces join the working set, and 3 is repeated.

If that does not settle soon, interior points work on all rows; no accuracy is given up.

Reference: E. Osuna, R. Freund, F. Girosi, "An improved training algorithm for support vector
machines", Neural Networks for Signal Processing VII (1997) (working sets).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from consilience._solvers.centred_views import CentredViews
from consilience._solvers.interior_point import Constraints, Loss, Outside, Start, solve_margins
from consilience._solvers.solution import Solution, multipliers

__all__ = ["Approximation", "Pieces", "has_many_rows", "solve_near"]

# with fewer rows, or fewer for a column, interior points are as fast on all of them
MIN_ROWS, MIN_ROWS_PER_COLUMN = 2000, 4
# products of multipliers and distances at the start, in multipliers times widths
START_PRODUCT = 0.03
# a working set is at least this many times as large as θ; if it grows to more than this share of
# the rows, or this often, or takes more steps than this, all rows are taken
MIN_WORKING_FACTOR, MAX_WORKING_SHARE, MAX_ROUNDS, MAX_WORKING_STEPS = 2, 0.4, 5, 40


@dataclass(frozen=True)
class Approximation:
    """θ near the solution, how near to a kink samples have to be to count, and the steps so far."""

    theta: np.ndarray
    width: float
    n_iter: int


def has_many_rows(views: CentredViews) -> bool:
    """Whether an approximate solution is worth its time."""
    return views.n >= max(MIN_ROWS, MIN_ROWS_PER_COLUMN * views.size)


def solve_near(
    pieces: Pieces, approximation: Approximation, *, tol: float, max_iter: int
) -> Solution:
    """Solve the problem above; ``tol`` and the result are those of ``solve_margins``."""
    theta, n_iter = approximation.theta, approximation.n_iter
    working = pieces.near_kinks(theta, approximation.width)
    product = START_PRODUCT * approximation.width * pieces.mean_multiplier(theta)
    for _ in range(MAX_ROUNDS):
        if working.mean() > MAX_WORKING_SHARE:
            break
        solution = pieces.solve(
            working, Start(theta, product), tol, min(max_iter, MAX_WORKING_STEPS)
        )
        n_iter += solution.n_iter
        if not solution.converged:
            break
        wrong = pieces.misplaced(solution.theta) & ~working
        if not wrong.any():
            solution.n_iter = n_iter
            return solution
        theta, working = solution.theta, working | wrong
    views, y, weight, loss = pieces.views, pieces.y, pieces.weight, pieces.loss
    solution = solve_margins(views, y, weight, loss, pieces.constraints, tol=tol, max_iter=max_iter)
    solution.n_iter += n_iter
    return solution


class Pieces:
    """Which of their pieces (terms x n) all samples are on.

    Parameters
    ----------
    views : CentredViews
        Views.
    y, weight : arrays of shape (n,)
        Labels ±1, weights ω > 0.
    loss : Loss
        slope, bend.
    constraints : Constraints
        slot, H, h, on; ``final`` is 0.
    """

    def __init__(
        self,
        views: CentredViews,
        y: np.ndarray,
        weight: np.ndarray,
        loss: Loss,
        constraints: Constraints,
    ) -> None:
        self.views, self.y, self.weight = views, y, weight
        self.loss, self.constraints = loss, constraints
        # the last piece is the 0 of terms without slope
        self.H = np.vstack([constraints.H, np.zeros(views.V)])
        self.h = np.append(constraints.h, 0.0)
        zero = len(constraints.h)
        self.terms = [
            np.append(np.flatnonzero(constraints.slot == k), [zero] * int(slope == 0)).astype(int)
            for k, slope in enumerate(loss.slope)
        ]
        self.chosen = np.zeros((len(self.terms), views.n), dtype=np.intp)

    def values(self, theta: np.ndarray) -> np.ndarray:
        """h_j − H_j·z of all pieces, (p + 1) x n; −∞ where one is not imposed."""
        out = self.h[:, None] - self.H @ (self.y * self.views.matvec(theta).T)
        out[:-1][~self.constraints.on.T] = -np.inf
        return out

    def near_kinks(self, theta: np.ndarray, width: float) -> np.ndarray:
        """Choose the pieces by θ; True for samples where two of them nearly tie in some term."""
        values, lead = self.values(theta), np.full(self.views.n, np.inf)
        for k, pieces in enumerate(self.terms):
            part = values[pieces]
            self.chosen[k] = pieces[part.argmax(axis=0)]
            part.sort(axis=0)
            np.minimum(lead, part[-1] - part[-2], out=lead)
        least = min(MIN_WORKING_FACTOR * self.views.size, self.views.n) - 1
        return lead <= max(width, np.partition(lead, least)[least])

    def misplaced(self, theta: np.ndarray) -> np.ndarray:
        """Samples that are not on the chosen pieces."""
        values, wrong = self.values(theta), np.zeros(self.views.n, dtype=bool)
        for pieces, chosen in zip(self.terms, self.chosen, strict=True):
            wrong |= np.take_along_axis(values, chosen[None], 0)[0] < values[pieces].max(axis=0)
        return wrong

    def mean_multiplier(self, theta: np.ndarray) -> float:
        """The mean derivative of the terms, of samples and terms that have any."""
        values = self.values(theta)
        tops = np.stack([values[pieces].max(axis=0) for pieces in self.terms])
        slopes = self.loss.slope[:, None] + self.loss.bend[:, None] * tops
        return float(slopes.sum() / max(np.count_nonzero(slopes), 1))

    def outside(self, where: np.ndarray, theta: np.ndarray) -> Outside:
        """What the samples there contribute by their pieces."""
        views, weight = self.views, np.where(where, self.weight, 0.0)
        linear, constant, hessian = np.zeros((views.n, views.V)), np.zeros(views.n), None
        for slope, bend, chosen in zip(self.loss.slope, self.loss.bend, self.chosen, strict=True):
            H, h = self.H[chosen], self.h[chosen]
            constant += slope * h + bend * h**2 / 2
            linear += (slope + bend * h)[:, None] * H
            if bend > 0:
                curved = second_derivative(views, bend * weight, H)
                hessian = curved if hessian is None else hessian + curved
        return Outside(
            -views.rmatvec(self.y[:, None] * weight[:, None] * linear),
            float(weight @ constant),
            float(np.abs(self.multipliers(theta)[where]).sum()),
            hessian,
        )

    def multipliers(self, theta: np.ndarray) -> np.ndarray:
        """ω Hᵀλ (n x V) of the chosen pieces."""
        values, out = self.values(theta), np.zeros((self.views.n, self.views.V))
        for slope, bend, chosen in zip(self.loss.slope, self.loss.bend, self.chosen, strict=True):
            lam = slope + bend * np.take_along_axis(values, chosen[None], 0)[0]
            out += (self.weight * lam)[:, None] * self.H[chosen]
        return out

    def solve(self, working: np.ndarray, start: Start, tol: float, max_iter: int) -> Solution:
        """Interior points on the working set."""
        rows = np.flatnonzero(working)
        solution = solve_margins(
            self.views.rows(rows),
            self.y[rows],
            self.weight[rows],
            self.loss,
            replace(self.constraints, on=self.constraints.on[rows]),
            start=start,
            outside=self.outside(~working, start.theta),
            tol=tol,
            max_iter=max_iter,
        )
        lam = self.multipliers(solution.theta)
        lam[rows] = multipliers(solution)
        solution.lam = lam
        return solution


def second_derivative(views: CentredViews, weight: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Upper triangle of the second derivative of ½ Σ_t ω_t (H_t·z_t)², for H (n x V)."""
    return views.gram(lambda u, v: weight * H[:, u] * H[:, v])
