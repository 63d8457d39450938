"""Non-negative view weights against a conic solver."""

import os

import numpy as np
import pytest

from consilience._solvers.view_weights import largest_weight_penalty, solve_view_weights
from reference.penalised import solve_weights_conic

MANY = 200 if int(os.environ.get("CONSILIENCE_TEST_ALL", "0")) else 15


def draw(seed):
    rng = np.random.default_rng(seed)
    K, V, n = int(rng.integers(2, 5)), int(rng.integers(1, 6)), int(rng.integers(12, 30))
    codes = rng.permutation(np.arange(n) % K)
    noise = rng.random(V) * 3 + 0.5
    Z = np.eye(K)[codes][:, None] + noise[:, None] * rng.normal(size=(n, V, K))
    weight = rng.random(n) + 0.1
    return Z, codes, weight / weight.sum()


@pytest.mark.parametrize("seed", range(MANY))
def test_random_problems(seed):
    Z, codes, weight = draw(seed)
    lam = max(largest_weight_penalty(Z, codes, weight) * [0.5, 0.1, 0.01][seed % 3], 1e-3)
    solution = solve_view_weights(Z, codes, weight, lam, tol=1e-10)
    assert solution.gap <= 1e-8
    assert solution.weights.min() >= 0
    scores = solution.intercept + np.einsum("ivk,v->ik", Z, solution.weights)
    loss = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(codes)), codes]
    value = weight @ loss + lam * solution.weights.sum()
    best, status = solve_weights_conic(Z, codes, weight, lam)
    assert status in ("Solved", "AlmostSolved")
    assert abs(value - best) <= 1e-8


def test_all_weights_are_zero_at_the_largest_penalty():
    Z, codes, weight = draw(3)
    lam = largest_weight_penalty(Z, codes, weight)
    assert not solve_view_weights(Z, codes, weight, 1.001 * lam).weights.any()
    assert solve_view_weights(Z, codes, weight, 0.99 * lam).weights.any()


@pytest.mark.parametrize("seed", range(20))
def test_a_gap_of_rounding_is_convergence(seed):
    """The gap is a difference of sums near 1, so that less than their rounding is not reached."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(4, size=40)
    Z = rng.normal(size=(40, 2, 4)) + np.eye(4)[codes][:, None]
    weight = np.full(40, 1 / 40)
    lam = 0.3 * largest_weight_penalty(Z, codes, weight)
    solution = solve_view_weights(Z, codes, weight, lam, tol=1e-16)
    assert solution.converged
    assert solution.gap < 1e-13
    exact = solve_view_weights(Z, codes, weight, lam, tol=1e-9)
    np.testing.assert_allclose(solution.weights, exact.weights, atol=1e-7)
