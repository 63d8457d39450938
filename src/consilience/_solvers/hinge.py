"""Hinge machines on one matrix, and LIBLINEAR where that is large: one binary problem at a time.

min_{w, b}  ½|w|² + Σ_i ω_i max(0, 1 − y_i (w·x_i + b))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.svm import SVC, LinearSVC

from consilience._solvers.interior_point import Constraints, Loss, solve_margins
from consilience._solvers.solution import Solution

__all__ = ["GramSolution", "minimise_by_liblinear", "minimise_hinge", "minimise_hinge_by_gram"]

# LIBLINEAR punishes the intercept by b² / (2 · SCALING²)
INTERCEPT_SCALING = 10.0


class OneView:
    """A matrix (n x d) as what ``solve_margins`` asks of views; without intercept b stays 0."""

    V = 1

    def __init__(self, X: np.ndarray, intercept: bool) -> None:
        self.X, self.bias = X, float(intercept)
        self.n, self.d = X.shape
        self.size = self.d + 1

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        """Xw + b, n x 1."""
        return (self.X @ theta[:-1] + self.bias * theta[-1])[:, None]

    def rmatvec(self, R: np.ndarray) -> np.ndarray:
        """[Xᵀ r; Σ r]."""
        return np.append(self.X.T @ R[:, 0], self.bias * R.sum())

    def gram(self, weights: Callable[[int, int], np.ndarray]) -> np.ndarray:
        """[X, 1]ᵀ diag(weights) [X, 1]."""
        weight = weights(0, 0)
        scaled = self.X * np.sqrt(weight)[:, None]
        H = np.zeros((self.size, self.size))
        H[:-1, :-1] = scaled.T @ scaled
        H[:-1, -1] = self.bias * (self.X.T @ weight)
        H[-1, -1] = self.bias * weight.sum()
        return H


def minimise_hinge(
    X: Any,
    y: np.ndarray,
    cost: np.ndarray,
    *,
    intercept: bool = True,
    tol: float = 1e-11,
    max_iter: int = 100,
) -> Solution:
    """Solve the problem above by interior points -> Solution, θ = (w, b)."""
    n, mean = len(y), cost.mean()
    # margin 1 − ξ at least, and ξ ≥ 0
    constraints = Constraints(
        slot=np.array([0, 0]),
        H=np.array([[1.0], [0.0]]),
        h=np.array([1.0, 0.0]),
        on=np.ones((n, 2), dtype=bool),
        final=np.zeros(2),
    )
    rows = OneView(np.asarray(X, dtype=np.float64), intercept)
    loss = Loss.linear([mean])
    return solve_margins(rows, y, cost / mean, loss, constraints, tol=tol, max_iter=max_iter)


class GramSolution(NamedTuple):
    """w = Σ_i coefs_i x_i and the intercept."""

    coefs: np.ndarray
    bias: float
    n_iter: int
    converged: bool


def minimise_hinge_by_gram(
    G: np.ndarray, y: np.ndarray, cost: np.ndarray, *, tol: float = 1e-6
) -> GramSolution:
    """Solve the problem, which has an intercept, from the Gram matrix XXᵀ by LIBSVM's SMO."""
    model = SVC(C=1.0, kernel="precomputed", tol=tol, cache_size=500)
    model.fit(G, y, sample_weight=cost)
    coefs = np.zeros(len(y))
    coefs[model.support_] = model.dual_coef_[0]
    return GramSolution(
        coefs, float(model.intercept_[0]), int(np.max(model.n_iter_)), model.fit_status_ == 0
    )


def minimise_by_liblinear(
    X: Any,
    y: np.ndarray,
    cost: np.ndarray,
    loss: str,
    *,
    intercept: bool = True,
    tol: float = 1e-4,
    max_iter: int = 1000,
    seed: int = 0,
) -> tuple[np.ndarray, int]:
    """w, b (slightly punished) and steps of LIBLINEAR's dual coordinate descent."""
    model = LinearSVC(
        loss=loss,
        dual=True,
        fit_intercept=intercept,
        intercept_scaling=INTERCEPT_SCALING,
        tol=tol,
        max_iter=max_iter,
        random_state=seed,
    ).fit(X, y, sample_weight=cost)
    bias = model.intercept_[0] if intercept else 0.0
    return np.append(model.coef_[0], bias), model.n_iter_
