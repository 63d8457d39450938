"""Ridge-penalised logistic and multinomial regression on columns that outnumber the rows.

problem    min over B, b of Σ_i w_i loss(y_i, b + x_i B) + λ |B|²/2
method     an optimal B is X'A, so X is replaced by a factor Z of XX' = ZZ' with as many columns as
           XX' has positive eigenvalues; the penalties of both problems agree
reference  T. Hastie, R. Tibshirani, "Efficient quadratic regularization for expression arrays",
           Biostatistics 5 (2004)
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from consilience._solvers.penalised import (
    PathSolver,
    Penalty,
    StandardisedColumns,
    StandardisedViews,
)

__all__ = ["RidgePath", "ridge_coefficients"]

LEAST_EIGENVALUE = 1e-10  # relative to the largest


class RidgePath:
    """Solves for descending λ; ``coefficients`` are those of the columns of the views.

    Parameters
    ----------
    views : StandardisedViews
        Columns.
    codes : int array of shape (n,)
        Class of each row.
    n_classes : int
        Number of classes K.
    tol : float, default=1e-6
        Duality gap to reach, as a share of the loss without any column.
    """

    def __init__(
        self, views: StandardisedViews, codes: np.ndarray, n_classes: int, tol: float = 1e-6
    ) -> None:
        self._columns = [
            StandardisedColumns(parts, views.present[v].astype(bool))
            for v, parts in enumerate(views.parts)
        ]
        values, vectors = eigh(np.sum([columns.gram() for columns in self._columns], axis=0))
        kept = values > LEAST_EIGENVALUE * max(values[-1], np.finfo(float).tiny)
        self._lift = vectors[:, kept] / np.sqrt(values[kept])
        factor = vectors[:, kept] * np.sqrt(values[kept])
        if not kept.any():
            factor = np.zeros((len(codes), 1))
            self._lift = np.zeros((len(codes), 1))
        d = factor.shape[1]
        penalty = Penalty(np.array([0, d]), np.zeros(d), np.zeros(1), np.ones(1))
        # centred by weights already, so that centring again changes nothing
        reduced = StandardisedViews(
            [factor], np.ones((len(codes), 1), dtype=bool), views.weight, scale=False
        )
        self._mean = reduced.means[0]
        self.solver = PathSolver(reduced, codes, n_classes, penalty, tol=tol)
        self.converged = False  # whether the last solution is as exact as was asked for

    @property
    def lam_max(self) -> float:
        """Largest λ of a path."""
        return self.solver.lam_max

    def solve(self, lam: float) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (d x outputs) of all views' standardised columns, and the intercept."""
        point = self.solver.solve(lam)
        self.converged = point.converged
        A = self._lift @ point.coef
        coef = np.concatenate([columns.rmatvec(A) for columns in self._columns])
        return coef, point.intercept - self._mean @ point.coef


def ridge_coefficients(
    views: StandardisedViews, codes: np.ndarray, n_classes: int, share: float
) -> np.ndarray:
    """Coefficients (d x outputs) of a ridge regression at a share of its largest λ."""
    path = RidgePath(views, codes, n_classes)
    return path.solve(share * path.lam_max)[0]
