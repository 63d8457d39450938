"""SMO for support vector machines and their multi-view relatives, on kernels of any size.

    solve_hinge     max Σα − ½ (yα)ᵀK(yα),  0 ≤ α ≤ C,  yᵀα = 0
    solve_coupled   the same in several views, whose multipliers a potential ψ couples by sample
    solve_pair      SVM-2K, two hinge machines whose decisions agree

The loops are compiled (``_core``); here are the starts, the rows of the kernels, which come from
``kernel_rows``, and the intercepts. All stop on the KKT gap in units of the decision function: the
largest F of a sample that can rise less the least of one that can fall, where F = b if it is free.
"""

from __future__ import annotations

import numpy as np

from consilience._core import smo_joint, smo_pair
from consilience._solvers.kernel_rows import BATCH_ROWS, COMPUTE_ALL_BELOW, CachedRows, FullRows
from consilience._solvers.solution import DualSolution

__all__ = ["solve_coupled", "solve_hinge", "solve_pair"]

MAX_ITER = 10_000_000
# a part of many samples is solved first, to this gap
COARSE_TOL = 0.3


def solve_hinge(K, y, C, tol=1e-3, max_iter=MAX_ITER, alpha0=None):
    """Hinge-loss support vector machine: max Σα − ½ (yα)ᵀK(yα), 0 ≤ α ≤ C, yᵀα = 0.

    Parameters
    ----------
    K : array of shape (n, n), float64 or float32, or a source of its rows
        Kernel matrix; not copied if it is contiguous.
    y : array of shape (n,)
        Labels ±1.
    C : float or array of shape (n,)
        Upper bounds.
    tol : float
        KKT gap to reach, as libsvm's.
    max_iter : int
        Most pair steps.
    alpha0 : array of shape (n,), optional
        Feasible start.

    Returns
    -------
    DualSolution
        ``dual`` is α; the decision is K(·, X) (yα) + bias.
    """
    rows = FullRows(K) if isinstance(K, np.ndarray) else K
    n = len(y)
    upper = np.broadcast_to(np.asarray(C, dtype=np.float64), (1, n))
    lam0 = None if alpha0 is None else np.reshape(alpha0, (1, n))
    solution = solve_coupled([rows], y, upper, tol=tol, max_iter=max_iter, lam0=lam0)
    solution.dual, solution.bias = solution.dual[0], float(solution.bias[0])
    solution.decisions = solution.decisions[0]
    return solution


def solve_coupled(
    rows,
    y,
    upper,
    *,
    own=0.0,
    shared=0.0,
    c=0.0,
    linear=1.0,
    tol=1e-3,
    max_iter=MAX_ITER,
    lam0=None,
):
    """max Σ pλ − Σ_t ψ_t(λ_t) − ½ Σ_v (yλ_v)ᵀK_v(yλ_v), 0 ≤ λ ≤ upper, yᵀλ_v = 0.

    Parameters
    ----------
    rows : list of V sources of kernel rows
        Kernels of the views.
    y : array of shape (n,)
        Labels ±1.
    upper : array of shape (V, n)
        Upper bounds; infinity for squared losses, 0 where a view is missing.
    own, shared : float or array of shape (n,)
        ψ_t = ½ own_t Σ_v λ_vt² + ½ shared_t (Σ_v λ_vt)².
    c : float
        Above 0, ψ_t = −own_t log(1 − Σ_v λ_vt / (c own_t)) instead.
    linear : float or array of shape (V, n)
        p, the margins to be reached.
    tol, max_iter : float, int
        KKT gap to reach, most pair steps.
    lam0 : array of shape (V, n), optional
        Feasible start.

    Returns
    -------
    DualSolution
        ``dual`` is λ (V x n).
    """
    V, n = upper.shape
    y, upper = np.ascontiguousarray(y, dtype=np.float64), np.ascontiguousarray(upper)
    own, shared = (np.array(np.broadcast_to(x, (n,)), dtype=np.float64) for x in (own, shared))
    lam = np.zeros((V, n)) if lam0 is None else np.array(lam0, dtype=np.float64)
    linear = np.broadcast_to(np.asarray(linear, dtype=np.float64), (V, n))

    def margins():
        """p − ∂ψ/∂λ, what the conditions ask of yf where λ is free."""
        mu = lam.sum(axis=0)
        return linear - (1 / (c - mu / own) if c > 0 else own * lam + shared * mu)

    F = y * margins()
    if lam.any():
        for v, source in enumerate(rows):
            F[v] -= source.times(y * lam[v])

    def run(upper, tol, max_iter):
        return smo_joint(
            [source.parts for source in rows],
            lambda v, samples: rows[v].fetch(samples),
            y,
            upper,
            own,
            shared,
            float(c),
            lam,
            F,
            tol,
            max_iter,
            BATCH_ROWS,
        )

    first = 0
    if (
        lam0 is None
        and n > COMPUTE_ALL_BELOW
        and any(isinstance(source, CachedRows) for source in rows)
    ):
        # a rough solution on few samples tells which rows of the others will be needed
        few = np.zeros(n, dtype=bool)
        few[np.linspace(0, n - 1, n // 30).astype(int)] = True
        first, _ = run(np.where(few, upper, 0.0), max(tol, COARSE_TOL), max_iter)
    steps, gap = run(upper, tol, max_iter - first)
    biases = np.array([bias(F[v], *directions(y, lam[v], upper[v])) for v in range(V)])
    decisions = y * margins() - F + biases[:, None]
    return DualSolution(lam, biases, first + steps, gap, gap <= tol, decisions)


def solve_pair(rows, y, C, D, epsilon, *, tol=1e-3, max_iter=MAX_ITER):
    """SVM-2K: max Σ(a₁ + a₂) − εΣ|β| − ½g₁ᵀK₁g₁ − ½g₂ᵀK₂g₂, g₁ = ya₁ − β, g₂ = ya₂ + β.

    Parameters
    ----------
    rows : list of two sources of kernel rows
        Kernels of the views.
    y : array of shape (n,)
        Labels ±1.
    C : array of shape (2, n)
        Upper bounds of a.
    D : array of shape (n,)
        Bounds of |β|.
    epsilon : float
        Difference of the decisions that costs nothing.
    tol, max_iter : float, int
        KKT gap to reach, most steps.

    Returns
    -------
    DualSolution
        ``dual`` holds the signed g₁ and g₂ (2 x n), sums 0.
    """
    y, n = np.ascontiguousarray(y, dtype=np.float64), len(y)
    C, D = np.ascontiguousarray(C, dtype=np.float64), np.ascontiguousarray(D, dtype=np.float64)
    a, beta, F = np.zeros((2, n)), np.zeros(n), np.tile(y, (2, 1))
    steps, gap = smo_pair(
        [source.parts for source in rows],
        lambda v, samples: rows[v].fetch(samples),
        y,
        C,
        D,
        float(epsilon),
        a,
        beta,
        F,
        tol,
        max_iter,
        BATCH_ROWS,
    )
    g = y * a + np.outer([-1.0, 1.0], beta)
    biases = pair_biases(F, y, a, C, beta, D, epsilon)
    return DualSolution(g, biases, steps, gap, gap <= tol, y - F + biases[:, None])


def directions(y, lam, upper):
    """Where yλ can rise and where it can fall."""
    grows, shrinks = lam < upper, lam > 0
    return np.where(y > 0, grows, shrinks), np.where(y > 0, shrinks, grows)


def interval(F, can_rise, can_fall):
    """Where b may be: the mean F of the free samples, or between those that cannot rise or fall."""
    free = can_rise & can_fall
    if free.any():
        return (F[free].mean(),) * 2
    low = np.max(F, where=can_rise, initial=-np.inf)
    return low, np.min(F, where=can_fall, initial=np.inf)


def middle(low, high):
    """A point of an interval that may have no ends."""
    ends = [end for end in (low, high) if np.isfinite(end)]
    return float(np.mean(ends)) if ends else 0.0


def bias(F, can_rise, can_fall):
    """b from the optimality conditions."""
    return middle(*interval(F, can_rise, can_fall))


def pair_biases(F, y, a, C, beta, D, epsilon):
    """b₁ and b₂: each from its own samples as far as they say, and b₂ − b₁ from those of β."""
    ends = [interval(F[v], *directions(y, a[v], C[v])) for v in range(2)]
    apart = F[1] - F[0] - epsilon * np.sign(beta)
    free = (beta != 0) & (np.abs(beta) < D)
    if free.any():
        difference = (apart[free].mean(),) * 2
    else:
        bent = np.where(beta == 0, epsilon, 0.0)
        low = np.max(apart - bent, where=beta < D, initial=-np.inf)
        difference = low, np.min(apart + bent, where=beta > -D, initial=np.inf)
    (low1, high1), (low2, high2) = ends
    first = middle(max(low1, low2 - difference[1]), min(high1, high2 - difference[0]))
    second = middle(max(low2, first + difference[0]), min(high2, first + difference[1]))
    return np.array([first, second])
