"""Learn coefficients g and a metric A ⪰ 0 between views together.

    min |Y − Φg|² + λ tr gᵀA⁻¹g + Ω(A),   Ω(A) = η|A|²_F ("dense") or η Σ_uv |A_uv|_F ("sparse")

The problem is convex in (A, g) together, but alternating between them would never leave the
columns of the first g, so one of the two is eliminated.

Dense: the best A for g = U diag(σ) Vᵀ is (λ/2η)^⅓ U diag(σ^⅔) Uᵀ, which leaves
|Y − Φg|² + κ Σ σ^{4/3} with κ = 3 (λ²η/4)^⅓. Sparse: g is eliminated, A takes gradient steps.
That this A has no blocks between views costs nothing: the dual asks for λbbᵀ, b = Φᵀ(Y − Φg)/λ,
below some matrix with blocks of norm at most η, and it is one itself as soon as its diagonal blocks
are, for |b_u b_vᵀ|² ≤ |b_u b_uᵀ| |b_v b_vᵀ|. So the sparse metric chooses views.

Reference: R. Huusari, H. Kadri, C. Capponi, "Multi-view metric learning in vector-valued kernel
spaces", AISTATS 2018.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve, eigh

__all__ = ["LeastSquares", "MetricSolution", "learn_dense", "learn_sparse", "solve_coefficients"]

TINY = 1e-300
# eigenvalues of ΦᵀΦ below this share of the largest are rounding
LEAST = 1e-13


@dataclass
class MetricSolution:
    """A (d x d), g (d x P), objective at the start and after each step, relative duality gap."""

    metric: np.ndarray
    coef: np.ndarray
    objective_curve: np.ndarray
    gap: float


class LeastSquares:
    """|Y − Φg|² with sample weights, by its moments.

    Parameters
    ----------
    Phi : array of shape (n, d)
        Features of all views side by side.
    Y : array of shape (n, P)
        Targets.
    weight : array of shape (n,)
        Sample weights.
    """

    def __init__(self, Phi, Y, weight):
        self.gram = (Phi * weight[:, None]).T @ Phi
        self.cross = Phi.T @ (weight[:, None] * Y)
        self.total = weight @ (Y**2).sum(axis=1)

    def at(self, g):
        """Value |Y − Φg|², Φᵀ(Y − Φg), and Yᵀ(Y − Φg)."""
        gram_g = self.gram @ g
        left = self.total - (self.cross * g).sum()
        return (
            max(left - (self.cross * g).sum() + (g * gram_g).sum(), 0.0),
            self.cross - gram_g,
            left,
        )


def solve_coefficients(problem, A, lam):
    """For a given A: g = R(RᵀΦᵀΦR + λI)⁻¹RᵀΦᵀY with RRᵀ = A, and the objective without Ω."""
    values, vectors = eigh(A)
    R = vectors * np.sqrt(np.maximum(values, 0.0))
    inner = R.T @ problem.gram @ R + lam * np.eye(len(A))
    g = R @ cho_solve(cho_factor(inner), R.T @ problem.cross)
    return g, problem.total - (problem.cross * g).sum()


def relative(gap, value):
    """Gap as a share of the value."""
    return float(max(gap, 0.0) / value) if value > 0 else 0.0


# -- dense ---------------------------------------------------------------------------------------


def dense_bound(rest, loss, left, lam, eta):
    """The dual at α = (Y − Φg)/λ; ``rest`` is Φᵀ(Y − Φg)."""
    return 2 * left - loss - ((rest.T @ rest) ** 2).sum() / (4 * eta * lam**2)


def learn_dense(problem, lam, eta, *, tol=1e-6, max_iter=1000):
    """Majorise Σ σ^{4/3} = tr (gᵀg)^⅔, concave in gᵀg, by its tangent.

    What is left is ΦᵀΦg + gH = ΦᵀY with H = ⅔κ (gᵀg)^−⅓, solved by eigenvalues; every step lowers
    the objective and leaves at most ⅔ of the error before it.
    """
    values, vectors = eigh(problem.gram)
    values, cross = np.maximum(values, 0.0)[:, None], vectors.T @ problem.cross
    kappa = 3 * (lam**2 * eta / 4) ** (1 / 3)
    g, curve = vectors @ (cross / (values + lam)), []
    while True:
        loss, rest, left = problem.at(g)
        squares, turn = eigh(g.T @ g)
        squares = np.maximum(squares, TINY)
        curve.append(loss + kappa * (squares ** (2 / 3)).sum())
        gap = curve[-1] - dense_bound(rest, loss, left, lam, eta)
        stuck = len(curve) > 1 and curve[-1] >= curve[-2]  # by rounding
        if gap <= tol * curve[-1] or len(curve) > max_iter or stuck:
            break
        g = vectors @ (cross @ turn / (values + 2 / 3 * kappa * squares ** (-1 / 3))) @ turn.T
    curve = curve[:-1] if stuck else curve
    U, sigma, _ = np.linalg.svd(g, full_matrices=False)
    metric = (lam / (2 * eta)) ** (1 / 3) * (U * sigma ** (2 / 3)) @ U.T
    return MetricSolution(metric, g, np.array(curve), relative(gap, curve[-1]))


# -- sparse --------------------------------------------------------------------------------------


class ByViews:
    """A metric without blocks between views, and what the objective needs of it.

    h(A) = min_g |Y − Φg|² + λ tr gᵀA⁻¹g is found from M = Σ_v L_vᵀA_vL_v, ΦᵀΦ = LLᵀ, by one
    Cholesky factor; its gradient is −λ b_v b_vᵀ with b = A⁻¹g = Φᵀ(Y − Φg)/λ.
    """

    def __init__(self, Ls, z, unexplained, lam, As, Ms):
        self.Ls, self.z, self.unexplained, self.lam = Ls, z, unexplained, lam
        self.As, self.Ms = As, Ms
        self.norms = np.array([np.linalg.norm(A) for A in As])
        self.q = cho_solve(cho_factor(sum(Ms) + lam * np.eye(len(z))), z)
        self.h = unexplained + lam * (z * self.q).sum()
        self.bs = [L @ self.q for L in Ls]

    @classmethod
    def identity(cls, problem, views, lam):
        """A = I."""
        values, vectors = eigh(problem.gram)
        kept = values > LEAST * max(values[-1], TINY)
        roots = np.sqrt(values[kept])
        z = (vectors[:, kept] / roots).T @ problem.cross
        Ls = [(vectors[:, kept] * roots)[v] for v in views]
        unexplained = max(problem.total - (z**2).sum(), 0.0)
        start = [np.eye(len(L)) for L in Ls], [L.T @ L for L in Ls]
        return cls(Ls, z, unexplained, lam, *start)

    def step(self, t, eta):
        """A_v ← A_v + tλ b_v b_vᵀ, then shortened by tη or gone: positive semi-definite still."""
        Zs = [A + t * self.lam * (b @ b.T) for A, b in zip(self.As, self.bs, strict=True)]
        lengths = np.array([max(np.linalg.norm(Z), TINY) for Z in Zs])
        factors = np.maximum(0.0, 1 - t * eta / lengths)
        Ms = []
        for f, M, L, b in zip(factors, self.Ms, self.Ls, self.bs, strict=True):
            turned = L.T @ b
            Ms.append(f * (M + t * self.lam * (turned @ turned.T)))
        As = [f * Z for f, Z in zip(factors, Zs, strict=True)]
        return ByViews(self.Ls, self.z, self.unexplained, self.lam, As, Ms)

    def slope(self, moves):
        """⟨moves, ∇h⟩."""
        return -self.lam * sum((b * (D @ b)).sum() for D, b in zip(moves, self.bs, strict=True))

    def squares(self):
        """|b_v b_vᵀ| of every view."""
        return np.array([np.linalg.norm(b.T @ b) for b in self.bs])

    def lower_bound(self, eta):
        """The dual, which wants |b_v b_vᵀ| ≤ η/λ, at the best α on the ray to (Y − Φg)/λ."""
        along = self.h / self.lam
        across = (self.q**2).sum() + self.unexplained / self.lam**2
        longest = np.sqrt(eta / (self.lam * max(self.squares().max(), TINY)))
        s = min(longest, along / max(self.lam * across, TINY))
        return self.lam * (2 * s * along - self.lam * s**2 * across)


def descend(metric, value, t, eta):
    """A step that lowers the objective, halved until it does; its value and the next length."""
    for _ in range(100):
        new = metric.step(t, eta)
        moves = [B - A for A, B in zip(metric.As, new.As, strict=True)]
        square, slope = sum((D**2).sum() for D in moves), metric.slope(moves)
        below = new.h <= metric.h + slope + square / (2 * t) + 1e-13 * abs(metric.h)
        new_value = new.h + eta * new.norms.sum()
        if below and new_value < value:
            # the curvature along the step proposes the next length (Barzilai and Borwein)
            curved = max(new.slope(moves) - slope, TINY)
            return new, new_value, np.clip(square / curved, t / 10, 1e3 * t)
        t /= 2
    return None  # rounding: nothing lowers the objective any more


def learn_sparse(problem, views, lam, eta, *, tol=1e-6, max_iter=1000):
    """Proximal gradient steps on A from the identity with backtracking; the objective only falls.

    ``views`` are the slices of rows of g.
    """
    metric = ByViews.identity(problem, views, lam)
    curve = [metric.h + eta * metric.norms.sum()]
    t = np.linalg.norm(metric.norms) / max(lam * np.linalg.norm(metric.squares()), TINY)
    while True:
        gap = curve[-1] - metric.lower_bound(eta)
        if gap <= tol * curve[-1] or len(curve) > max_iter:
            break
        found = descend(metric, curve[-1], t, eta)
        if found is None:
            break
        metric, value, t = found
        curve.append(value)
    g = np.vstack([A @ b for A, b in zip(metric.As, metric.bs, strict=True)])
    return MetricSolution(block_diag(*metric.As), g, np.array(curve), relative(gap, curve[-1]))
