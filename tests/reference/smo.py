"""SMO as plain loops: the same choices as the compiled code, one sample at a time."""

import numpy as np


def second_order_hinge(K, y, C, tol, max_steps):
    """α, F and steps of the hinge machine: max F rises, its partner by second order falls."""
    n = len(y)
    alpha, F = np.zeros(n), y.astype(float)
    for step in range(max_steps + 1):
        rises = [alpha[k] < C[k] if y[k] > 0 else alpha[k] > 0 for k in range(n)]
        falls = [alpha[k] > 0 if y[k] > 0 else alpha[k] < C[k] for k in range(n)]
        i = max((k for k in range(n) if rises[k]), key=lambda k: (F[k], -k))
        least = min(F[k] for k in range(n) if falls[k])
        if F[i] - least <= tol or step == max_steps:
            return alpha, F, step
        costs = [max(K[i, i] + K[k, k] - 2 * K[i, k], 1e-12) for k in range(n)]
        gains = {k: (F[i] - F[k]) ** 2 / costs[k] for k in range(n) if falls[k] and F[k] < F[i]}
        j = max(gains, key=lambda k: (gains[k], -k))
        t = min(
            (F[i] - F[j]) / costs[j],
            C[i] - alpha[i] if y[i] > 0 else alpha[i],
            alpha[j] if y[j] > 0 else C[j] - alpha[j],
        )
        alpha[i], alpha[j] = alpha[i] + y[i] * t, alpha[j] - y[j] * t
        F -= t * (K[i] - K[j])
    raise AssertionError
