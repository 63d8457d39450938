"""The duals of multiple kernel learning for generic solvers: max Σα − ½|q|_p*, q_v = gᵀK_v g."""

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.linalg import block_diag
from scipy.optimize import minimize


def factor(K):
    values, vectors = np.linalg.eigh(K)
    return (vectors * np.sqrt(np.maximum(values, 0.0))).T


def best_objective(Ks, signs, bounds):
    """p = 1: max Σα − t/2 with Σ_k gᵀK_v g ≤ t for every view, as second-order cones."""
    P, n = signs.shape
    size = P * n + 1
    q = np.r_[-np.ones(P * n), 0.5]
    rows, b = [block_diag(*signs), np.zeros((P, 1))], [np.zeros(P)]
    rows = [np.hstack(rows)]
    cones = [clarabel.ZeroConeT(P)]
    rows.append(np.hstack([np.vstack([-np.eye(P * n), np.eye(P * n)]), np.zeros((2 * P * n, 1))]))
    b.append(np.r_[np.zeros(P * n), np.tile(bounds, P)])
    cones.append(clarabel.NonnegativeConeT(2 * P * n))
    for K in Ks:
        # |x|² ≤ t as |(2x, t − 1)| ≤ t + 1
        F = factor(K)
        big = np.zeros((2 + P * len(F), size))
        big[0, -1] = big[1, -1] = -1
        big[2:, :-1] = -2 * block_diag(*[F * y for y in signs])
        rows.append(big)
        b.append(np.r_[1.0, -1.0, np.zeros(P * len(F))])
        cones.append(clarabel.SecondOrderConeT(len(big)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        sp.csc_matrix((size, size)),
        q,
        sp.csc_matrix(np.vstack(rows)),
        np.hstack(b),
        cones,
        settings,
    ).solve()
    assert solution.status == clarabel.SolverStatus.Solved
    return -solution.obj_val


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
