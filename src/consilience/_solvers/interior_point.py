"""Primal-dual interior point method for margins with kinks: hinge losses and worst views.

    min_{θ, ξ}  ½ Σ_v |w_v|² + Σ_t ω_t Σ_k q_k(ξ_tk),   q_k(ξ) = slope_k ξ + bend_k ξ²/2
    such that   s_tj = ξ_{t,k(j)} + Σ_v H_jv z_tv − h_j ≥ 0,   z_tv = y_t (w_v·x_tv + b_v)

Every constraint j has one slack variable k(j), so ξ is eliminated sample by sample (``_core``'s
MarginRows) and each step solves one system in θ = (w, b). Multipliers and barrier are per unit of
weight: a sample of weight 2 is, to rounding, two samples. Inside, arrays are p x n, k x n and
V x n: what belongs to one constraint lies together.

References: S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM
Journal on Optimization 2 (1992); J. Gondzio, "Multiple centrality corrections in a primal-dual
method for linear programming", Computational Optimization and Applications 6 (1996).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy.linalg.blas import dsymv

from consilience._core import MarginRows, MarginWay
from consilience._solvers.linalg import cholesky_inverse
from consilience._solvers.solution import Solution

__all__ = ["Constraints", "Loss", "Outside", "Start", "solve_margins"]

# how much of the way to the boundary a step may go
STEP_SHARE = 0.99
# corrections towards equal products in one step (each costs a fifth of it), how much farther
# they aim, and the products that they leave alone, relative to the aim
MAX_CORRECTIONS, STEP_GAIN, PRODUCT_BOUNDS = 1, 0.3, (0.1, 10.0)
# steps without gain after which rounding is to blame
MAX_STALLED_STEPS = 5
# where rounding may end the progress: good enough
ROUNDING_TOL = 1e-7
# residual below which the conditions of θ are computed anew instead of from the last step
REFRESH_BELOW = 1e-3


@dataclass(frozen=True)
class Constraints:
    """slot: k(j) of shape (p,); H: (p, V); h: (p,); on: bool (n, p), False where not imposed.

    ``final`` (p,) is what the product of multiplier and s_j has to reach: 0 for a plain constraint,
    1 for a term − log s_j of the objective.
    """

    slot: np.ndarray
    H: np.ndarray
    h: np.ndarray
    on: np.ndarray
    final: np.ndarray


@dataclass(frozen=True)
class Loss:
    """q_k(ξ) = slope_k ξ + bend_k ξ²/2: the hinge loss with ξ ≥ 0, a prior with − log ξ, c²ξ²/2."""

    slope: np.ndarray
    bend: np.ndarray

    @classmethod
    def linear(cls, costs: Sequence[float]) -> Loss:
        """Σ_k cost_k ξ_k."""
        return cls(np.array(costs, dtype=np.float64), np.zeros(len(costs)))

    @classmethod
    def quadratic(cls, c: float) -> Loss:
        """c²ξ²/2."""
        return cls(np.zeros(1), np.array([float(c) ** 2]))


@dataclass(frozen=True)
class Start:
    """Approximate θ to start from, and the products of multipliers and distances there."""

    theta: np.ndarray
    product: float


@dataclass(frozen=True)
class Outside:
    """Samples of loss constant + linear·θ + ½ θᵀ hessian θ, and Σ|ω Hᵀλ| of their multipliers.

    ``hessian`` is its upper triangle, or None if the loss is linear.
    """

    linear: np.ndarray
    constant: float
    mass: float
    hessian: np.ndarray | None = None

    def at(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss and gradient."""
        if self.hessian is None:
            return self.constant + float(self.linear @ theta), self.linear
        curved = dsymv(1.0, self.hessian.T, theta, lower=1)
        return self.constant + float((self.linear + curved / 2) @ theta), self.linear + curved


@dataclass
class _Point:
    """An iterate: parameters, slack variables, distances to the constraints, multipliers."""

    theta: np.ndarray
    xi: np.ndarray
    s: np.ndarray
    lam: np.ndarray


@dataclass
class _State:
    """An iterate, its gradient in θ, complementarity gap and relative residual.

    ``suboptimality`` bounds how far the objective is above its minimum: by the complementarity gap
    and by what the gradient leaves, the objective being 1-strongly convex in w. It is infinite
    where the gradient is extrapolated: rounding does not show in that.
    """

    point: _Point
    gradient: np.ndarray
    gap: float
    relative_gap: float
    size: float
    suboptimality: float


def solve_margins(
    views: Any,
    y: np.ndarray,
    weight: np.ndarray,
    loss: Loss,
    constraints: Constraints,
    *,
    start: Start | None = None,
    outside: Outside | None = None,
    tol: float = 1e-11,
    max_iter: int = 100,
) -> Solution:
    """Solve the problem above.

    Parameters
    ----------
    views : CentredViews
        Views.
    y, weight : arrays of shape (n,)
        Labels ±1, weights ω > 0.
    loss : Loss
        slope, bend.
    constraints : Constraints
        slot, H, h, on, final.
    start : Start, optional
        Where to start, for plain constraints; w = 0 if not given.
    outside : Outside, optional
        Loss of further samples.
    tol : float
        Relative duality gap and residuals to reach.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    Solution
        ``lam`` holds Hᵀλ ω, the multipliers by view (n x V).
    """
    problem = _Problem(views, y, weight, loss, constraints, outside)
    state = problem.start() if start is None else problem.start_near(start)
    best, since, lowest = state, 0, state
    for n_iter in range(max_iter + 1):
        since = 0 if state.size < best.size else since + 1
        best = state if since == 0 else best
        lowest = min(lowest, state, key=lambda s: s.suboptimality)
        stalled = since > (0 if best.size < 1e-9 else MAX_STALLED_STEPS)
        stuck = stalled and (best.size < 1e-6 or state.relative_gap <= tol)
        if state.size <= tol or n_iter == max_iter or stuck or state.size == np.inf:
            break
        newton = _Newton(problem, state)
        if newton.inverse is None:
            break  # rounding: the system can be no better conditioned
        state = newton.next()
    if best.size > max(tol, ROUNDING_TOL) and np.isfinite(lowest.suboptimality):
        # dependent columns at large costs: rounding spoils the gradient before the gap is closed
        best = lowest
    by_view = (weight * (constraints.H.T @ best.point.lam)).T
    size = max(best.size, problem.distance_error(best.point))
    converged = bool(size <= max(tol, ROUNDING_TOL))
    return Solution(best.point.theta, n_iter, size, converged, by_view)


class _Problem:
    def __init__(
        self,
        views: Any,
        y: np.ndarray,
        weight: np.ndarray,
        loss: Loss,
        constraints: Constraints,
        outside: Outside | None,
    ) -> None:
        self.outside = outside or Outside(np.zeros(views.size), 0.0, 0.0)
        self.views, self.y = views, np.ascontiguousarray(y, dtype=np.float64)
        self.loss, self.constraints = loss, constraints
        self.p, self.k, self.V = len(constraints.slot), len(loss.slope), views.V
        self.final = np.asarray(constraints.final, dtype=np.float64)
        self.on = constraints.on.T
        self.counted = self.on & (self.final == 0)[:, None]
        self.total = float((weight * self.counted).sum())
        self.rows = MarginRows(
            np.asarray(constraints.slot, dtype=np.int64),
            np.ascontiguousarray(constraints.H, dtype=np.float64),
            self.final,
            loss.slope,
            loss.bend,
            self.y,
            np.ascontiguousarray(weight, dtype=np.float64),
            None if self.on.all() else np.ascontiguousarray(self.on, dtype=np.float64),
        )

    def empty(self, *heights: int) -> Iterator[np.ndarray]:
        """Arrays of so many rows."""
        return (np.empty((height, self.views.n)) for height in heights)

    def decisions(self, theta: np.ndarray) -> np.ndarray:
        """z of θ, V x n."""
        return self.y * self.views.matvec(theta).T

    def distance_error(self, point: _Point) -> float:
        """How far s is from its definition: rounding, which all steps add to."""
        slot, H, h = self.constraints.slot, self.constraints.H, self.constraints.h[:, None]
        bound = point.xi[slot] + H @ self.decisions(point.theta) - h
        return float(np.abs(np.where(self.on, point.s - bound, 0.0)).max())

    def start(self) -> _State:
        """w = 0, ξ = 2, and multipliers that add up to q'."""
        slot, h = self.constraints.slot, self.constraints.h[:, None]
        xi = np.full((self.k, self.views.n), 2.0)
        s = np.where(self.on, xi[slot] - h, 1.0)
        lam = np.where(self.on, self.final[:, None] / s, 0.0)
        share = self.loss.slope[:, None] + self.loss.bend[:, None] * xi
        np.subtract.at(share, slot, lam)
        number = np.zeros_like(share)
        np.add.at(number, slot, self.counted)
        lam = np.where(self.counted, (share / np.maximum(number, 1))[slot], lam)
        point = _Point(np.zeros(self.views.size), xi, s, lam)
        return self.after(point, _Direction(self, point), 0.0)

    def start_near(self, start: Start) -> _State:
        """θ as given; in every slot equal products, about those wanted.

        They are exact where the two constraints that bind most are all that matter, and one if the
        loss has a bend. r is the least distance of ξ, a that between the two; for linear losses
        μ/r + μ/(r + a) = q' means q' r² + (q' a − 2μ) r − μ a = 0, for others μ/r = q'(ξ).
        """
        mu, slot, n = start.product, self.constraints.slot, self.views.n
        bound = self.constraints.h[:, None] - self.constraints.H @ self.decisions(start.theta)
        bound = np.where(self.on, bound, -np.inf)
        xi, total = np.empty((self.k, n)), np.zeros((self.k, n))
        for k, (slope, bend) in enumerate(zip(self.loss.slope, self.loss.bend, strict=True)):
            ordered = np.sort(bound[slot == k], axis=0)
            if bend > 0:
                half = (slope / bend + ordered[-1]) / 2
                inner = mu / bend
            else:
                apart = np.minimum(ordered[-1] - ordered[-2], 1e6 * (mu / slope))
                half = apart / 2 - mu / slope
                inner = mu / slope * apart
            # the positive root of r² + 2 half r − inner, without cancellation
            root = np.sqrt(half**2 + inner)
            xi[k] = ordered[-1] + np.where(half > 0, inner / (root + np.abs(half)), root - half)
        s = np.where(self.on, xi[slot] - bound, 1.0)
        inverse = np.where(self.on, 1 / s, 0.0)
        np.add.at(total, slot, inverse)
        slopes = self.loss.slope[:, None] + self.loss.bend[:, None] * xi
        lam = inverse * (slopes / total)[slot]
        point = _Point(start.theta.copy(), xi, s, lam)
        return self.after(point, _Direction(self, point), 0.0)

    def after(
        self,
        point: _Point,
        direction: _Direction,
        t: float,
        gradient: np.ndarray | None = None,
    ) -> _State:
        """The state after t times a step, whose gradient in θ may be known."""
        new_xi, new_s, new_lam, R = self.empty(self.k, self.p, self.p, self.V)
        sizes = direction.way.move(direction.dz, t, point.xi, new_xi, new_s, new_lam, R)
        gap, loss, mass, worst_slack, slope, off = sizes
        new = _Point(point.theta + t * direction.theta, new_xi, new_s, new_lam)
        d, w = self.views.d, new.theta[: self.views.d]
        extrapolated = gradient is not None
        elsewhere, slope_elsewhere = self.outside.at(new.theta)
        if gradient is None:
            gradient = slope_elsewhere - self.views.rmatvec(R.T)
            gradient[:d] += w
        size_w = np.linalg.norm(gradient[:d])
        value = w @ w / 2 + loss + max(elsewhere, 0.0)
        left = size_w**2 / 2 + np.abs(new.theta[d:] @ gradient[d:])
        above = np.inf if extrapolated else float(gap + left)
        relative_gap = 100 * gap / value  # w is only as good as the root of the gap
        # |w|²/2 and bend ξ²/2 are measured alike; ξ = 1 − z is not known better than z is
        size = max(
            relative_gap,
            size_w / (np.linalg.norm(w - gradient[:d]) + np.sqrt(value)),
            np.abs(gradient[d:]).max() / (mass + self.outside.mass),
            worst_slack / (slope + np.sqrt(self.loss.bend.max() * value)),
            off,
        )
        if elsewhere < 0:  # no loss is negative: samples outside have left their pieces
            size = np.inf
        return _State(new, gradient, gap, float(relative_gap), float(size), above)


class _Newton:
    """The Newton system of one iterate, reduced to θ.

    With Θ = λ/s, M = q'' + EᵀΘE (diagonal, E says which slack variable a constraint has) and
    g = HᵀΘE, a sample's curvature in z is D = HᵀΘH − g M⁻¹ gᵀ, written as a sum of squares so that
    nothing cancels:
    D = Σ_{i<j of one slot} Θ_i Θ_j (H_i − H_j)(H_i − H_j)ᵀ / M, q'' counting as a Θ with H = 0.
    """

    def __init__(self, problem: _Problem, state: _State) -> None:
        self.problem, self.state = problem, state
        V, views = problem.V, problem.views
        (D,) = problem.empty(V * (V + 1) // 2)
        problem.rows.curvature(state.point.s, state.point.lam, D)
        which = {pair: k for k, pair in enumerate(combinations_with_replacement(range(V), 2))}
        system = views.gram(lambda u, v: D[which[u, v]])
        if problem.outside.hessian is not None:
            system += problem.outside.hessian
        system[np.diag_indices(views.d)] += 1.0
        self.inverse = cholesky_inverse(system)

    def next(self) -> _State:
        """The state after predictor and correctors."""
        problem, state = self.problem, self.state
        direction, mu = _Direction(problem, state.point), state.gap / problem.total
        # predictor: how far would the step to the final products come?
        direction.add("plain", problem.final, self)
        ahead = direction.gap(state.gap, min(1.0, direction.max_step)) / state.gap
        goal = np.maximum(problem.final, np.clip(ahead**3, 1e-8, 1.0) * mu)
        direction.add("second", goal, self)
        self.centre(direction, goal)
        if direction.max_step < 0.1:
            # blocked: a plain step back towards the central path
            plain = _Direction(problem, state.point)
            plain.add("plain", np.maximum(problem.final, 0.8 * mu), self)
            direction = max(plain, direction, key=lambda way: way.max_step)
        t = min(1.0, STEP_SHARE * direction.max_step)
        for _ in range(4):
            # products that grow show that the second-order terms mislead; that ends in cycles
            if direction.gap(state.gap, t) < (1 - 0.01 * t) * state.gap:
                break
            t /= 2
        gradient = (1 - t) * state.gradient if state.size > REFRESH_BELOW else None
        return problem.after(state.point, direction, t, gradient)

    def centre(self, direction: _Direction, goal: np.ndarray) -> None:
        """Corrections that pull outlying products towards the goal, while the step gets longer."""
        for _ in range(MAX_CORRECTIONS):
            max_step = direction.max_step
            if max_step >= 0.9:
                break
            direction.add("centred", goal, self, min(1.0, max_step + STEP_GAIN))
            if direction.max_step < max_step + 0.1 * STEP_GAIN:
                direction.pop_stage()
                break

    def solve(self, R: np.ndarray) -> np.ndarray:
        """Δθ for what the samples ask of it."""
        assert self.inverse is not None
        return self.inverse(self.problem.views.rmatvec(R.T) - self.state.gradient)


class _Direction:
    """A step from an iterate, built up in stages (``_core``'s MarginWay).

    ``max_step`` is the largest multiple of it that keeps s and λ positive.
    """

    def __init__(self, problem: _Problem, point: _Point) -> None:
        self.problem = problem
        self.way = MarginWay(problem.rows, point.s, point.lam, *PRODUCT_BOUNDS)
        self.dz = np.empty((2 + MAX_CORRECTIONS, problem.V, problem.views.n))
        self.theta = np.zeros_like(point.theta)
        self.stages: list[Any] = []

    def add(self, target: str, goal: np.ndarray, newton: _Newton, aim: float = 1.0) -> None:
        """One more stage: of the products, ``goal`` is wanted."""
        self.way.add(target, goal, aim)
        (R,) = self.problem.empty(self.problem.V)
        self.way.reduce(self.dz, R)
        theta = newton.solve(R)
        self.dz[len(self.stages)] = self.problem.decisions(theta)
        self.stages.append((theta, *self.way.reach(self.dz)))
        self._update_from_last_stage()

    def pop_stage(self) -> None:
        """Without the last stage."""
        self.way.pop()
        self.stages.pop()
        self._update_from_last_stage()

    def _update_from_last_stage(self) -> None:
        self.theta, reach, self.linear, self.square = self.stages[-1]
        self.max_step = 1 / reach if reach > 0 else np.inf

    def gap(self, before: float, t: float) -> float:
        """The duality gap after a multiple t."""
        return before + t * (self.linear + t * self.square)
