"""SMO for support vector machines and their multi-view relatives, on kernels of any size.

    solve_hinge     max Σα − ½ (yα)ᵀK(yα),  0 ≤ α ≤ C,  yᵀα = 0
    solve_coupled   the same in several views, whose multipliers a potential ψ couples by sample
    solve_pair      SVM-2K, two hinge machines whose decisions agree

The loops are compiled (``_core``); here are the starts, the rows of the kernels, which come from
``kernel_rows``, and the intercepts. All stop on the KKT gap in units of the decision function: the
largest F of a sample that can rise less the least of one that can fall, where F = b if it is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from consilience._core import smo_joint, smo_pair
from consilience._solvers.active_set import newton_step, step_to_bound
from consilience._solvers.kernel_rows import BATCH_ROWS, COMPUTE_ALL_BELOW, CachedRows, FullRows
from consilience._solvers.solution import DualSolution

__all__ = ["solve_coupled", "solve_hinge", "solve_pair"]

MAX_ITER = 10_000_000
# a part of many samples is solved first, to this gap
COARSE_TOL = 0.3
# pair steps between two attempts to finish by Newton steps
MIN_STAGE_STEPS, STAGE_STEPS_PER_MULTIPLIER = 100_000, 20
# of an attempt, and the largest system that it solves
MAX_POLISH_STEPS, MAX_POLISH_MULTIPLIERS = 50, 2000
# multipliers below this, relative to the largest, are zero
BOUND_ROUNDING = 1e-14


def solve_hinge(
    K: Any,
    y: np.ndarray,
    C: Any,
    tol: float = 1e-3,
    max_iter: int = MAX_ITER,
    alpha0: np.ndarray | None = None,
) -> DualSolution:
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
        Maximum number of pair steps.
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
    rows: Sequence[Any],
    y: np.ndarray,
    upper: np.ndarray,
    *,
    own: Any = 0.0,
    shared: Any = 0.0,
    c: float = 0.0,
    linear: Any = 1.0,
    tol: float = 1e-3,
    max_iter: int = MAX_ITER,
    lam0: np.ndarray | None = None,
) -> DualSolution:
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
        KKT gap to reach, maximum number of pair steps.
    lam0 : array of shape (V, n), optional
        Feasible start.

    Returns
    -------
    DualSolution
        ``dual`` is λ (V x n).
    """
    problem = _CoupledDual(rows, y, upper, own, shared, c, linear, lam0)
    V, n = upper.shape
    n_iter = 0
    if (
        lam0 is None
        and n > COMPUTE_ALL_BELOW
        and any(isinstance(source, CachedRows) for source in rows)
    ):
        # a rough solution on few samples tells which rows of the others will be needed
        few = np.zeros(n, dtype=bool)
        few[np.linspace(0, n - 1, n // 30).astype(int)] = True
        coarse = np.where(few, problem.upper, 0.0)
        n_iter, _ = problem.run(coarse, max(tol, COARSE_TOL), max_iter)
    stage = max(MIN_STAGE_STEPS, STAGE_STEPS_PER_MULTIPLIER * V * n)
    while True:
        steps, gap = problem.run(problem.upper, tol, min(stage, max_iter - n_iter))
        n_iter += steps
        if gap <= tol or n_iter >= max_iter or steps == 0:
            break
        problem.polish()
        stage = max(MIN_STAGE_STEPS // 100, V * n)  # to bring in what a face lacks
    biases = problem.biases()
    decisions = problem.y * problem.margins() - problem.F + biases[:, None]
    return DualSolution(problem.lam, biases, n_iter, gap, gap <= tol, decisions)


class _CoupledDual:
    """An iterate λ of ``solve_coupled``, with F = y(p − ∂ψ/∂λ) − K(yλ)."""

    def __init__(
        self,
        rows: Sequence[Any],
        y: np.ndarray,
        upper: np.ndarray,
        own: Any,
        shared: Any,
        c: float,
        linear: Any,
        lam0: np.ndarray | None,
    ) -> None:
        V, n = upper.shape
        self.rows, self.c = rows, float(c)
        self.y, self.upper = np.ascontiguousarray(y, dtype=np.float64), np.ascontiguousarray(upper)
        self.own, self.shared = (
            np.array(np.broadcast_to(x, (n,)), dtype=np.float64) for x in (own, shared)
        )
        self.linear = np.broadcast_to(np.asarray(linear, dtype=np.float64), (V, n))
        self.lam = np.zeros((V, n)) if lam0 is None else np.array(lam0, dtype=np.float64)
        self.F = self.evaluate()

    def margins(self) -> np.ndarray:
        """p − ∂ψ/∂λ, what the conditions ask of yf where λ is free."""
        mu = self.lam.sum(axis=0)
        if self.c > 0:
            return self.linear - 1 / (self.c - mu / self.own)
        return self.linear - (self.own * self.lam + self.shared * mu)

    def evaluate(self) -> np.ndarray:
        """F, computed anew."""
        F = self.y * self.margins()
        if self.lam.any():
            for v, source in enumerate(self.rows):
                F[v] -= source.times(self.y * self.lam[v])
        return F

    def run(self, upper: np.ndarray, tol: float, max_iter: int) -> tuple[int, float]:
        """Pair steps; how many, and the KKT gap after them."""
        return smo_joint(
            [source.parts for source in self.rows],
            lambda v, samples: self.rows[v].fetch(samples),
            self.y,
            upper,
            self.own,
            self.shared,
            self.c,
            self.lam,
            self.F,
            tol,
            max_iter,
            BATCH_ROWS,
        )

    def biases(self) -> np.ndarray:
        """Intercepts of the views."""
        ends = zip(self.F, self.lam, self.upper, strict=True)
        return np.array([bias(F, *directions(self.y, lam, top)) for F, lam, top in ends])

    def value(self) -> float:
        """The dual objective."""
        mu, norms = self.lam.sum(axis=0), self.y * self.lam * (self.y * self.margins() - self.F)
        if self.c > 0:
            potential = -self.own @ np.log1p(-mu / (self.c * self.own))
        else:
            potential = (self.own * self.lam**2).sum() / 2 + self.shared @ mu**2 / 2
        return float((self.linear * self.lam - norms / 2).sum() - potential)

    def gap(self) -> float:
        """Largest KKT gap of a view."""
        gaps = []
        for F, lam, top in zip(self.F, self.lam, self.upper, strict=True):
            can_rise, can_fall = directions(self.y, lam, top)
            low = np.min(F, where=can_fall, initial=np.inf)
            gaps.append(np.max(F, where=can_rise, initial=-np.inf) - low)
        return float(max(gaps))

    def polish(self) -> None:
        """Newton steps to the best point of the face of λ, kept if they raise the objective."""
        gap, value, lam, F = self.gap(), self.value(), self.lam.copy(), self.F.copy()
        for _ in range(MAX_POLISH_STEPS):
            free = [np.flatnonzero(m) for m in (self.lam > 0) & (self.lam < self.upper)]
            if sum(map(len, free)) > MAX_POLISH_MULTIPLIERS:
                break
            blocks = [submatrix(*pair) for pair in zip(self.rows, free, strict=True)]
            change = self.y * newton_step(blocks, free, self.F, *self.curvatures())
            t = step_to_bound(self.lam, change, self.upper)
            t = min(t, self.largest_log_step(change.sum(axis=0)))
            moved = self.lam + t * change
            # what meets a bound is put on it exactly
            moved[moved <= BOUND_ROUNDING * lam.max()] = 0.0
            self.lam[:] = np.minimum(moved, self.upper)
            self.F[:] = self.evaluate()
            if t == 1 and self.c == 0:
                break
        if not (self.value() > value or self.gap() < gap):
            self.lam[:], self.F[:] = lam, F

    def curvatures(self) -> tuple[np.ndarray, np.ndarray]:
        """Second derivatives of ψ in a single multiplier and in μ."""
        if self.c == 0:
            return self.own, self.shared
        mu = self.lam.sum(axis=0)
        return np.zeros_like(self.own), 1 / (self.own * (self.c - mu / self.own) ** 2)

    def largest_log_step(self, change: np.ndarray) -> float:
        """How far μ may go before the logarithm's argument falls to a tenth."""
        room = self.c * self.own - self.lam.sum(axis=0)
        rises = change > 0 if self.c > 0 else np.zeros_like(change, dtype=bool)
        return float(np.min(0.9 * room[rises] / change[rises], initial=1.0))


def submatrix(source: Any, samples: np.ndarray) -> np.ndarray:
    """The kernel between some samples."""
    out = np.empty((len(samples), len(samples)))
    for start in range(0, len(samples), BATCH_ROWS):
        part = samples[start : start + BATCH_ROWS]
        source.fetch(part)
        store, slots = source.parts[:2]
        out[start : start + BATCH_ROWS] = store[slots[part]][:, samples]
    return out


def solve_pair(
    rows: Sequence[Any],
    y: np.ndarray,
    C: np.ndarray,
    D: np.ndarray,
    epsilon: float,
    *,
    tol: float = 1e-3,
    max_iter: int = MAX_ITER,
) -> DualSolution:
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
        KKT gap to reach, maximum number of steps.

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


def directions(y: np.ndarray, lam: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where yλ can rise and where it can fall."""
    grows, shrinks = lam < upper, lam > 0
    return np.where(y > 0, grows, shrinks), np.where(y > 0, shrinks, grows)


def interval(F: np.ndarray, can_rise: np.ndarray, can_fall: np.ndarray) -> tuple[float, float]:
    """Where b may be: the mean F of the free samples, or between those that cannot rise or fall."""
    free = can_rise & can_fall
    if free.any():
        mean = float(F[free].mean())
        return mean, mean
    low = np.max(F, where=can_rise, initial=-np.inf)
    return float(low), float(np.min(F, where=can_fall, initial=np.inf))


def middle(low: float, high: float) -> float:
    """A point of an interval that may be unbounded."""
    ends = [end for end in (low, high) if np.isfinite(end)]
    return float(np.mean(ends)) if ends else 0.0


def bias(F: np.ndarray, can_rise: np.ndarray, can_fall: np.ndarray) -> float:
    """b from the optimality conditions."""
    return middle(*interval(F, can_rise, can_fall))


def pair_biases(
    F: np.ndarray,
    y: np.ndarray,
    a: np.ndarray,
    C: np.ndarray,
    beta: np.ndarray,
    D: np.ndarray,
    epsilon: float,
) -> np.ndarray:
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
