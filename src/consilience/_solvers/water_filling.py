"""The slacks of coupled margins, one small problem per sample, in closed form.

    Φ(u) = min_{ξ ≥ u} ½ ξᵀ Q⁻¹ ξ = max_{λ ≥ 0} λᵀu − ½ λᵀQλ,   Q = aI + b11ᵀ, a > 0, b ≥ 0

λ is the gradient of Φ. It has the form of water filling: with u sorted in descending order,
m = the largest j with u_(j) > b/(a + bj) · Σ_{i≤j} u_(i),  θ = b/(a + bm) · Σ_{i≤m} u_(i) ≥ 0,
λ = max(0, u − θ)/a. Entries u ≤ 0 never count, so a slack that is free is given as 0.

All arrays may have leading axes, e.g. one for several problems.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Curvature", "coupling", "water_fill"]


def coupling(c: float, alpha: float, n_views: int) -> tuple[float, float]:
    """(a, b) with (I − αW)⁻¹/c² = aI + b11ᵀ, W = (11ᵀ − I)/(V − 1); W = 0 for one view."""
    r = alpha / (n_views - 1) if n_views > 1 else 0.0
    a = 1 / (c * c * (1 + r))
    return a, a * r / (1 - alpha) if n_views > 1 else 0.0


def water_fill(U: np.ndarray, a: float, b: float) -> np.ndarray:
    """λ, the gradient of Φ at every row of U (… x n x V)."""
    U, V = np.maximum(U, 0.0), U.shape[-1]
    if b > 0 and V == 2:
        U -= _level_of_two(U[..., 0], U[..., 1], a, b)[..., None]
    elif b > 0 and V > 1:
        U -= _level(U, a, b)[..., None]
    elif b > 0:
        U *= a / (a + b)
    np.maximum(U, 0.0, out=U)
    U /= a
    return U


def _level_of_two(u: np.ndarray, v: np.ndarray, a: float, b: float) -> np.ndarray:
    low, both = np.minimum(u, v), u + v
    shared = low * (a + 2 * b) > b * both
    return np.where(shared, b / (a + 2 * b) * both, b / (a + b) * (both - low))


def _level(U: np.ndarray, a: float, b: float) -> np.ndarray:
    ordered = -np.sort(-U, axis=-1)
    theta, total = np.zeros(U.shape[:-1]), np.zeros(U.shape[:-1])
    for j, u in enumerate(np.moveaxis(ordered, -1, 0), start=1):
        total += u
        candidate = b / (a + b * j) * total
        # the condition holds for the first m entries and for none after them
        theta = np.where(u > candidate, candidate, theta)
    return theta


class Curvature:
    """Generalised Hessian of ω Φ: own · I − shared · 11ᵀ on the active entries, 0 elsewhere.

    Parameters
    ----------
    lam : array of shape (…, n, V)
        Multipliers; the active entries are those above 0.
    a, b : float
        Coupling of the slacks.
    weight : float or array of shape (n,)
        ω.
    """

    def __init__(self, lam: np.ndarray, a: float, b: float, weight: Any = 1.0) -> None:
        number = np.count_nonzero(lam, axis=-1)
        self.active = lam > 0
        self.own = np.full(number.shape, 1 / a) * weight
        self.shared = b / (a * (a + b * number)) * weight

    def __getitem__(self, which: Any) -> Curvature:
        """The same for some of the problems, or of the samples if there is one problem."""
        part = object.__new__(Curvature)
        part.active, part.own, part.shared = self.active[which], self.own[which], self.shared[which]
        return part

    def block(self, u: int, v: int) -> np.ndarray:
        """Entry (u, v) of every sample's Hessian, (…, n)."""
        both = self.active[..., u] & self.active[..., v]
        return (self.own * (u == v) - self.shared) * both

    def diagonal(self) -> np.ndarray:
        """Diagonals, (…, n, V)."""
        return (self.own - self.shared)[..., None] * self.active

    def multiply(self, Q: np.ndarray) -> np.ndarray:
        """Every sample's Hessian times a row of Q (…, n, V)."""
        Q = Q * self.active
        return self.own[..., None] * Q - self.active * (self.shared * Q.sum(axis=-1))[..., None]
