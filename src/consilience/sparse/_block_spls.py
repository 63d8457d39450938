"""Components of block sparse partial least squares: sparse generalised canonical correlation.

For each component, loadings a_v of the views and a_Y of the dummy-coded classes maximise
Σ_{u≠v} c_uv cov(X_u a_u, X_v a_v) with |a_v| = 1 and ``keep`` entries that are not 0, one view
after the other; then each view is deflated by its own component, and Y by those of all views.

Reference: A. Tenenhaus et al., "Variable selection for generalized canonical correlation analysis",
Biostatistics 15 (2014); A. Singh et al., "DIABLO: an integrative approach for identifying key
molecular drivers from multi-omics assays", Bioinformatics 35 (2019).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from consilience._solvers.penalised import StandardisedColumns

__all__ = ["BlockComponents", "DeflatedView", "fit_components", "keep_largest"]

EXHAUSTED = 1e-10


def keep_largest(u: np.ndarray, keep: int, soft: bool) -> np.ndarray:
    """Loadings of norm 1 along u with at most ``keep`` entries that are not 0.

    Soft thresholding subtracts the largest of the other entries; among equal entries the first
    are kept.
    """
    if keep < len(u):
        order = np.argsort(-np.abs(u), kind="stable")
        threshold = np.abs(u[order[keep]]) if soft else 0.0
        out = np.zeros_like(u)
        kept = order[:keep]
        out[kept] = np.sign(u[kept]) * (np.abs(u[kept]) - threshold)
        if not out.any():  # all of them are equal
            out[kept] = u[kept]
        u = out
    size = np.linalg.norm(u)
    return u / size if size > 0 else u


class DeflatedView:
    """A view times the roots of the row weights, less the components found so far."""

    def __init__(self, columns: StandardisedColumns, roots: np.ndarray) -> None:
        self.columns, self.roots = columns, roots
        self.scores: list[np.ndarray] = []
        self.projections: list[np.ndarray] = []
        self.first_covariance = 0.0  # size of X'Y before any deflation

    def is_exhausted(self, covariance: np.ndarray) -> bool:
        """Whether X'Y is but rounding errors, compared with that of the first component."""
        size = float(np.linalg.norm(covariance))
        self.first_covariance = self.first_covariance or size
        return size <= EXHAUSTED * self.first_covariance

    def matvec(self, a: np.ndarray) -> np.ndarray:
        """Component of loadings a."""
        out = self.roots * self.columns.matvec(a)
        for t, p in zip(self.scores, self.projections, strict=True):
            out -= t * (p @ a)
        return out

    def rmatvec(self, Z: np.ndarray) -> np.ndarray:
        """X'Z for a matrix (n x m)."""
        out = self.columns.rmatvec(self.roots[:, None] * Z)
        for t, p in zip(self.scores, self.projections, strict=True):
            out -= np.outer(p, t @ Z)
        return out

    def deflate(self, t: np.ndarray) -> None:
        """Subtract the regression of the columns on a component."""
        square = t @ t
        p = (
            self.rmatvec(t[:, None])[:, 0] / square
            if square > 0
            else np.zeros(len(self.columns.mean))
        )
        self.scores.append(t)
        self.projections.append(p)


@dataclass(eq=False)
class BlockComponents:
    """Loadings (d_v x H), rotations (d_v x H) and scores (n x H) of the views, the same of Y.

    Scores are those of rows times the roots of their weights. ``criteria`` has the values of the
    criterion after each update, of every component.
    """

    loadings: list[np.ndarray]
    rotations: list[np.ndarray]
    scores: list[np.ndarray]
    y_loadings: np.ndarray
    y_scores: np.ndarray
    converged: bool
    criteria: list[list[float]] = field(default_factory=list)


def fit_components(
    views: list[DeflatedView],
    Y: np.ndarray,
    design: np.ndarray,
    keep: np.ndarray,
    *,
    soft: bool = True,
    tol: float = 1e-10,
    max_iter: int = 500,
) -> BlockComponents:
    """H components; ``design`` is V x V, ``keep`` V x H, Y (n x K) is centred and scaled."""
    V, H = keep.shape
    out = BlockComponents([], [], [], np.empty((Y.shape[1], H)), np.empty((len(Y), H)), True)
    loadings: list[list[np.ndarray]] = [[] for _ in views]
    for h in range(H):
        a, b, values, converged = one_component(views, Y, design, keep[:, h], soft, tol, max_iter)
        out.converged &= converged
        out.criteria.append(values)
        out.y_loadings[:, h], out.y_scores[:, h] = b, Y @ b
        rest = np.zeros_like(Y)
        for v, view in enumerate(views):
            t = view.matvec(a[v])
            loadings[v].append(a[v])
            view.deflate(t)
            square = t @ t
            rest += Y - np.outer(t, t @ Y) / square if square > 0 else Y
        Y = rest / V
    for v, view in enumerate(views):
        A, P = np.column_stack(loadings[v]), np.column_stack(view.projections)
        out.loadings.append(A)
        out.rotations.append(A @ np.linalg.pinv(P.T @ A))
        out.scores.append(np.column_stack(view.scores))
    return out


def one_component(
    views: list[DeflatedView],
    Y: np.ndarray,
    design: np.ndarray,
    keep: np.ndarray,
    soft: bool,
    tol: float,
    max_iter: int,
) -> tuple[list[np.ndarray], np.ndarray, list[float], bool]:
    """Loadings of all views and of Y, the criterion after every update, and convergence."""
    a = [initial_loadings(view, Y, int(k), soft) for view, k in zip(views, keep, strict=True)]
    is_used = [own.any() for own in a]
    T = np.array([view.matvec(own) for view, own in zip(views, a, strict=True)])
    b = unit(Y.T @ T.sum(axis=0))
    values = [criterion(T, Y @ b, design)]
    for _ in range(max_iter):
        moved = 0.0
        for v, view in enumerate(views):
            if not is_used[v]:
                continue
            z = design[v] @ T + Y @ b  # the design is 0 on its diagonal
            new = keep_largest(view.rmatvec(z[:, None])[:, 0], int(keep[v]), soft)
            moved = max(moved, float(((new - a[v]) ** 2).sum()))
            a[v], T[v] = new, view.matvec(new)
            values.append(criterion(T, Y @ b, design))
        b = unit(Y.T @ T.sum(axis=0))
        values.append(criterion(T, Y @ b, design))
        if moved**0.5 <= tol:
            return a, b, values, True
    return a, b, values, False


def initial_loadings(view: DeflatedView, Y: np.ndarray, keep: int, soft: bool) -> np.ndarray:
    """First left singular vector of X'Y, with its largest entry positive; 0 if none is left."""
    C = view.rmatvec(Y)
    if view.is_exhausted(C):
        return np.zeros(len(C))
    u = C @ np.linalg.eigh(C.T @ C)[1][:, -1]
    largest = np.argmax(np.abs(u))
    return keep_largest(u if u[largest] >= 0 else -u, keep, soft)


def unit(u: np.ndarray) -> np.ndarray:
    size = np.linalg.norm(u)
    return u / size if size > 0 else u


def criterion(T: np.ndarray, y_score: np.ndarray, design: np.ndarray) -> float:
    """Σ_{u<v} c_uv t_u·t_v + Σ_v t_v·t_Y."""
    gram = T @ T.T
    return float(0.5 * (design * gram).sum() + (T @ y_score).sum())
