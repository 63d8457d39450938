"""Newton on the free multipliers of a coupled dual, where pair steps converge too slowly.

    max Σ pλ − Σ_t ψ_t(λ_t) − ½ Σ_v (yλ_v)ᵀK_v(yλ_v),   0 ≤ λ ≤ upper,   yᵀλ_v = 0

Given: a feasible λ near the solution. A change of the margins' sum μ_t = Σ_v λ_tv that the views
share takes pairs of several views, so that SMO creeps along kernels that are nearly singular. Here
the multipliers strictly between their bounds, d = yδλ, and the intercepts b solve one system,

    F_v = b_v + (K_v + own) d_v + shared Σ_u d_u,   Σ_t d_tv = 0,   F = y(p − ∂ψ/∂λ) − K(yλ),

and a step ends where the first of them meets a bound, which fixes it.

Reference: J. Nocedal, S. Wright, "Numerical Optimization", 2nd ed., Springer 2006, section 16.5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["newton_step", "step_to_bound"]

# singular values that count as zero, relative to the largest
SINGULAR_BELOW = 1e-15


def newton_step(
    blocks: list[np.ndarray],
    free: list[np.ndarray],
    F: np.ndarray,
    own: np.ndarray,
    shared: np.ndarray,
) -> np.ndarray:
    """d (V x n), zero where a multiplier is not free; the shortest if there are several.

    Parameters
    ----------
    blocks : list of V arrays of shape (m_v, m_v)
        Kernels between the free samples of each view.
    free : list of V int arrays of shape (m_v,)
        Free samples.
    F : array of shape (V, n)
        What has to become constant on the free samples of a view.
    own, shared : arrays of shape (n,)
        Curvature of ψ in a single λ_tv, and in μ_t.
    """
    V, sizes = len(free), [len(samples) for samples in free]
    samples, views = np.concatenate(free), np.repeat(np.arange(V), sizes)
    m = len(samples)
    system = np.zeros((m + V, m + V))
    system[:m, :m] = (samples[:, None] == samples) * shared[samples]
    ends = np.cumsum(sizes)
    for block, end, size in zip(blocks, ends, sizes, strict=True):
        system[end - size : end, end - size : end] += block
    system[np.arange(m), np.arange(m)] += own[samples]
    system[np.arange(m), m + views] = system[m + views, np.arange(m)] = 1.0
    rhs = np.append(F[views, samples], np.zeros(V))
    solution: Any = np.linalg.lstsq(system, rhs, rcond=SINGULAR_BELOW)[0]
    d = np.zeros_like(F)
    d[views, samples] = solution[:m]
    return d


def step_to_bound(lam: np.ndarray, change: np.ndarray, upper: np.ndarray) -> float:
    """The largest t ≤ 1 for which λ + t δ stays within its bounds."""
    falls, rises = change < 0, (change > 0) & np.isfinite(upper)
    down = np.min(lam[falls] / -change[falls], initial=1.0)
    up = np.min((upper[rises] - lam[rises]) / change[rises], initial=1.0)
    return float(min(down, up))
