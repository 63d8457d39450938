"""SMO for support vector machines and their multi-view relatives, on kernels of any size.

    max_λ  Σ_v p_vᵀλ_v − Σ_t ψ_t(λ_t) − ½ Σ_v (yλ_v)ᵀK_v(yλ_v),   0 ≤ λ ≤ upper,  yᵀλ_v = 0

The compiled ``smo_joint`` optimises a working set of samples with the others held. This module
chooses the sets, fetches the rows of the kernels that they need and stops on the KKT gap: the
largest F = y(p − ∂ψ) − K(yλ) of a sample that can rise less the least of one that can fall, in the
view where it is largest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience._core import smo_joint

__all__ = ["HingeSolution", "solve_hinge"]

# samples optimised together; their kernel block stays in the second cache
SET = 512
# as many rows are one working set by themselves
WHOLE = 1500


@dataclass
class HingeSolution:
    """Multipliers λ (n), bias, pair steps, KKT gap and whether it is below the tolerance."""

    dual: np.ndarray
    bias: float
    n_iter: int
    gap: float
    converged: bool


class FullRows:
    """All rows of a kernel matrix (n x n, float32 or float64) that is there already."""

    def __init__(self, K):
        dtype = np.float32 if K.dtype == np.float32 else np.float64
        self.K = np.ascontiguousarray(K, dtype=dtype)
        self.n = len(K)

    def fetch(self, index):
        """The array that holds the rows, and where in it those of ``index`` are."""
        return self.K, index

    def times(self, g):
        """K g from the rows where g is not 0."""
        where = np.flatnonzero(g)
        return g[where] @ self.K[where] if len(where) < self.n else self.K @ g


def extremes(F, can_rise, can_fall):
    """Largest F of those that can rise, least of those that can fall, and the difference."""
    most = np.max(F, where=can_rise, initial=-np.inf)
    least = np.min(F, where=can_fall, initial=np.inf)
    return most, least, most - least


def directions(y, lam, upper):
    """Where yλ can rise and where it can fall."""
    grows, shrinks = lam < upper, lam > 0
    return np.where(y > 0, grows, shrinks), np.where(y > 0, shrinks, grows)


def bias(F, can_rise, can_fall):
    """Mean F of the free samples, which are at b; without any, the middle of where b may be."""
    free = can_rise & can_fall
    if free.any():
        return float(F[free].mean())
    most, least, _ = extremes(F, can_rise, can_fall)
    ends = [end for end in (most, least) if np.isfinite(end)]
    return float(np.mean(ends)) if ends else 0.0


def largest(values, mask, count):
    """Places of the ``count`` largest values where mask."""
    where = np.flatnonzero(mask)
    if len(where) <= count:
        return where
    values = values[where]
    return where[np.argpartition(values, len(values) - count)[len(values) - count :]]


def spread(mask, count):
    """``count`` places where mask, evenly spread."""
    where = np.flatnonzero(mask)
    return where[np.unique(np.linspace(0, len(where) - 1, min(count, len(where))).astype(int))]


def optimise(rows, y, upper, own, shared, c, lam, F, *, tol, max_iter):
    """Run working sets until the KKT gap is below tol; lam and F (V x n) are changed in place."""
    n, V = len(y), len(rows)
    steps, last = 0, np.empty(0, dtype=np.int64)
    size = n if n <= WHOLE else SET
    while True:
        gap, wanted = 0.0, []
        for v in range(V):
            can_rise, can_fall = directions(y, lam[v], upper[v])
            here = extremes(F[v], can_rise, can_fall)[2]
            gap = max(gap, here)
            if size < n:
                wanted.append((v, can_rise, can_fall))
        if gap <= tol or steps >= max_iter:
            break
        if size == n:
            chosen = np.arange(n)
        else:
            parts = []
            first = len(last) == 0
            kept = size // 2
            count = (size - (0 if first else kept)) // (2 * V)
            for v, can_rise, can_fall in wanted:
                if first and not lam.any():
                    parts += [spread(can_rise, count), spread(can_fall, count)]
                else:
                    parts += [largest(F[v], can_rise, count), largest(-F[v], can_fall, count)]
            new = np.unique(np.concatenate(parts))
            if not first:
                old = np.setdiff1d(last, new, assume_unique=True)
                free = ((lam[:, old] > 0) & (lam[:, old] < upper[:, old])).any(axis=0)
                old = old[np.argsort(~free, kind="stable")][: size - len(new)]
                new = np.union1d(new, old)
            chosen = new
        stores, slots = zip(*(source.fetch(chosen) for source in rows), strict=True)
        inner = max(tol * 0.5, 0.1 * gap) if size < n else tol
        done, _ = smo_joint(
            list(stores),
            list(slots),
            chosen,
            y,
            upper,
            own,
            shared,
            c,
            lam,
            F,
            inner,
            max_iter - steps,
        )
        steps += done
        last = chosen
        if done == 0:
            break
    return steps, gap, gap <= tol


def solve_hinge(K, y, C, tol=1e-3, max_iter=10_000_000, alpha0=None):
    """Hinge-loss support vector machine: max Σα − ½ (yα)ᵀK(yα), 0 ≤ α ≤ C, yᵀα = 0.

    Parameters
    ----------
    K : array of shape (n, n), float64 or float32, or a source of its rows
        Kernel matrix; never copied if it is contiguous.
    y : array of shape (n,)
        Labels ±1.
    C : float or array of shape (n,)
        Upper bounds.
    tol : float
        KKT gap to reach, in units of the decision function, as libsvm's.
    max_iter : int
        Most pair steps.
    alpha0 : array of shape (n,), optional
        Feasible start.

    Returns
    -------
    HingeSolution
        dual (α), bias, n_iter, gap, converged; the decision is K(·, X) (yα) + bias.
    """
    y = np.ascontiguousarray(y, dtype=np.float64)
    n = len(y)
    upper = np.ascontiguousarray(np.broadcast_to(np.asarray(C, dtype=np.float64), (1, n)))
    rows = K if hasattr(K, "fetch") else FullRows(K)
    lam, F, zero = np.zeros((1, n)), y[None].copy(), np.zeros(n)
    if alpha0 is not None:
        lam[0] = alpha0
        F[0] -= rows.times(y * lam[0])
    steps, gap, done = optimise(
        [rows], y, upper, zero, zero, 0.0, lam, F, tol=tol, max_iter=max_iter
    )
    b = bias(F[0], *directions(y, lam[0], upper[0]))
    return HingeSolution(lam[0], b, steps, float(gap), bool(done))
