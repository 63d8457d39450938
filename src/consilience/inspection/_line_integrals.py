"""Contributions of columns to smooth scores: derivatives integrated along a line.

A score f is written as f(mean row) + Σ_j c_j with

    c_j = (x_j − m_j) ∫₀¹ ∂f/∂x_j (m + t (x − m)) dt,

the integrated gradients of M. Sundararajan, A. Taly and Q. Yan, "Axiomatic attribution for deep
networks", ICML 2017. What is returned is never c itself (n x d x K), but its product with one
target for each row and class, Σ_k T_ik c_ijk (n x d).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

__all__ = [
    "RadialView",
    "linear_agreement",
    "radial_agreement",
    "softmax_targets",
    "to_dense",
]

# points of the Gauss–Legendre rule along the line
N_POINTS = 3
N_SOFTMAX_POINTS = 12  # where logits become probabilities; they cost next to nothing


def line_rule(n_points: int = N_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Points in (0, 1) and weights of the quadrature rule."""
    points, weights = np.polynomial.legendre.leggauss(n_points)
    return (points + 1) / 2, weights / 2


def to_dense(X: Any) -> np.ndarray:
    """A matrix as an array of double precision."""
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def linear_agreement(X: Any, coef: np.ndarray, mean: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Σ_k T_ik (x_ij − m_j) coef_jk for scores X @ coef, with coef d x K."""
    return (targets @ coef.T) * (to_dense(X) - mean)


def softmax_targets(start: np.ndarray, end: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Targets of logits instead of those of probabilities.

    Probabilities are softmax(logits); from ``start`` (K) to ``end`` (n x K) the logits move on a
    line, along which the derivatives of softmax are averaged.
    """
    out = np.zeros_like(targets)
    for t, weight in zip(*line_rule(N_SOFTMAX_POINTS), strict=True):
        p = softmax(start + t * (end - start), axis=1)
        out += weight * p * (targets - (p * targets).sum(axis=1, keepdims=True))
    return out


@dataclass(frozen=True, eq=False)
class RadialView:
    """Rows of a view (n x d), the centres (m x d) they are compared with, and 1 / scale.

    ``means`` (M x m), if given, makes M distances from those to the m centres, less ``offsets``.
    """

    X: Any
    centres: Any
    inverse_scale: float
    weight: float = 1.0
    means: Any = None
    offsets: np.ndarray | None = None

    def origin(self) -> np.ndarray:
        """Mean of the centres, where the line begins."""
        return np.asarray(self.centres.mean(axis=0), dtype=np.float64).ravel()


def radial_agreement(
    views: list[RadialView], width: float, coef: np.ndarray, targets: np.ndarray, joint: bool
) -> list[np.ndarray]:
    """Σ_k T_ik c_ijk (list over the views of n x d) for scores K(x) @ coef.

    K = Σ_v w_v exp(−f D_v), or with ``joint`` ½ [ Σ_v w_v exp(−f D_v) + exp(−f Σ_v w_v D_v) ],
    where D_v are squared distances divided by the view's scale and coef is m x K.
    """
    pull = targets @ coef.T
    lines = [_Line.from_view(view) for view in views]
    totals = [np.zeros((len(targets), line.n_centres)) for line in lines]
    first = [np.zeros(len(targets)) for _ in lines]  # Σ_t of the weights, and times t
    second = [np.zeros(len(targets)) for _ in lines]
    for t, rule_weight in zip(*line_rule(), strict=True):
        Ds = [line.distances(t) for line in lines]
        together: Any = 0.0
        if joint:
            exponent = sum(view.weight * D for view, D in zip(views, Ds, strict=True))
            together = np.exp(-width * exponent)
        for v, (line, D) in enumerate(zip(lines, Ds, strict=True)):
            W = rule_weight * pull * (np.exp(-width * D) + together)
            row_sums = W.sum(axis=1)
            first[v] += row_sums
            second[v] += t * row_sums
            totals[v] += line.to_centres(W)
    out = []
    for v, (view, line) in enumerate(zip(views, lines, strict=True)):
        factor = (1.0 if joint else 2.0) * width * view.weight * view.inverse_scale
        mixed = np.asarray(totals[v] @ view.centres, dtype=np.float64)
        shift = line.shift
        slope = mixed - first[v][:, None] * line.origin - second[v][:, None] * shift
        out.append(factor * slope * shift)
    return out


@dataclass(frozen=True, eq=False)
class _Line:
    """Products from which the distances of all points of the line follow."""

    view: RadialView
    origin: np.ndarray
    shift: np.ndarray  # x − origin
    start: np.ndarray  # |origin − z|² for the centres z
    products: np.ndarray  # (x − origin)·(z − origin)
    norms: np.ndarray  # |x − origin|²

    @classmethod
    def from_view(cls, view: RadialView) -> _Line:
        origin = view.origin()
        shift = to_dense(view.X) - origin
        at_origin = np.asarray(view.centres @ origin).ravel()
        squares = (
            view.centres.multiply(view.centres) if sp.issparse(view.centres) else view.centres**2
        )
        norms = np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
        start = norms - 2 * at_origin + origin @ origin
        products = np.asarray((view.centres @ shift.T).T) - (shift @ origin)[:, None]
        return cls(view, origin, shift, start, products, np.einsum("ij,ij->i", shift, shift))

    @property
    def n_centres(self) -> int:
        return self.view.centres.shape[0]

    def distances(self, t: float) -> np.ndarray:
        """Scaled squared distances (n x M) of the points at t."""
        D = self.start - 2 * t * self.products + (t**2 * self.norms)[:, None]
        D *= self.view.inverse_scale
        if self.view.means is None:
            return D
        return np.asarray(D @ self.view.means.T) - self.view.offsets

    def to_centres(self, W: np.ndarray) -> np.ndarray:
        """Weights of distances (n x M) as weights of the centres (n x m)."""
        return W if self.view.means is None else np.asarray(W @ self.view.means)
