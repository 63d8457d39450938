"""Non-negative weights of views that combine their class scores.

problem      min over weights a and intercepts b of Σ_i w_i loss(y_i, b + Σ_v a_v z_iv) + λ Σ_v a_v
given        z_iv, the K scores that view v gives to row i; row weights w that sum to 1
constraints  a ≥ 0; Σ b = 0, because a constant in all scores changes nothing
method       Newton iterations whose quadratic models are bounded least squares problems; stops at a
             duality gap
reference    W. van Loon, M. Fokkema, B. Szabó, M. de Rooij, "Stacked penalized logistic regression
             for selecting views in multi-view learning", Information Fusion 61 (2020)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import lsq_linear
from scipy.special import log_softmax, xlogy

__all__ = ["ViewWeights", "largest_weight_penalty", "solve_view_weights"]

MAX_STEPS = 100
ROUNDING = 1e-13  # of the gap, a difference of sums of the size of a log loss
RIDGE = 1e-12  # relative, makes the Hessian positive definite


@dataclass(frozen=True, eq=False)
class ViewWeights:
    """Solution: weights (V,), intercepts (K,), duality gap and whether it is small enough."""

    weights: np.ndarray
    intercept: np.ndarray
    gap: float
    converged: bool


def largest_weight_penalty(Z: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> float:
    """Smallest λ at which all weights are 0; not below 0."""
    K = Z.shape[2]
    prior = np.bincount(codes, weight, minlength=K)
    residual = weight[:, None] * (prior - np.eye(K)[codes])
    return max(float(-np.einsum("ik,ivk->v", residual, Z).min(initial=0.0)), 0.0)


def solve_view_weights(
    Z: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    lam: float,
    start: ViewWeights | None = None,
    tol: float = 1e-9,
) -> ViewWeights:
    """Weights and intercepts for one λ; Z is n x V x K."""
    n, V, K = Z.shape
    targets = np.eye(K)[codes]
    # one variable for each weight and for each intercept but the first
    X = np.concatenate([Z, np.broadcast_to(np.eye(K)[1:], (n, K - 1, K))], axis=1)
    linear = np.concatenate([np.full(V, lam), np.zeros(K - 1)])
    theta = np.zeros(V + K - 1)
    if start is None:
        prior = np.maximum(weight @ targets, 1e-12)
        theta[V:] = np.log(prior[1:] / prior[0])
    else:
        theta[:V], theta[V:] = start.weights, start.intercept[1:] - start.intercept[0]

    def evaluate(point: np.ndarray) -> tuple[float, np.ndarray]:
        log_prob = log_softmax(np.einsum("ivk,v->ik", X, point), axis=1)
        loss = -float(weight @ log_prob[np.arange(n), codes])
        return loss + float(linear @ point), np.exp(log_prob)

    value, prob = evaluate(theta)
    gap, is_last, tol = np.inf, False, max(tol, ROUNDING)
    for _ in range(MAX_STEPS):
        gradient = np.einsum("ik,ivk->v", weight[:, None] * (prob - targets), X)
        gap = duality_gap(value, prob, targets, weight, gradient, V, lam)
        if is_last:
            break
        is_last = gap <= tol  # a further step costs little and squares the error
        mean = np.einsum("ik,ivk->iv", prob, X)
        H = np.einsum("i,ik,iuk,ivk->uv", weight, prob, X, X, optimize=True)
        H -= np.einsum("i,iu,iv->uv", weight, mean, mean)
        step = model_step(H, gradient + linear, theta, V)
        slope = float((gradient + linear) @ step)
        size = 1.0
        while size > 1e-10:
            trial, trial_prob = evaluate(theta + size * step)
            if trial <= value + 1e-4 * size * slope + 1e-15 * abs(value):
                break
            size /= 2
        else:
            break
        theta, value, prob = theta + size * step, trial, trial_prob
    intercept = np.concatenate([[0.0], theta[V:]])
    intercept -= intercept.mean()
    return ViewWeights(theta[:V].copy(), intercept, float(gap), bool(gap <= tol))


def model_step(H: np.ndarray, gradient: np.ndarray, theta: np.ndarray, V: int) -> np.ndarray:
    """The step d of least ½d'Hd + g'd with non-negative weights, by an active set method."""
    ridge = RIDGE * max(float(np.trace(H)), np.finfo(float).tiny)
    L = np.linalg.cholesky(H + ridge * np.eye(len(H)))
    low = np.concatenate([-theta[:V], np.full(len(theta) - V, -np.inf)])
    high = np.full(len(theta), np.inf)
    step = lsq_linear(L.T, -solve_triangular(L, gradient, lower=True), (low, high), method="bvls").x
    return np.maximum(step, low)


def duality_gap(
    value: float,
    prob: np.ndarray,
    targets: np.ndarray,
    weight: np.ndarray,
    gradient: np.ndarray,
    V: int,
    lam: float,
) -> float:
    """Value less that of the dual at the scaled residuals; intercepts count as bounded by 1."""
    steepest = -gradient[:V].min(initial=0.0)
    factor = 1.0 if steepest <= lam else lam / steepest
    mixed = factor * prob + (1 - factor) * targets
    dual = -float(weight @ xlogy(mixed, mixed).sum(axis=1))
    return value - dual + factor * float(np.abs(gradient[V:]).sum())
