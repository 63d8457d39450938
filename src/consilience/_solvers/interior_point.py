"""Primal-dual interior point method for margins with kinks: hinge losses and worst views.

    min_{θ, ξ}  ½ Σ_v |w_v|² + Σ_t ω_t Σ_k q_k(ξ_tk)
    such that   s_tj = ξ_{t,k(j)} + Σ_v H_jv z_tv − h_j ≥ 0,   z_tv = y_t (w_v·x_tv + b_v)

Every constraint j has one slack variable k(j), so ξ is eliminated sample by sample and each step
solves one system in θ = (w, b). Multipliers and barrier are per unit of weight: a sample of
weight 2 is, to rounding, two samples. Reference: S. Mehrotra, "On the implementation of a
primal-dual interior point method", SIAM Journal on Optimization 2 (1992).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience._solvers.newton import Solution, solve_posdef

__all__ = ["Constraints", "ExponentialPrior", "GaussianPrior", "Linear", "solve_margins"]


@dataclass(frozen=True)
class Constraints:
    """slot: k(j) of shape (p,); H: (p, V); h: (p,); on: bool (n, p), False where not imposed."""

    slot: np.ndarray
    H: np.ndarray
    h: np.ndarray
    on: np.ndarray


# how much of the way to the boundary a step may go
SHORT = 0.995
# most corrections of a step towards the central path
CORRECTIONS = 3


class Linear:
    """q_k(ξ) = C_k ξ, the hinge loss once ξ ≥ 0 is among the constraints."""

    positive = False

    def __init__(self, costs):
        self.costs = np.asarray(costs, dtype=np.float64)

    def start(self):
        """A value of ξ to start from."""
        return np.full(len(self.costs), 2.0)

    def __call__(self, xi):
        """q, q', q'' at ξ (n x k)."""
        return xi * self.costs, np.broadcast_to(self.costs, xi.shape), np.zeros_like(xi)


class GaussianPrior:
    """q(ξ) = c²ξ²/2."""

    positive = False

    def __init__(self, c):
        self.c = c

    def start(self):
        """A value of ξ to start from."""
        return np.full(1, 2.0)

    def __call__(self, xi):
        """q, q', q'' at ξ (n x 1)."""
        square = self.c**2
        return square * xi**2 / 2, square * xi, np.full_like(xi, square)


class ExponentialPrior:
    """q(ξ) = cξ − 1 − log(cξ), for ξ > 0; its minimum 0 is at 1/c."""

    positive = True

    def __init__(self, c):
        self.c = c

    def start(self):
        """A value of ξ to start from."""
        return np.full(1, 2.0)

    def __call__(self, xi):
        """q, q', q'' at ξ (n x 1)."""
        return self.c * xi - 1 - np.log(self.c * xi), self.c - 1 / xi, 1 / xi**2


def solve_margins(blocks, y, weight, loss, constraints, *, tol=1e-10, max_iter=100):
    """Solve the problem above.

    Parameters
    ----------
    blocks : Blocks
        Views.
    y, weight : arrays of shape (n,)
        Labels ±1, weights ω > 0.
    loss : Linear, GaussianPrior or ExponentialPrior
        q and its derivatives.
    constraints : Constraints
        slot, H, h, on.
    tol : float
        Relative duality gap and residuals to reach.
    max_iter : int
        Most steps.

    Returns
    -------
    Solution
        ``lam`` holds Hᵀλ ω, the multipliers by view (n x V).
    """
    slot, H, h, on = constraints.slot, constraints.H, constraints.h, constraints.on
    E = np.equal.outer(slot, np.arange(slot.max() + 1)).astype(np.float64)  # p x k
    total = weight @ on.sum(axis=1)
    theta = np.zeros(blocks.size)
    xi = np.tile(loss.start(), (blocks.n, 1))
    s = np.where(on, np.maximum(xi[:, slot] - h, 1.0), 1.0)
    lam = np.where(on, (loss(xi)[1] / np.maximum(on @ E, 1))[:, slot], 0.0)
    best = None
    for step in range(max_iter + 1):
        z = y[:, None] * blocks.apply(theta)
        q, q1, q2 = loss(xi)
        r_w = -blocks.pull(y[:, None] * (weight[:, None] * (lam @ H)))
        w_dual = -r_w[: blocks.d].copy()
        r_w[: blocks.d] += theta[: blocks.d]
        r_xi = q1 - lam @ E
        r_s = np.where(on, s - (xi[:, slot] + z @ H.T - h), 0.0)
        gap = weight @ (lam * s * on).sum(axis=1)
        value = theta[: blocks.d] @ theta[: blocks.d] / 2 + weight @ q.sum(axis=1)
        size = max(
            gap / (1e-12 + abs(value)),
            np.linalg.norm(r_w[: blocks.d]) / (1e-12 + np.linalg.norm(w_dual)),
            np.abs(r_w[blocks.d :]).max() / (1e-12 + weight @ np.abs(lam @ H).max(axis=1)),
            np.abs(r_s).max(),
            np.abs(r_xi).max() / (1e-12 + np.abs(q1).max()),
        )
        if best is None or size < best.residual:
            by_view = weight[:, None] * (lam @ H)
            best = Solution(theta.copy(), by_view, step, size, bool(size <= tol))
        if size <= tol or step == max_iter or step - best.n_iter > 15:
            break
        mu = gap / total
        ratio = lam / s
        system = _Eliminated(blocks, y, weight, ratio, q2, E, H, slot)
        if system.factor is None:
            break  # rounding: the system can be no better conditioned

        def move(target, system=system, s=s, lam=lam, xi=xi, residuals=(r_w, r_xi, r_s)):
            step = system.step(target, s, *residuals)
            t = min(_room(s, step[0], on), _room(lam, step[1], on))
            return step, min(t, _room(xi, step[2], True)) if loss.positive else t

        # predictor: how far would the step to zero complementarity come?
        (ds, dlam, *_), t = move(-lam * s)
        t = min(t, 1.0)
        ahead = weight @ ((lam + t * dlam) * (s + t * ds) * on).sum(axis=1) / total
        goal = np.clip((ahead / mu) ** 3, 1e-8, 1.0) * mu
        target = np.where(on, goal - lam * s - ds * dlam, 0.0)
        direction, t = move(target)
        for _ in range(CORRECTIONS):
            target = target + _centring(lam, s, direction, min(1.0, 1.08 * t + 0.08), goal) * on
            corrected, longer = move(target)
            if longer < 1.1 * t:
                break
            direction, t = corrected, longer
        ds, dlam, dxi, dtheta = direction
        t = min(1.0, SHORT * t)
        theta, xi = theta + t * dtheta, xi + t * dxi
        s, lam = np.where(on, s + t * ds, 1.0), np.where(on, lam + t * dlam, 0.0)
    best.n_iter = step
    return best


def _room(x, dx, on):
    """The largest step that keeps x ≥ 0."""
    falling = (dx < 0) & on
    return (x[falling] / -dx[falling]).min() if falling.any() else np.inf


def _centring(lam, s, direction, t, goal):
    """What products λs that a step t would leave outside [goal/10, 10 goal] lack to its edge."""
    products = (lam + t * direction[1]) * (s + t * direction[0])
    return np.maximum(np.clip(products, 0.1 * goal, 10 * goal) - products, -10 * goal)


class _Eliminated:
    """The Newton system of one iterate, reduced to θ.

    With Θ = λ/s, M = q'' + EᵀΘE (diagonal) and g = HᵀΘE, a sample's curvature in z is
    D = HᵀΘH − g M⁻¹ gᵀ, written as a sum of squares so that nothing cancels:
    D = Σ_{i<j of one slot} Θ_i Θ_j (H_i − H_j)(H_i − H_j)ᵀ / M, q'' counting as a Θ with H = 0.
    """

    def __init__(self, blocks, y, weight, ratio, q2, E, H, slot):
        self.blocks, self.signs, self.weight = blocks, y[:, None], weight[:, None]
        self.ratio, self.E, self.H, self.slot = ratio, E, H, slot
        self.M = q2 + ratio @ E
        D = self._curvature(q2)

        def weights(u, v):
            return weight * D[u, v]

        system = blocks.gram(weights)
        system[np.diag_indices(blocks.d)] += 1.0
        self.factor = solve_posdef(system)

    def _curvature(self, q2):
        V, p = self.H.shape[1], len(self.slot)
        D = {}
        terms = [
            (self.ratio[:, j] * q2[:, k] / self.M[:, k], self.H[j])
            for j, k in enumerate(self.slot)
            if q2[:, k].any()
        ]
        for i in range(p):
            for j in range(i + 1, p):
                if self.slot[i] == self.slot[j]:
                    both = self.ratio[:, i] * self.ratio[:, j] / self.M[:, self.slot[i]]
                    terms.append((both, self.H[i] - self.H[j]))
        for u in range(V):
            for v in range(u, V):
                D[u, v] = np.zeros(len(self.M))
                for size, along in terms:
                    if along[u] and along[v]:
                        D[u, v] += along[u] * along[v] * size
        return D

    def step(self, target, s, r_w, r_xi, r_s):
        """Δs, Δλ, Δξ, Δθ for λΔs + sΔλ = target."""
        rho = target / s + self.ratio * r_s
        e = rho @ self.E - r_xi
        back = rho - self.ratio * (e / self.M)[:, self.slot]
        rhs = self.blocks.pull(self.signs * self.weight * (back @ self.H)) - r_w
        dtheta = self.factor(rhs)
        dz = (self.signs * self.blocks.apply(dtheta)) @ self.H.T
        dxi = (e - (self.ratio * dz) @ self.E) / self.M
        ds = dxi[:, self.slot] + dz - r_s
        dlam = target / s - self.ratio * ds
        return ds, dlam, dxi, dtheta
