"""Learn coefficients g and a metric A ⪰ 0 between views together.

    min |Y − Φg|² + λ tr gᵀA⁻¹g + Ω(A),   Ω(A) = η|A|²_F ("dense") or η Σ_uv |A_uv|_F ("sparse")

The problem is convex in (A, g) together, but alternating between them would never leave the
columns of the first g, so A is eliminated.

Dense: the best A for g = U diag(σ) Vᵀ is (λ/2η)^⅓ U diag(σ^⅔) Uᵀ, which leaves
|Y − Φg|² + κ Σ σ^{4/3} with κ = 3 (λ²η/4)^⅓. Sparse: the same within every view, and
|Y − Φg|² + κ Σ_v |σ_v|_{4/3} with κ = 2 √(λη). That this A has no blocks between views costs
nothing: the dual asks for λbbᵀ, b = Φᵀ(Y − Φg)/λ, below some matrix with blocks of norm at most η,
and it is one itself as soon as its diagonal blocks are, for |b_u b_vᵀ|² ≤ |b_u b_uᵀ| |b_v b_vᵀ|. So
the sparse metric chooses views.

Reference: R. Huusari, H. Kadri, C. Capponi, "Multi-view metric learning in vector-valued kernel
spaces", AISTATS 2018.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve, eigh

__all__ = ["LeastSquares", "MetricSolution", "learn_dense", "learn_sparse", "solve_coefficients"]

TINY = 1e-300


@dataclass
class MetricSolution:
    """A (d x d), g (d x P), objective before and after each iteration, relative duality gap."""

    metric: np.ndarray
    coef: np.ndarray
    objective_curve: np.ndarray
    gap: float


class LeastSquares:
    """|Y − Φg|² with sample weights, computed from its moments.

    Parameters
    ----------
    Phi : array of shape (n, d)
        Features of all views side by side.
    Y : array of shape (n, P)
        Targets.
    weight : array of shape (n,)
        Sample weights.
    """

    def __init__(self, Phi: np.ndarray, Y: np.ndarray, weight: np.ndarray) -> None:
        self.gram = (Phi * weight[:, None]).T @ Phi
        self.cross = Phi.T @ (weight[:, None] * Y)
        self.total = weight @ (Y**2).sum(axis=1)

    def rotate_targets(self) -> tuple[LeastSquares, np.ndarray]:
        """The problem for targets Y Q, Q orthogonal, without those that no g can explain; and Qᵀ.

        Singular values of g do not depend on Q, and no tangent becomes singular where targets
        depend on each other.
        """
        _, sizes, Qt = np.linalg.svd(self.cross, full_matrices=False)
        Qt = Qt[: max((sizes > 1e-12 * sizes.max(initial=0.0)).sum(), 1)]
        rotated = copy.copy(self)
        rotated.cross = self.cross @ Qt.T
        return rotated, Qt

    def at(self, g: np.ndarray) -> tuple[float, np.ndarray, float]:
        """Value |Y − Φg|², Φᵀ(Y − Φg), and tr Yᵀ(Y − Φg)."""
        gram_g = self.gram @ g
        left = self.total - (self.cross * g).sum()
        return (
            max(left - (self.cross * g).sum() + (g * gram_g).sum(), 0.0),
            self.cross - gram_g,
            left,
        )


def solve_coefficients(
    problem: LeastSquares, A: np.ndarray, lam: float
) -> tuple[np.ndarray, float]:
    """For a given A: g = R(RᵀΦᵀΦR + λI)⁻¹RᵀΦᵀY with RRᵀ = A, and the objective without Ω."""
    values, vectors = eigh(A)
    R = vectors * np.sqrt(np.maximum(values, 0.0))
    inner = R.T @ problem.gram @ R + lam * np.eye(len(A))
    g = R @ cho_solve(cho_factor(inner), R.T @ problem.cross)
    return g, problem.total - (problem.cross * g).sum()


def relative_gap(gap: float, value: float) -> float:
    """Gap as a share of the value."""
    return float(max(gap, 0.0) / value) if value > 0 else 0.0


# -- dense ---------------------------------------------------------------------------------------


def dense_bound(residual: np.ndarray, loss: float, left: float, lam: float, eta: float) -> float:
    """The dual at α = (Y − Φg)/λ; ``residual`` is Φᵀ(Y − Φg)."""
    return 2 * left - loss - ((residual.T @ residual) ** 2).sum() / (4 * eta * lam**2)


def learn_dense(
    problem: LeastSquares, lam: float, eta: float, *, tol: float = 1e-6, max_iter: int = 1000
) -> MetricSolution:
    """Majorise Σ σ^{4/3} = tr (gᵀg)^⅔, concave in gᵀg, by its tangent.

    What remains is ΦᵀΦg + gH = ΦᵀY with H = ⅔κ (gᵀg)^−⅓, solved by eigenvalues; every step lowers
    the objective and leaves at most ⅔ of the previous error.
    """
    values, vectors = eigh(problem.gram)
    values, cross = np.maximum(values, 0.0)[:, None], vectors.T @ problem.cross
    kappa = 3 * (lam**2 * eta / 4) ** (1 / 3)
    g, curve = vectors @ (cross / (values + lam)), []
    while True:
        loss, residual, left = problem.at(g)
        squares, turn = eigh(g.T @ g)
        squares = np.maximum(squares, TINY)
        curve.append(loss + kappa * (squares ** (2 / 3)).sum())
        gap = curve[-1] - dense_bound(residual, loss, left, lam, eta)
        is_stuck = len(curve) > 1 and curve[-1] >= curve[-2]  # by rounding
        if gap <= tol * curve[-1] or len(curve) > max_iter or is_stuck:
            break
        g = vectors @ (cross @ turn / (values + 2 / 3 * kappa * squares ** (-1 / 3))) @ turn.T
    curve = curve[:-1] if is_stuck else curve
    U, sigma, _ = np.linalg.svd(g, full_matrices=False)
    metric = (lam / (2 * eta)) ** (1 / 3) * (U * sigma ** (2 / 3)) @ U.T
    return MetricSolution(metric, g, np.array(curve), relative_gap(gap, curve[-1]))


# -- sparse --------------------------------------------------------------------------------------


def sparse_bound(
    residual: np.ndarray, views: list[slice], loss: float, left: float, lam: float, eta: float
) -> float:
    """The dual, which requires |b_v b_vᵀ| ≤ η/λ, at the best α on the ray to (Y − Φg)/λ."""
    longest = max([TINY, *(float(np.linalg.norm(residual[v].T @ residual[v])) for v in views)])
    s = min(np.sqrt(eta * lam / longest), left / max(loss, TINY))
    return 2 * s * left - s**2 * loss


def switch_views(
    problem: LeastSquares,
    views: list[slice],
    g: np.ndarray,
    residual: np.ndarray,
    half_kappa: float,
) -> np.ndarray:
    """Set g_v to 0 where that is optimal, and leave 0 where that lowers the objective.

    With the other views fixed, g_v = 0 is optimal if |c_v c_vᵀ| ≤ κ²/4 for
    c_v = Φ_vᵀ(Y − Σ_u≠v Φ_u g_u).
    """
    g, residual = g.copy(), residual.copy()
    for v in views:
        c = residual[v] + problem.gram[v, v] @ g[v]
        inner = c.T @ c
        size = np.linalg.norm(inner)
        if size <= half_kappa**2:
            new = np.zeros_like(c)
        elif not g[v].any():
            # along c cᵀc, whose norm |σ|_{4/3} is that of inner to the power 3/2
            D = c @ inner
            new = (size**2 - half_kappa * size**1.5) / (D * (problem.gram[v, v] @ D)).sum() * D
        else:
            continue
        residual -= problem.gram[:, v] @ (new - g[v])
        g[v] = new
    return g


def tangents(
    g: np.ndarray, views: list[slice], half_kappa: float
) -> tuple[list[np.ndarray | None], list[float]]:
    """H_v of the tangents of κ|σ_v|_{4/3} at g, None for g_v = 0 or empty, and |σ_v|_{4/3}.

    H ∝ (g_vᵀg_v)^−⅓ (P x P) multiplies from the right; where a view has fewer columns than there
    are targets it is (g_v g_vᵀ)^−⅓ from the left, for the other would not change the row space.
    """
    Hs: list[np.ndarray | None] = []
    sizes: list[float] = []
    for v in views:
        if (g[v] ** 2).sum() <= TINY:
            Hs.append(None)
            sizes.append(0.0)
            continue
        wide = len(g[v]) >= g.shape[1]
        squares, turn = eigh(g[v].T @ g[v] if wide else g[v] @ g[v].T)
        squares = np.maximum(squares, 1e-20 * squares[-1])
        size = (squares ** (2 / 3)).sum()
        Hs.append(half_kappa * size**-0.25 * (turn * squares ** (-1 / 3)) @ turn.T)
        sizes.append(size**0.75)
    return Hs, sizes


def common_weight(Hs: list[np.ndarray | None], n_targets: int) -> tuple[np.ndarray, np.ndarray]:
    """One H (P x P) for all views, for the preconditioner: eigenvalues and eigenvectors."""
    total, count = np.zeros((n_targets, n_targets)), 0
    for H in Hs:
        if H is not None:
            from_right = len(H) == n_targets
            inverse = np.linalg.inv(H)
            total += inverse if from_right else np.eye(n_targets) * np.trace(inverse) / len(H)
            count += 1
    values, turn = eigh(total / count)
    return 1 / np.maximum(values, 1e-12 * values[-1]), turn


def tangent_step(
    problem: LeastSquares,
    eigen: tuple[np.ndarray, np.ndarray],
    views: list[slice],
    g: np.ndarray,
    Hs: list[np.ndarray | None],
    max_iter: int = 50,
    tol: float = 1e-6,
) -> np.ndarray:
    """Conjugate gradients from g on ΦᵀΦx + (H_v x_v)_v = ΦᵀY over the views with g_v ≠ 0.

    Every step lowers the majoriser. With one H for all views eigenvalues solve the system, so an
    average of them is the preconditioner.
    """
    values, vectors = eigen
    common, turn = common_weight(Hs, g.shape[1])
    used = [(v, H) for v, H in zip(views, Hs, strict=True) if H is not None]
    is_used = np.zeros((len(g), 1))
    for v, _ in used:
        is_used[v] = 1.0

    def matvec(x: np.ndarray) -> np.ndarray:
        out = problem.gram @ x
        for v, H in used:
            out[v] += x[v] @ H if len(x[v]) >= x.shape[1] else H @ x[v]
        return is_used * out

    def precondition(r: np.ndarray) -> np.ndarray:
        return is_used * (vectors @ (vectors.T @ r @ turn / (values + common)) @ turn.T)

    x, r = g.copy(), is_used * problem.cross - matvec(g)
    z = precondition(r)
    d, square = z, (r * z).sum()
    target = tol * square
    for _ in range(max_iter):
        if square <= target or square < TINY:
            break
        Ad = matvec(d)
        step = square / (d * Ad).sum()
        x, r = x + step * d, r - step * Ad
        z = precondition(r)
        previous, square = square, (r * z).sum()
        d = z + square / previous * d
    return x


def learn_sparse(
    problem: LeastSquares,
    views: list[slice],
    lam: float,
    eta: float,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> MetricSolution:
    """As for the dense metric, majorise Σ_v |σ_v|_{4/3}, κ = 2 √(λη), by its tangent.

    The best A_v for g_v is √(λ/η) |σ|_{4/3} U diag(σ^⅔) Uᵀ over the norm of the latter. ``views``
    are the slices of rows of g.
    """
    problem, Qt = problem.rotate_targets()
    values, vectors = eigh(problem.gram)
    eigen = np.maximum(values, 0.0)[:, None], vectors
    half_kappa = np.sqrt(lam * eta)
    g = vectors @ (vectors.T @ problem.cross / (eigen[0] + lam))
    previous = g
    curve: list[float] = []
    while True:
        loss, residual, left = problem.at(g)
        Hs, sizes = tangents(g, views, half_kappa)
        value = loss + 2 * half_kappa * sum(sizes)
        if curve and value >= curve[-1]:
            g = previous  # rounding: nothing lowers the objective any more
            break
        curve.append(value)
        gap = value - sparse_bound(residual, views, loss, left, lam, eta)
        if gap <= tol * value or len(curve) > max_iter:
            break
        previous = g
        if any(H is not None for H in Hs):
            g = tangent_step(problem, eigen, views, g, Hs)
            residual = problem.cross - problem.gram @ g
        g = switch_views(problem, views, g, residual, half_kappa)
    blocks = []
    for v in views:
        U, sigma, _ = np.linalg.svd(g[v], full_matrices=False)
        scale = np.sqrt(lam / eta) * (sigma ** (4 / 3)).sum() ** 0.25
        blocks.append(scale * (U * sigma ** (2 / 3)) @ U.T)
    return MetricSolution(
        block_diag(*blocks), g @ Qt, np.array(curve), relative_gap(gap, curve[-1])
    )
