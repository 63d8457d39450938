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
    for i, there in enumerate(present):
        known = np.concatenate(
            [np.full(s.stop - s.start, t) for s, t in zip(slices, there, strict=True)]
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
    """w, b of min ½|w|² + Σ cost max(0, 1 − y(Xw + b))², by BFGS."""

    def objective(theta):
        w, b = theta[:-1], theta[-1] * intercept
        slack = np.maximum(0, 1 - y * (X @ w + b))
        pull = -2 * cost * y * slack
        gradient = np.append(w + X.T @ pull, intercept * pull.sum())
        return w @ w / 2 + cost @ slack**2, gradient

    start = np.zeros(X.shape[1] + 1)
    options = {"gtol": 1e-9, "ftol": 1e-15, "maxiter": 50_000, "maxcor": 50}
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
