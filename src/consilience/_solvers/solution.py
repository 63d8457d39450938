"""What the solvers return, whatever their method: a solution in the primal or in the dual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["DualSolution", "Solution", "multipliers", "summarise"]


@dataclass
class Solution:
    """Primal solution.

    Attributes
    ----------
    theta : array of shape (m,) or (m, P)
        Parameters, coefficients before intercepts; one column for each of P problems.
    n_iter : int
        Number of iterations.
    residual : float
        Relative residual of the optimality conditions.
    converged : bool
        Whether the residual is as small as was asked for, or as rounding allows.
    lam : array of shape (n, V) or None
        Multipliers λ of the samples and views, where the solver knows them.
    """

    theta: np.ndarray
    n_iter: int
    residual: float
    converged: bool
    lam: np.ndarray | None = None


@dataclass
class DualSolution:
    """Solution of a kernel machine: there is no θ, and the decisions are known at the samples.

    Attributes
    ----------
    dual : array of shape (n,) or (V, n)
        Multipliers; one row for each view if there are several.
    bias : float or array of shape (V,)
        Intercepts.
    n_iter : int
        Number of pair steps.
    residual : float
        Gap of the optimality conditions in units of the decision function.
    converged : bool
        Whether the gap is as small as was asked for.
    decisions : array in the shape of ``dual``
        K g + b at the samples, with the signed multipliers g = yα.
    """

    dual: np.ndarray
    bias: Any
    n_iter: int
    residual: float
    converged: bool
    decisions: np.ndarray


def multipliers(solution: Solution) -> np.ndarray:
    """λ of a solution that has it."""
    if solution.lam is None:
        raise ValueError("the solver does not know the multipliers")
    return solution.lam


def summarise(parts: Sequence[Any]) -> dict[str, Any]:
    """Iterations, residual and convergence of a solution that is made of several."""
    return {
        "n_iter": max(part.n_iter for part in parts),
        "residual": max(part.residual for part in parts),
        "converged": all(part.converged for part in parts),
    }
