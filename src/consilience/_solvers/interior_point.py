"""Primal-dual interior point method for margins with kinks: hinge losses and worst views.

    min_{θ, ξ}  ½ Σ_v |w_v|² + Σ_t ω_t Σ_k q_k(ξ_tk)
    such that   s_tj = ξ_{t,k(j)} + Σ_v H_jv z_tv − h_j ≥ 0,   z_tv = y_t (w_v·x_tv + b_v)

Every constraint j has one slack variable k(j), so ξ is eliminated sample by sample and each step
solves one system in θ = (w, b). Multipliers and barrier are per unit of weight: a sample of
weight 2 is, to rounding, two samples. Inside, arrays are p x n, k x n and V x n: what belongs to
one constraint lies together.

References: S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM
Journal on Optimization 2 (1992); J. Gondzio, "Multiple centrality corrections in a primal-dual
method for linear programming", Computational Optimization and Applications 6 (1996).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import numpy as np

from consilience._solvers.newton import Solution, solve_posdef

__all__ = ["Constraints", "Linear", "Quadratic", "solve_margins"]

# how much of the way to the boundary a step may go
SHORT = 0.99
# corrections towards equal products in one step (each costs a fifth of it), how much farther
# they aim, and the products that they leave alone, relative to the aim
CORRECTIONS, FARTHER, ALIKE = 1, 0.3, (0.1, 10.0)
# steps without gain after which rounding is to blame
STALL = 5
# where rounding may end the progress: good enough
ROUNDING = 1e-7


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


class Linear:
    """q_k(ξ) = C_k ξ: the hinge loss with ξ ≥ 0, an exponential prior with − log ξ."""

    def __init__(self, costs):
        self.costs = np.asarray(costs, dtype=np.float64)[:, None]

    def __call__(self, xi):
        """q, q', q'' at ξ (k x n)."""
        return xi * self.costs, np.broadcast_to(self.costs, xi.shape), np.zeros_like(xi)


class Quadratic:
    """q(ξ) = c²ξ²/2."""

    def __init__(self, c):
        self.c = c

    def __call__(self, xi):
        """q, q', q'' at ξ (1 x n)."""
        square = self.c**2
        return square * xi**2 / 2, square * xi, np.full_like(xi, square)


@dataclass
class _Point:
    """An iterate: parameters, z, slack variables, distances to the constraints, multipliers."""

    theta: np.ndarray
    z: np.ndarray
    xi: np.ndarray
    s: np.ndarray
    lam: np.ndarray

    def moved(self, direction, t):
        pairs = zip(vars(self).values(), vars(direction).values(), strict=True)
        return _Point(*(x + t * dx for x, dx in pairs))

    def room(self, direction):
        """The largest step that keeps s and λ positive."""
        return min(_room(self.s, direction.s), _room(self.lam, direction.lam))

    def products(self, direction, t):
        """λs after a step."""
        return (self.lam + t * direction.lam) * (self.s + t * direction.s)


def _room(x, dx):
    with np.errstate(invalid="ignore"):  # 0/0 where a constraint is not imposed, skipped by fmin
        worst = np.fmin.reduce(dx / x, axis=None, initial=0.0)
    return -1 / worst if worst < 0 else np.inf


def solve_margins(blocks, y, weight, loss, constraints, *, tol=1e-11, max_iter=100):
    """Solve the problem above.

    Parameters
    ----------
    blocks : Blocks
        Views.
    y, weight : arrays of shape (n,)
        Labels ±1, weights ω > 0.
    loss : Linear or Quadratic
        q and its derivatives.
    constraints : Constraints
        slot, H, h, on, final.
    tol : float
        Relative duality gap and residuals to reach.
    max_iter : int
        Most steps.

    Returns
    -------
    Solution
        ``lam`` holds Hᵀλ ω, the multipliers by view (n x V).
    """
    problem = _Problem(blocks, y, weight, loss, constraints)
    point, best = problem.start(), None
    for step in range(max_iter + 1):
        state = problem.residuals(point)
        if best is None or state.size < best[1].size:
            best = point, state, step
        since = step - best[2]
        stuck = since > (0 if best[1].size < 1e-9 else STALL) and best[1].size < 1e-6
        if state.size <= tol or step == max_iter or stuck:
            break
        direction, t = problem.direction(point, state)
        if direction is None:
            break  # rounding: the system can be no better conditioned
        point = point.moved(direction, t)
    point, state, _ = best
    by_view = (weight * problem.to_views(point.lam)).T
    return Solution(point.theta, by_view, step, state.size, bool(state.size <= max(tol, ROUNDING)))


@dataclass
class _State:
    """Residuals of the optimality conditions at an iterate, and their relative size."""

    w: np.ndarray
    xi: np.ndarray
    s: np.ndarray
    mu: float
    curvature: np.ndarray
    size: float


class _Problem:
    def __init__(self, blocks, y, weight, loss, constraints):
        self.blocks, self.y, self.weight, self.loss = blocks, y, weight, loss
        self.slot, self.H, self.h = constraints.slot, constraints.H, constraints.h[:, None]
        self.final = constraints.final[:, None]
        self.on = np.ascontiguousarray(constraints.on.T)
        self.off = None if self.on.all() else ~self.on
        self.counted = self.on & (self.final == 0)
        self.mass = weight * self.counted
        self.total = self.mass.sum()

    def to_slots(self, x):
        """Σ over the constraints of each slack variable, p x n -> k x n."""
        out = np.zeros((self.slot.max() + 1, x.shape[1]))
        for j, k in enumerate(self.slot):
            out[k] += x[j]
        return out

    def to_views(self, x):
        """Hᵀx, p x n -> V x n."""
        return self.H.T @ x

    def decisions(self, theta):
        """z of θ, V x n."""
        return self.y * self.blocks.apply(theta).T

    def pull(self, x):
        """The adjoint of z for weighted samples."""
        return self.blocks.pull((self.y * self.weight * self.to_views(x)).T)

    def where_on(self, x):
        """Zero where a constraint is not imposed, in place."""
        if self.off is not None:
            x[self.off] = 0.0
        return x

    def start(self):
        """w = 0, ξ = 2, every constraint with room, and multipliers that add up to q'."""
        xi = np.full((self.slot.max() + 1, self.blocks.n), 2.0)
        s = np.where(self.on, np.maximum(xi[self.slot] - self.h, 1.0), 1.0)
        lam = np.where(self.on, self.final / s, 0.0)
        share = self.loss(xi)[1] - self.to_slots(lam)
        share /= np.maximum(self.to_slots(self.counted), 1)
        lam = np.where(self.counted, share[self.slot], lam)
        z = np.zeros((self.blocks.V, self.blocks.n))
        return _Point(np.zeros(self.blocks.size), z, xi, s, lam)

    def residuals(self, point):
        d, lam, s = self.blocks.d, point.lam, point.s
        q, q1, q2 = self.loss(point.xi)
        r_w = -self.pull(lam)
        dual = np.linalg.norm(r_w[:d])
        r_w[:d] += point.theta[:d]
        r_xi = q1 - self.to_slots(lam)
        bound = self.H @ point.z
        bound += point.xi[self.slot] - self.h
        r_s = self.where_on(s - bound)
        products = lam * s
        gap = np.vdot(self.mass, products)
        off = np.abs(products[self.final[:, 0] > 0] - 1)
        value = point.theta[:d] @ point.theta[:d] / 2 + (self.weight * np.abs(q)).sum()
        size = max(
            100 * gap / value,  # w is only as good as the root of the gap
            np.linalg.norm(r_w[:d]) / (dual + np.sqrt(value)),
            np.abs(r_w[d:]).max() / (self.weight * np.abs(self.to_views(lam))).sum(),
            np.abs(r_s).max(),
            np.abs(r_xi).max() / np.abs(q1).max(),
            off.max(initial=0.0),
        )
        return _State(r_w, r_xi, r_s, gap / self.total, q2, float(size))

    def mean(self, products):
        return np.vdot(self.mass, products) / self.total

    def direction(self, point, state):
        """Predictor and correctors, and how far to go along their sum."""
        system = _Eliminated(self, point, state.curvature)
        if system.factor is None:
            return None, 0.0
        now = point.lam * point.s
        # predictor: how far would the step to the final products come?
        step = system.step(point, state, self.where_on(self.final - now))
        t = min(1.0, point.room(step))
        ahead = self.mean(point.products(step, t)) / state.mu
        goal = np.maximum(self.final, np.clip(ahead**3, 1e-8, 1.0) * state.mu)
        target = self.where_on(goal - now - step.s * step.lam)
        step = system.step(point, state, target)
        t = point.room(step)
        step, t = self.centred(system, point, state, goal, target, step, t)
        if t < 0.1:
            # blocked: a plain step back towards the central path
            goal = np.maximum(self.final, 0.8 * state.mu)
            plain = system.step(point, state, self.where_on(goal - now))
            if point.room(plain) > t:
                step, t = plain, point.room(plain)
        t = min(1.0, SHORT * t)
        for _ in range(4):
            # products that grow show that the second-order terms mislead; that ends in cycles
            if self.mean(point.products(step, t)) < (1 - 0.01 * t) * state.mu:
                break
            t /= 2
        return step, t

    def centred(self, system, point, state, goal, target, step, t):
        """Corrections that pull outlying products towards the goal, while the step gets longer."""
        for _ in range(CORRECTIONS):
            if t >= 1:
                break
            aim = min(1.0, t + FARTHER)
            products = point.products(step, aim)
            change = np.clip(products, ALIKE[0] * goal, ALIKE[1] * goal)
            change -= products
            np.maximum(change, -ALIKE[1] * goal, out=change)
            target = target + self.where_on(change)
            longer = system.step(point, state, target)
            room = point.room(longer)
            if room < t + 0.1 * FARTHER:
                break
            step, t = longer, room
        return step, t


class _Eliminated:
    """The Newton system of one iterate, reduced to θ.

    With Θ = λ/s, M = q'' + EᵀΘE (diagonal, E says which slack variable a constraint has) and
    g = HᵀΘE, a sample's curvature in z is D = HᵀΘH − g M⁻¹ gᵀ, written as a sum of squares so that
    nothing cancels:
    D = Σ_{i<j of one slot} Θ_i Θ_j (H_i − H_j)(H_i − H_j)ᵀ / M, q'' counting as a Θ with H = 0.
    """

    def __init__(self, problem, point, q2):
        self.problem, self.ratio = problem, point.lam / point.s
        self.M = q2 + problem.to_slots(self.ratio)
        D = self._curvature(q2)
        system = problem.blocks.gram(lambda u, v: problem.weight * D[u, v])
        system[np.diag_indices(problem.blocks.d)] += 1.0
        self.factor = solve_posdef(system)

    def _curvature(self, q2):
        """D[u, v] for u ≤ v, n vectors."""
        H, slot, ratio = self.problem.H, self.problem.slot, self.ratio
        terms = [
            (ratio[j] * (q2[k] / self.M[k]), H[j])
            for j, k in enumerate(slot)
            if H[j].any() and q2.any()
        ]
        for i, j in combinations(range(len(slot)), 2):
            if slot[i] == slot[j] and (H[i] != H[j]).any():
                terms.append((ratio[i] * (ratio[j] / self.M[slot[i]]), H[i] - H[j]))
        D = {}
        for u, v in combinations_with_replacement(range(H.shape[1]), 2):
            D[u, v] = np.zeros(self.M.shape[1])
            for size, along in terms:
                if along[u] and along[v]:
                    D[u, v] += along[u] * along[v] * size
        return D

    def step(self, point, state, target):
        """Δθ, Δz, Δξ, Δs, Δλ for λΔs + sΔλ = target."""
        problem, slot = self.problem, self.problem.slot
        given = target / point.s
        rho = given + self.ratio * state.s
        e = problem.to_slots(rho) - state.xi
        rho -= self.ratio * (e / self.M)[slot]
        dtheta = self.factor(problem.pull(rho) - state.w)
        dz = problem.decisions(dtheta)
        ds = problem.H @ dz
        dxi = (e - problem.to_slots(self.ratio * ds)) / self.M
        ds += dxi[slot]
        ds -= state.s
        problem.where_on(ds)
        given -= self.ratio * ds
        return _Point(dtheta, dz, dxi, ds, given)
