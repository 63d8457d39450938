"""Steps of multiple kernel learning: weights μ of kernels and hinge-loss machines on Σ_v μ_v K_v.

    min_{μ ≥ 0, |μ|_p ≤ 1}  J(μ) = Σ_k max_α Σα − ½ Σ_v μ_v gᵀK_v g,   g = yα, 0 ≤ α ≤ C, Σg = 0

over the binary problems k, which share μ. With q_v = Σ_k gᵀK_v g the dual is Σα − ½|q|_p*, so that
every α bounds how far J(μ) is above its minimum. At the optimum of p = 1 all q_v with μ_v > 0 are
equal.

Reference: M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien, "lp-norm multiple kernel learning",
JMLR 12, 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from consilience._solvers.simplex import minimise_on_simplex
from consilience._solvers.smo import solve_hinge

__all__ = ["Machines", "combine_kernels", "initial_weights", "learn_weights"]

# if the machines cause more than this share of the duality gap, their tolerance is lowered
LOWER_TOL_SHARE = 0.1
# if they cause more than this share, they are solved again before the weights change
RESOLVE_SHARE = 0.5
# a Newton step leaves at least this share of a weight
MIN_KEPT_SHARE = 0.05
# tolerances of the machines, first and last
INITIAL_TOL, FINAL_TOL = 1e-3, 1e-11

# solves the machines at weights μ to a tolerance, from multipliers of an earlier solution
Solver = Callable[[np.ndarray, float, np.ndarray | None], "Machines"]


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
        Upper and lower bound of J(μ), and a lower bound of J for all weights.
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
    free: list[np.ndarray]

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return max(self.primal - self.bound, 0.0) / max(self.primal, 1e-300)


def combine_kernels(Ks: list[np.ndarray], mu: np.ndarray) -> np.ndarray:
    """Σ_v μ_v K_v."""
    out = np.zeros_like(Ks[0])
    for K, m in zip(Ks, mu, strict=True):
        if m > 0:
            out += m * K
    return out


def initial_weights(n_views: int, p: float | None) -> np.ndarray:
    """Equal weights with |μ|_p = 1; 1/V for p = None."""
    return np.full(n_views, n_views ** (-1 / (p or 1)))


def dual_norm(q: np.ndarray, p: float) -> float:
    """|q|_p* with 1/p + 1/p* = 1, which is max_{|μ|_p ≤ 1} μᵀq."""
    if p == 1:
        return q.max()
    top = q.max()
    return top * ((q / top) ** (p / (p - 1))).sum() ** (1 - 1 / p) if top > 0 else 0.0


def solve_machines(
    Ks: list[np.ndarray],
    mu: np.ndarray,
    signs: np.ndarray,
    bounds: np.ndarray,
    p: float | None,
    tol: float,
    initial_duals: np.ndarray | None = None,
) -> Machines:
    """All machines at μ, from the signed multipliers ``initial_duals`` (P x n) if given."""
    K = combine_kernels(Ks, mu)
    solutions = []
    for k, y in enumerate(signs):
        alpha0 = None if initial_duals is None else y * initial_duals[k]
        solutions.append(solve_hinge(K, y, bounds, tol=tol, alpha0=alpha0))
    alphas, biases = np.array([s.dual for s in solutions]), np.array([s.bias for s in solutions])
    duals = signs * alphas
    products = np.array([duals @ M for M in Ks])
    squares = np.maximum((products * duals).sum(axis=(1, 2)), 0.0)
    slacks = np.maximum(0.0, 1 - signs * (np.tensordot(mu, products, 1) + biases[:, None]))
    norm, total = mu @ squares / 2, alphas.sum()
    is_free = (alphas > 0) & (alphas < bounds)
    return Machines(
        mu=mu,
        duals=duals,
        biases=biases,
        squares=squares,
        primal=norm + (slacks @ bounds).sum(),
        dual=total - norm,
        bound=total - (norm if p is None else dual_norm(squares, p) / 2),
        products=products,
        free=[np.flatnonzero(mask) for mask in is_free],
    )


def alternate(machines: Machines, p: float) -> np.ndarray:
    """μ_v ∝ |w_v|^{2/(p+1)} with |w_v| = μ_v √q_v: the best weights for the machines' w."""
    lengths = machines.mu * np.sqrt(machines.squares)
    if not lengths.any():
        return machines.mu
    mu = (lengths / lengths.max()) ** (2 / (p + 1))
    return mu / np.linalg.norm(mu, p)


def curvature(Ks: list[np.ndarray], machines: Machines) -> np.ndarray:
    """Hessian of J while the samples at their bounds stay there.

    On the free samples K dg + db = −Σ_v dμ_v K_v g with Σ dg = 0, and ∂J/∂μ_v = −½ gᵀK_v g.
    """
    H = np.zeros((len(Ks), len(Ks)))
    for j, free in enumerate(machines.free):
        if len(free) < 2:
            continue
        R = machines.products[:, j, free].T
        inner = combine_kernels([K[np.ix_(free, free)] for K in Ks], machines.mu)
        solved = solve_positive(inner, np.column_stack([R, np.ones(len(free))]))
        ones = solved[:, -1]
        H += R.T @ (solved[:, :-1] - np.outer(ones, ones @ R) / ones.sum())
    return (H + H.T) / 2


def solve_positive(A: np.ndarray, B: np.ndarray, ridge_share: float = 1e-10) -> np.ndarray:
    """A⁻¹B with a small ridge; kernels that are not positive lose their negative part."""
    ridge = ridge_share * max(np.trace(A) / len(A), 1e-300)
    try:
        return cho_solve(cho_factor(A + ridge * np.eye(len(A))), B)
    except LinAlgError:
        values, vectors = eigh(A)
        values = np.maximum(values, ridge_share * max(values[-1], 1e-300))
        return vectors @ (vectors.T @ B / values[:, None])


def newton(Ks: list[np.ndarray], machines: Machines) -> np.ndarray:
    """Weights on the simplex that minimise the quadratic model of J."""
    unit = max(machines.squares.max(), 1e-300)
    slope, H = -machines.squares / unit, 2 * curvature(Ks, machines) / unit

    def model(x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        d = x - machines.mu
        return slope @ d + d @ H @ d / 2, slope + H @ d, H

    mu = minimise_on_simplex(model, machines.mu, tol=1e-11, max_iter=100)[0]
    # on the boundary a sum of few kernels may be singular, and J has no curvature there
    mu = np.maximum(mu, MIN_KEPT_SHARE * machines.mu)
    return mu / mu.sum()


def newton_step(
    current: Machines, target: np.ndarray, solve: Solver, inner_tol: float, max_halvings: int = 12
) -> Machines | None:
    """The machines at the first point towards ``target`` where J is lower; None if there is none.

    J is convex but its curvature jumps where samples reach their bounds. It lies between the dual
    and the primal value of the machines: while these leave open whether it is low enough, the
    machines are solved more precisely, since from ``current.duals`` they may not move at all.
    """
    d = target - current.mu
    slope = -current.squares @ d / 2

    def is_lower(trial: Machines, wanted: float) -> bool:
        # the tolerance of the machines may hide that J decreases, but not that the gap does
        unsolved = current.primal - current.dual
        is_hidden = trial.primal - current.primal <= unsolved and trial.gap <= current.gap / 2
        return trial.primal <= wanted or is_hidden

    for k in range(max_halvings):
        wanted, tol = current.primal + 1e-4 * 0.5**k * slope, inner_tol
        trial = solve(current.mu + 0.5**k * d, tol, current.duals)
        while not is_lower(trial, wanted) and trial.dual < wanted and tol > FINAL_TOL:
            tol /= 10
            trial = solve(trial.mu, tol, trial.duals)
        if is_lower(trial, wanted):
            return trial
    return None


def drop_tiny_weights(current: Machines, tol: float, solve: Solver, inner_tol: float) -> Machines:
    """Set weights that only approach 0 to 0, if the gap then stays below tol."""
    kept = current.mu > np.sqrt(tol) * current.mu.max()
    if kept.all():
        return current
    mu = current.mu * kept
    trial = solve(mu / mu.sum(), inner_tol, current.duals)
    return trial if trial.gap <= tol else current


def learn_weights(
    Ks: list[np.ndarray],
    signs: np.ndarray,
    bounds: np.ndarray,
    p: float | None,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    mu: np.ndarray | None = None,
    duals: np.ndarray | None = None,
    tick: Callable[[], bool] | None = None,
) -> tuple[Machines, int]:
    """Weights and machines until the duality gap is below tol.

    For p = 1 Newton steps on the simplex or, where the quadratic model misleads, the alternation,
    which never increases J; in the end tiny weights are set to 0. For p > 1 the alternation, whose
    weights are all positive.

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
        Maximum number of changes of the weights.
    mu, duals : arrays, optional
        Initial weights, and initial g for these bounds.
    tick : callable, optional
        Called after each change of the weights; returns True to stop.

    Returns
    -------
    machines : Machines
    n_iter : int
    """
    inner_tol = min(INITIAL_TOL, 100 * tol)
    mu = initial_weights(len(Ks), p) if mu is None else mu

    def solve(mu: np.ndarray, inner_tol: float, duals: np.ndarray | None) -> Machines:
        return solve_machines(Ks, mu, signs, bounds, p, inner_tol, duals)

    current, n_iter = solve(mu, inner_tol, duals), 0
    while current.gap > tol and n_iter < max_iter:
        unsolved_share = (current.primal - current.dual) / (current.primal - current.bound)
        if unsolved_share > LOWER_TOL_SHARE:
            if inner_tol < FINAL_TOL:
                break  # rounding: bounds are too large for the gap that is wanted
            inner_tol /= 10
        trial = None
        if p is None or unsolved_share > RESOLVE_SHARE:
            trial = solve(current.mu, inner_tol, current.duals)
        elif p == 1 and len(Ks) > 1:
            trial = newton_step(current, newton(Ks, current), solve, inner_tol)
        if trial is None:
            assert p is not None
            trial = solve(alternate(current, p), inner_tol, current.duals)
        current, n_iter = trial, n_iter + 1
        if tick is not None and tick():
            break
    if p == 1 and current.gap <= tol:
        current = drop_tiny_weights(current, tol, solve, inner_tol)
    return current, n_iter
