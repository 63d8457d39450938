"""The slacks of coupled margins, one small problem per sample, in closed form.

    Φ(u) = min_{ξ ≥ u} ½ ξᵀ Q⁻¹ ξ = max_{λ ≥ 0} λᵀu − ½ λᵀQλ,   Q = aI + b11ᵀ, a > 0, b ≥ 0

λ is the gradient of Φ. It has the form of water filling: with u sorted in descending order,
m = the largest j with u_(j) > b/(a + bj) · Σ_{i≤j} u_(i),  θ = b/(a + bm) · Σ_{i≤m} u_(i) ≥ 0,
λ = max(0, u − θ)/a. Entries u ≤ 0 never count, so 0 stands for a slack that is free.
"""

from __future__ import annotations

import numpy as np

__all__ = ["coupling", "curvature", "water_fill"]


def coupling(c, alpha, n_views):
    """(a, b) with (I − αW)⁻¹/c² = aI + b11ᵀ, W = (11ᵀ − I)/(V − 1); W = 0 for one view."""
    r = alpha / (n_views - 1) if n_views > 1 else 0.0
    a = 1 / (c * c * (1 + r))
    return a, a * r / (1 - alpha) if n_views > 1 else 0.0


def water_fill(U, a, b):
    """λ (n x V), the gradient of Φ at every row of U (n x V)."""
    U = np.maximum(U, 0.0)
    if b > 0 and U.shape[1] == 2:
        U -= _level_of_two(U[:, 0], U[:, 1], a, b)[:, None]
    elif b > 0 and U.shape[1] > 1:
        U -= _level(U, a, b)[:, None]
    elif b > 0:
        U *= a / (a + b)
    np.maximum(U, 0.0, out=U)
    U /= a
    return U


def _level_of_two(u, v, a, b):
    low, both = np.minimum(u, v), u + v
    shared = low * (a + 2 * b) > b * both
    return np.where(shared, b / (a + 2 * b) * both, b / (a + b) * (both - low))


def _level(U, a, b):
    ordered = -np.sort(-U, axis=1)
    theta, total = np.zeros(len(U)), np.zeros(len(U))
    for j, u in enumerate(ordered.T, start=1):
        total += u
        candidate = b / (a + b * j) * total
        # the condition holds for the first m entries and for none after them
        theta = np.where(u > candidate, candidate, theta)
    return theta


def curvature(lam, a, b):
    """Generalised Hessian of Φ at λ as (own, shared), n vectors each.

    On the active entries (λ > 0) it is own · I − shared · 11ᵀ, elsewhere 0.
    """
    active = np.count_nonzero(lam, axis=1)
    return np.full(len(lam), 1 / a), b / (a * (a + b * active))
