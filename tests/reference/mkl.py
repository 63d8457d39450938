"""The duals of multiple kernel learning for generic solvers: max Σα − ½|q|_p*, q_v = gᵀK_v g."""

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.linalg import block_diag
from scipy.optimize import minimize


def factor(K):
    """F with FᵀF = K, without the rows that are 0 but for rounding."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-13 * values[-1]
    return (vectors[:, kept] * np.sqrt(values[kept])).T


def best_objective(Ks, signs, bounds):
    """p = 1: max Σα − r²/2 with Σ_k gᵀK_v g ≤ r² for every view, as second-order cones.

    Variables are α over the largest bound, and r; r² in the objective keeps the cones' entries of
    one size, where a bound t of the squares would need the cone |(2x, t − 1)| ≤ t + 1.
    """
    P, n = signs.shape
    size, unit = P * n + 1, bounds.max()
    quadratic = sp.csc_matrix(([1.0], ([size - 1], [size - 1])), shape=(size, size))
    rows = [np.hstack([block_diag(*signs), np.zeros((P, 1))])]
    rows.append(np.hstack([np.vstack([-np.eye(P * n), np.eye(P * n)]), np.zeros((2 * P * n, 1))]))
    b = [np.zeros(P), np.zeros(P * n), np.tile(bounds / unit, P)]
    cones = [clarabel.ZeroConeT(P), clarabel.NonnegativeConeT(2 * P * n)]
    for K in Ks:
        F = factor(K)
        cone = np.zeros((1 + P * len(F), size))
        cone[0, -1] = -1
        cone[1:, :-1] = -unit * block_diag(*[F * y for y in signs])
        rows.append(cone)
        b.append(np.zeros(len(cone)))
        cones.append(clarabel.SecondOrderConeT(len(cone)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        quadratic,
        np.r_[np.full(P * n, -unit), 0.0],
        sp.csc_matrix(np.vstack(rows)),
        np.hstack(b),
        cones,
        settings,
    ).solve()
    return dual_value(Ks, signs, unit * np.array(solution.x[:-1]).reshape(P, n), bounds)


def dual_value(Ks, signs, alpha, bounds):
    """Σα − max_v q_v/2 at α made feasible: no higher than the optimum, however α was found."""
    alpha = np.clip(alpha, 0.0, bounds)
    for y, a in zip(signs, alpha, strict=True):
        plus, minus = a[y > 0].sum(), a[y < 0].sum()
        least = min(plus, minus)
        a[y > 0] *= least / max(plus, 1e-300)
        a[y < 0] *= least / max(minus, 1e-300)
    g = signs * alpha
    return alpha.sum() - max(((g @ K) * g).sum() for K in Ks) / 2


def best_objective_of_norm(Ks, signs, bounds, p):
    """p > 1, by sequential quadratic programming on α; for few samples."""
    P, n = signs.shape
    star = p / (p - 1)

    def negative(alpha):
        g = signs * alpha.reshape(P, n)
        products = [g @ K for K in Ks]
        q = np.array([(product * g).sum() for product in products])
        norm = (q**star).sum() ** (1 / star)
        weights = (q / max(norm, 1e-300)) ** (star - 1)
        slope = sum(w * signs * product for w, product in zip(weights, products, strict=True))
        return norm / 2 - alpha.sum(), slope.ravel() - 1

    constraint = {"type": "eq", "fun": lambda a: (signs * a.reshape(P, n)).sum(axis=1)}
    constraint["jac"] = lambda a: block_diag(*signs)
    result = minimize(
        negative,
        np.tile(bounds, P) / 2,
        jac=True,
        bounds=[(0, b) for b in np.tile(bounds, P)],
        constraints=[constraint],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    return -result.fun
