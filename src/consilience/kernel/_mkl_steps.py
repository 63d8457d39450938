"""Steps of multiple kernel learning: weights μ of kernels and hinge-loss machines on Σ_v μ_v K_v.

    min_{μ ≥ 0, |μ|_p ≤ 1}  J(μ) = Σ_k max_α Σα − ½ Σ_v μ_v gᵀK_v g,   g = yα, 0 ≤ α ≤ C, Σg = 0

over the binary problems k, which share μ. With q_v = Σ_k gᵀK_v g the dual is Σα − ½|q|_p*, so that
every α bounds how far J(μ) is above its least. At the optimum of p = 1 all q_v with μ_v > 0 are
equal.

Reference: M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien, "lp-norm multiple kernel learning",
JMLR 12, 2011.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from consilience._solvers.simplex import minimise_on_simplex
from consilience._solvers.smo import solve_hinge

__all__ = ["Machines", "combine", "learn_weights", "start_weights"]

# if the machines are responsible for more than the first share of the gap they are solved to more
# digits, and if for more than the second, with the weights as they are
MEMORY_SHARE, MOST = 0.1, 0.5
# a Newton step leaves at least this share of a weight
KEPT = 0.05
# KKT gaps of the machines, first and last
LOOSE, TIGHT = 1e-3, 1e-11


@dataclass
class Machines:
    """The machines of all problems at weights μ.

    Parameters
    ----------
    mu : array of shape (V,)
        Weights of the kernels.
    duals : array of shape (P, n)
        g = yα.
    biases : array of shape (P,)
        Intercepts.
    squares : array of shape (V,)
        q_v = Σ_k gᵀK_v g.
    primal, dual, bound : float
        J(μ) from above and from below, and what no weights can go below.
    products : array of shape (V, P, n)
        K_v g.
    free : list of int arrays
        Samples of each problem with 0 < α < C.
    """

    mu: np.ndarray
    duals: np.ndarray
    biases: np.ndarray
    squares: np.ndarray
    primal: float
    dual: float
    bound: float
    products: np.ndarray
    free: list

    @property
    def gap(self):
        """Relative duality gap."""
        return max(self.primal - self.bound, 0.0) / max(self.primal, 1e-300)


def combine(Ks, mu):
    """Σ_v μ_v K_v."""
    out = np.zeros_like(Ks[0])
    for K, m in zip(Ks, mu, strict=True):
        if m > 0:
            out += m * K
    return out


def start_weights(n_views, p):
    """Equal weights with |μ|_p = 1; 1/V for p = None."""
    return np.full(n_views, n_views ** (-1 / (p or 1)))


def dual_norm(q, p):
    """|q|_p* with 1/p + 1/p* = 1, which is max_{|μ|_p ≤ 1} μᵀq."""
    if p == 1:
        return q.max()
    top = q.max()
    return top * ((q / top) ** (p / (p - 1))).sum() ** (1 - 1 / p) if top > 0 else 0.0


def solve_machines(Ks, mu, signs, bounds, p, tol, starts=None):
    """All machines at μ, from the signed multipliers ``starts`` (P x n) if given."""
    K = combine(Ks, mu)
    solution = []
    for k, y in enumerate(signs):
        start = None if starts is None else y * starts[k]
        solution.append(solve_hinge(K, y, bounds, tol=tol, alpha0=start))
    alphas, biases = np.array([f.dual for f in solution]), np.array([f.bias for f in solution])
    duals = signs * alphas
    products = np.array([duals @ M for M in Ks])
    squares = np.maximum((products * duals).sum(axis=(1, 2)), 0.0)
    slacks = np.maximum(0.0, 1 - signs * (np.tensordot(mu, products, 1) + biases[:, None]))
    norm, total = mu @ squares / 2, alphas.sum()
    free = (alphas > 0) & (alphas < bounds)
    return Machines(
        mu=mu,
        duals=duals,
        biases=biases,
        squares=squares,
        primal=norm + (slacks @ bounds).sum(),
        dual=total - norm,
        bound=total - (norm if p is None else dual_norm(squares, p) / 2),
        products=products,
        free=[np.flatnonzero(mask) for mask in free],
    )


def alternate(machines, p):
    """μ_v ∝ |w_v|^{2/(p+1)} with |w_v| = μ_v √q_v: the best weights for the machines' w."""
    lengths = machines.mu * np.sqrt(machines.squares)
    if not lengths.any():
        return machines.mu
    mu = (lengths / lengths.max()) ** (2 / (p + 1))
    return mu / np.linalg.norm(mu, p)


def curvature(Ks, machines):
    """Hessian of J while the samples at their bounds stay there.

    On the free samples K dg + db = −Σ_v dμ_v K_v g with Σ dg = 0, and ∂J/∂μ_v = −½ gᵀK_v g.
    """
    H = np.zeros((len(Ks), len(Ks)))
    for j, free in enumerate(machines.free):
        if len(free) < 2:
            continue
        R = machines.products[:, j, free].T
        inner = combine([K[np.ix_(free, free)] for K in Ks], machines.mu)
        solved = solve_positive(inner, np.column_stack([R, np.ones(len(free))]))
        ones = solved[:, -1]
        H += R.T @ (solved[:, :-1] - np.outer(ones, ones @ R) / ones.sum())
    return (H + H.T) / 2


def solve_positive(A, B, least=1e-10):
    """A⁻¹B with a small ridge; kernels that are not positive lose their negative part."""
    ridge = least * max(np.trace(A) / len(A), 1e-300)
    try:
        return cho_solve(cho_factor(A + ridge * np.eye(len(A))), B)
    except LinAlgError:
        values, vectors = eigh(A)
        values = np.maximum(values, least * max(values[-1], 1e-300))
        return vectors @ (vectors.T @ B / values[:, None])


def newton(Ks, machines):
    """Weights on the simplex that minimise the quadratic model of J."""
    unit = max(machines.squares.max(), 1e-300)
    slope, H = -machines.squares / unit, 2 * curvature(Ks, machines) / unit

    def model(x):
        d = x - machines.mu
        return slope @ d + d @ H @ d / 2, slope + H @ d, H

    mu = minimise_on_simplex(model, machines.mu, tol=1e-11, max_iter=100)[0]
    # on the boundary a sum of few kernels may be singular, and J has no curvature there
    mu = np.maximum(mu, KEPT * machines.mu)
    return mu / mu.sum()


def newton_step(now, target, solve, inner, halvings=12):
    """The machines at the first point towards ``target`` where J is lower; None if there is none.

    J is convex but its curvature jumps where samples reach their bounds.
    """
    d = target - now.mu
    slope = -now.squares @ d / 2
    for k in range(halvings):
        then = solve(now.mu + 0.5**k * d, inner, now.duals)
        rise = then.primal - now.primal
        # what the machines leave undone may hide the fall of J, but not that of the gap
        hidden = rise <= now.primal - now.dual and then.gap <= now.gap / 2
        if rise <= 1e-4 * 0.5**k * slope or hidden:
            return then
    return None


def without_traces(now, tol, solve, inner):
    """Weights that are 0 but for the steps so far become 0, if the gap allows it."""
    kept = now.mu > np.sqrt(tol) * now.mu.max()
    if kept.all():
        return now
    mu = now.mu * kept
    then = solve(mu / mu.sum(), inner, now.duals)
    return then if then.gap <= tol else now


def learn_weights(
    Ks,
    signs,
    bounds,
    p,
    *,
    tol=1e-6,
    max_iter=100,
    mu=None,
    duals=None,
    tick=None,
):
    """Weights and machines until the duality gap is below tol.

    For p = 1 Newton steps on the simplex, and where the model misleads the alternation, which
    never raises J; at last traces of weights are cut off. For p > 1 the alternation, whose weights
    are all positive.

    Parameters
    ----------
    Ks : list of V arrays of shape (n, n)
        Kernels.
    signs : array of shape (P, n)
        Labels ±1 of the problems.
    bounds : array of shape (n,)
        Upper bounds of the multipliers.
    p : float >= 1 or None
        Norm of the weights; None leaves them equal, 1/V.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Most changes of the weights.
    mu, duals : arrays, optional
        Where to start: weights, and g for these bounds.
    tick : callable, optional
        Called after each change of the weights; True stops.

    Returns
    -------
    machines : Machines
    n_iter : int
    """
    inner = min(LOOSE, 100 * tol)
    mu = start_weights(len(Ks), p) if mu is None else mu

    def solve(mu, inner, duals):
        return solve_machines(Ks, mu, signs, bounds, p, inner, duals)

    now, n_iter = solve(mu, inner, duals), 0
    while now.gap > tol and n_iter < max_iter:
        unsolved = (now.primal - now.dual) / (now.primal - now.bound)
        if unsolved > MEMORY_SHARE:
            if inner < TIGHT:
                break  # rounding: bounds are too large for the gap that is wanted
            inner /= 10
        then = None
        if p is None or unsolved > MOST:
            then = solve(now.mu, inner, now.duals)
        elif p == 1 and len(Ks) > 1:
            then = newton_step(now, newton(Ks, now), solve, inner)
        if then is None:
            then = solve(alternate(now, p), inner, now.duals)
        now, n_iter = then, n_iter + 1
        if tick is not None and tick():
            break
    if p == 1 and now.gap <= tol:
        now = without_traces(now, tol, solve, inner)
    return now, n_iter
