"""Newton's method for logistic regression over blocks of rows, several regressions at once.

    min_θ  ½ Σ_k |w_k|² + C Σ_i ω_i [ log Σ_k exp(f_ik) − f_i,y(i) ],   f_ik = w_k·x_i + b_k

Given: rows x_i with classes y(i) and weights ω_i, C > 0; no constraints. With two classes there is
one function instead, f_i1 = −f_i2 = f_i / 2. It is the objective of scikit-learn's
LogisticRegression. The data are seen only through ``evaluate``, which makes one pass over them for
all regressions: objective, gradient and Hessian as sums over rows.

Reference: C. M. Bishop, "Pattern recognition and machine learning", Springer (2006), section 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.special import logsumexp

__all__ = ["logistic_sums", "minimise_logistic"]

TOL = 1e-8  # decrease that a Newton step promises, relative to the objective
MAX_ITER = 50
MAX_HALVINGS = 20
CHUNK_ROWS = 4096

Sums = tuple[np.ndarray, np.ndarray, np.ndarray]


def logistic_sums(
    X: Any, codes: np.ndarray, weight: np.ndarray, theta: np.ndarray, n_classes: int
) -> Sums:
    """Σ ω loss, its gradient and Hessian at θ, (d + 1) x K or, for two classes, (d + 1) x 1."""
    m, P = theta.shape
    loss, gradient, hessian = np.zeros(1), np.zeros((m, P)), np.zeros((P, m, P, m))
    for start in range(0, X.shape[0], CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        Z = X[rows].toarray() if sp.issparse(X) else np.asarray(X[rows], dtype=np.float64)
        Z = np.column_stack([Z, np.ones(len(Z))])
        own, omega = codes[rows], weight[rows]
        F = Z @ theta
        if n_classes == 2:
            signs = 2.0 * own - 1.0
            loss += omega @ np.logaddexp(0.0, -signs * F[:, 0])
            shares = 1.0 / (1.0 + np.exp(-np.clip(F, -500.0, 500.0)))
            residual = shares - own[:, None]
        else:
            norms = logsumexp(F, axis=1)
            loss += omega @ (norms - F[np.arange(len(own)), own])
            shares = np.exp(F - norms[:, None])
            residual = shares.copy()
            residual[np.arange(len(own)), own] -= 1.0
        gradient += Z.T @ (omega[:, None] * residual)
        for k in range(P):
            for j in range(k + 1):
                curvature = omega * shares[:, k] * (float(j == k) - shares[:, j])
                part = (Z * curvature[:, None]).T @ Z
                hessian[k, :, j] += part
                if j < k:
                    hessian[j, :, k] += part.T
    return loss, gradient, hessian.reshape(P * m, P * m)


def penalise(theta: np.ndarray, sums: Sums, C: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Objective, gradient (flat, by class) and Hessian with the penalty on the coefficients."""
    loss, gradient, hessian = sums
    m, P = theta.shape
    is_coef = np.tile(np.append(np.ones(m - 1), 0.0), P)
    flat = theta.T.ravel()
    value = C * float(loss[0]) + 0.5 * float(is_coef @ flat**2)
    H = C * hessian
    # the sum of the intercepts of all classes has no influence: a little keeps it in place
    H[np.diag_indices(len(H))] += is_coef + 1e-10 * (1.0 + H.diagonal())
    return value, C * gradient.T.ravel() + is_coef * flat, H


def minimise_logistic(
    evaluate: Callable[[list[int], list[np.ndarray]], Sequence[Sums]],
    shapes: Sequence[tuple[int, int]],
    Cs: Sequence[float],
) -> list[tuple[np.ndarray, int]]:
    """Return θ and the number of iterations of each regression.

    Parameters
    ----------
    evaluate : function
        ``evaluate(which, thetas)`` -> sums (see ``logistic_sums``) of the regressions ``which``.
    shapes : list of (d + 1, P)
        Shapes of the parameters.
    Cs : list of float
        Inverse strengths of the penalties.
    """
    thetas = [np.zeros(shape) for shape in shapes]
    values, moves, slopes = (
        [np.inf] * len(shapes),
        [np.zeros(s) for s in shapes],
        [0.0] * len(shapes),
    )
    sizes, n_iter, halvings = [1.0] * len(shapes), [0] * len(shapes), [0] * len(shapes)
    active = list(range(len(shapes)))
    while active:
        trials = [thetas[j] + sizes[j] * moves[j] for j in active]
        remaining = []
        for j, trial, sums in zip(active, trials, evaluate(active, trials), strict=True):
            value, g, H = penalise(trial, sums, Cs[j])
            allowed = values[j] + 1e-4 * sizes[j] * slopes[j] + 1e-12 * abs(value)
            if not value <= allowed:
                sizes[j], halvings[j] = sizes[j] / 2, halvings[j] + 1
                if halvings[j] < MAX_HALVINGS:
                    remaining.append(j)
                continue
            thetas[j], values[j], halvings[j], sizes[j] = trial, value, 0, 1.0
            step = -scipy.linalg.solve(H, g, assume_a="pos")
            moves[j], slopes[j] = step.reshape(trial.shape[1], -1).T, float(g @ step)
            n_iter[j] += 1
            if -slopes[j] <= TOL * max(1.0, value):
                thetas[j] = trial + moves[j]  # so close to the minimum, no pass need confirm it
            elif n_iter[j] < MAX_ITER:
                remaining.append(j)
        active = remaining
    return list(zip(thetas, n_iter, strict=True))
