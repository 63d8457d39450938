"""Linear support vector machines on projected rows, one for each class against the rest.

"gram" solves hinge problems with one unknown for each row instead of each column.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience._compat import Progress
from consilience._solvers.hinge import (
    minimise_by_liblinear,
    minimise_hinge,
    minimise_hinge_by_gram,
)
from consilience._solvers.row_sums import InMemoryRows
from consilience._solvers.squared_hinge import minimise_squared_hinge

__all__ = ["NEWTON_METHODS", "SOLVERS", "learn"]

SOLVERS = {
    "squared_hinge": ("auto", "newton", "newton-cg", "liblinear"),
    "hinge": ("auto", "interior-point", "gram", "liblinear"),
}
NEWTON_METHODS = {"auto": "auto", "newton": "direct", "newton-cg": "cg"}
# multiplications per iteration from which LIBLINEAR is faster than interior points
INTERIOR_POINT_MAX_FLOPS = 2e10


def learn(
    M: np.ndarray,
    signs: np.ndarray,
    cost: np.ndarray,
    *,
    loss: str,
    intercept: bool,
    solver: str,
    tol: float,
    max_iter: int,
    rng: np.random.RandomState,
    progress: Progress,
    n_jobs: int | None,
) -> tuple[np.ndarray, int, bool]:
    """Solve min ½|w|² + Σ cost loss(y(Mw + b)) for each row y of ``signs`` (P x n).

    Returns θ = (w, b) of shape (p + 1, P), the number of iterations, and whether all converged.
    """
    if solver == "gram":
        return _learn_from_gram(M, signs, cost, tol, progress)
    if loss == "squared_hinge" and solver != "liblinear":
        rows = InMemoryRows(M, signs.T, cost, intercept=intercept, n_jobs=n_jobs)
        solution = minimise_squared_hinge(
            rows, method=NEWTON_METHODS[solver], tol=tol, max_iter=max_iter, random_state=rng
        )
        return solution.theta, solution.n_iter, solution.converged
    is_small = M.size * M.shape[1] <= INTERIOR_POINT_MAX_FLOPS
    if solver == "interior-point" or (solver == "auto" and is_small):
        solutions = progress.map(
            lambda y: minimise_hinge(
                M, y, cost, intercept=intercept, tol=min(tol, 1e-9), max_iter=max_iter
            ),
            signs,
            "solve",
        )
        theta = np.stack([s.theta for s in solutions], axis=1)
        return theta, max(s.n_iter for s in solutions), all(s.converged for s in solutions)
    seed = rng.randint(np.iinfo(np.int32).max)
    settings: dict[str, Any] = {
        "tol": tol,
        "max_iter": 1000 * max_iter,
        "seed": seed,
        "intercept": intercept,
    }
    pairs = progress.map(
        lambda y: minimise_by_liblinear(M, y, cost, loss, **settings), signs, "solve"
    )
    n_iter = max(steps for _, steps in pairs)
    theta = np.stack([theta for theta, _ in pairs], axis=1)
    return theta, n_iter, n_iter < settings["max_iter"]


def _learn_from_gram(
    M: np.ndarray, signs: np.ndarray, cost: np.ndarray, tol: float, progress: Progress
) -> tuple[np.ndarray, int, bool]:
    """Solve hinge machines in the span of the rows, w = Mᵀa, given G = MMᵀ."""
    G = M @ M.T
    solutions = progress.map(lambda y: minimise_hinge_by_gram(G, y, cost, tol=tol), signs, "solve")
    coefs = np.stack([solution.coefs for solution in solutions], axis=1)
    biases = np.array([solution.bias for solution in solutions])
    return (
        np.vstack([M.T @ coefs, biases]),
        max(solution.n_iter for solution in solutions),
        all(solution.converged for solution in solutions),
    )
