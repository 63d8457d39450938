"""MωMvC² with plain loops; the view step by a grid and a general-purpose solver."""

import numpy as np
from scipy.optimize import minimize


def loss(Ms, rho, pi, weight):
    total = 0.0
    for i in range(len(weight)):
        margin = sum(
            rho[v] * sum(Ms[v][i, j] * pi[v][j] for j in range(len(pi[v]))) for v in range(len(Ms))
        )
        total += weight[i] * np.log1p(np.exp(-margin))
    return total


def learn(Ms, weight, n_iter, view_weights, scale):
    V, n = len(Ms), weight.sum()
    Ms = [M / M.shape[1] if scale else M * 1.0 for M in Ms]
    rho = np.ones(V) / V
    pi = [np.ones(M.shape[1]) / (1 if scale else M.shape[1]) for M in Ms]
    for _ in range(n_iter):
        margin = sum(rho[v] * Ms[v] @ pi[v] for v in range(V))
        q = weight / (1 + np.exp(margin))
        gains = np.zeros(V)
        for v in range(V):
            for j in range(Ms[v].shape[1]):
                plus = sum(q[i] * Ms[v][i, j] for i in range(len(q)) if Ms[v][i, j] > 0)
                minus = sum(-q[i] * Ms[v][i, j] for i in range(len(q)) if Ms[v][i, j] < 0)
                both = plus + minus
                gains[v] += (np.sqrt(plus) - np.sqrt(minus)) ** 2
                if both > 0:
                    eps = both / (2 * n)
                    pi[v][j] += 0.5 * np.log((plus + eps) / (minus + eps))
        if view_weights == "paper":
            rho = np.eye(V)[gains.argmax()]
        elif view_weights == "loss":
            margins = np.column_stack([Ms[v] @ pi[v] for v in range(V)])
            result = minimize(
                lambda r, A=margins: weight @ np.logaddexp(0, -A @ r),
                rho,
                method="SLSQP",
                bounds=[(0, 1)] * V,
                constraints={"type": "eq", "fun": lambda r: r.sum() - 1},
                options={"ftol": 1e-14, "maxiter": 1000},
            )
            rho = result.x
    return rho, [p / (len(p) if scale else 1) for p in pi]
