"""MVL-SVM written out: similarities, imputation row by row, machines by a generic minimiser."""

import numpy as np
from scipy.optimize import minimize


def similarities(Xs, Zs, gammas):
    """exp(−γ|x − z|²), entry by entry, views side by side."""
    blocks = [
        [[np.exp(-gamma * ((x - z) ** 2).sum()) for z in Z] for x in X]
        for X, Z, gamma in zip(Xs, Zs, gammas, strict=True)
    ]
    return np.hstack([np.array(block) for block in blocks])


def least_squares(M, present, slices, P):
    """Equation 11, one row at a time; known blocks stay."""
    out = M.copy()
    for i, is_present in enumerate(present):
        known = np.concatenate(
            [np.full(s.stop - s.start, t) for s, t in zip(slices, is_present, strict=True)]
        )
        R = np.linalg.lstsq(P[:, known].T, M[i, known], rcond=None)[0]
        out[i, ~known] = R @ P[:, ~known]
    return out


def em_round(M, known, mu, S, weight, ridge):
    """One round of EM for a normal distribution, row by row -> rows, mean, covariance."""
    size, full, spread = ridge * np.trace(S) / len(S), M.copy(), np.zeros_like(S)
    for i, k in enumerate(known):
        inverse = np.linalg.inv(S[np.ix_(k, k)] + size * np.eye(k.sum()))
        T = S[np.ix_(~k, k)] @ inverse
        full[i, ~k] = mu[~k] + T @ (M[i, k] - mu[k])
        spread[np.ix_(~k, ~k)] += weight[i] * (S[np.ix_(~k, ~k)] - T @ S[np.ix_(k, ~k)])
    mean = weight @ full / weight.sum()
    centred = full - mean
    return full, mean, (centred.T @ (weight[:, None] * centred) + spread) / weight.sum()


def squared_hinge(X, y, cost, intercept=True):
    """w, b of min ½|w|² + Σ cost max(0, 1 − y(Xw + b))², by a generic trust-region method."""
    A = np.c_[X, np.full(len(X), float(intercept))]
    D = np.eye(A.shape[1])
    D[-1, -1] = 0.0 if intercept else 1.0

    def objective(theta):
        slack = np.maximum(0, 1 - y * (A @ theta))
        gradient = D @ theta - 2 * A.T @ (cost * y * slack)
        return theta @ D @ theta / 2 + cost @ slack**2, gradient

    def hessian(theta):
        active = cost * (y * (A @ theta) < 1)
        return D + 2 * A.T @ (active[:, None] * A)

    start = np.zeros(A.shape[1])
    options = {"gtol": 1e-9 * (1 + cost.sum()), "maxiter": 10_000}
    return minimize(
        objective, start, jac=True, hess=hessian, method="trust-exact", options=options
    ).x
