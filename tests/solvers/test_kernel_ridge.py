"""Kernel ridge against fits without each row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience._solvers.kernel_ridge import (
    exact_ridge,
    feature_ridge,
    kernel_ridge,
    solve_kernel_ridge,
)
from reference import default as slow


def problem(seed, n=15, d=4, k=3):
    rng = np.random.RandomState(seed)
    X, Y = rng.randn(n, d), rng.randn(n, k)
    return X, np.exp(-slow.distances(X, X) / d), Y, rng.uniform(0.2, 3, n)


@given(seed=st.integers(0, 10_000), exponent=st.floats(-4, 1))
def test_left_out_predictions(seed, exponent):
    _, K, Y, weight = problem(seed)
    penalty = 10**exponent
    fit = kernel_ridge(K, Y, weight, [penalty])
    np.testing.assert_allclose(fit.coef, slow.ridge(K, Y, weight, penalty), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(fit.left_out, slow.left_out(K, Y, weight, penalty), atol=1e-6)
    error = weight @ ((Y - fit.left_out) ** 2).sum(axis=1)
    assert fit.error == pytest.approx(error)
    np.testing.assert_allclose(
        solve_kernel_ridge(K, Y, weight, penalty), fit.coef, rtol=1e-6, atol=1e-8
    )


@given(seed=st.integers(0, 10_000), block=st.integers(1, 20))
def test_features_in_blocks(seed, block):
    Z, _, Y, weight = problem(seed)
    starts = range(0, len(Z), block)
    fit = feature_ridge(lambda: (Z[s : s + block] for s in starts), Y, weight, [0.3])
    np.testing.assert_allclose(fit.left_out, slow.feature_left_out(Z, Y, weight, 0.3), atol=1e-8)


def test_features_are_a_linear_kernel():
    X, _, Y, weight = problem(1)
    Z = np.column_stack([X, np.ones(len(X))])
    one = feature_ridge(lambda: [Z], Y, weight, [0.01, 0.5, 20])
    other = kernel_ridge(X @ X.T, Y, weight, [0.01, 0.5, 20])
    assert one.penalty == other.penalty
    np.testing.assert_allclose(one.left_out, other.left_out)
    np.testing.assert_allclose(Z @ one.coef, (X @ X.T + 1) @ other.coef)


def test_the_penalty_has_the_least_error():
    _, K, Y, weight = problem(2)
    errors = {lam: kernel_ridge(K, Y, weight, [lam]).error for lam in (1e-4, 0.1, 1, 10)}
    assert kernel_ridge(K, Y, weight, list(errors)).penalty == min(errors, key=errors.get)


@given(seed=st.integers(0, 10_000), block=st.integers(1, 20))
def test_folds_left_out_are_predicted_by_the_other_folds(seed, block):
    X, K, Y, weight = problem(seed)
    folds = np.random.RandomState(seed).permutation(len(Y)) % 4
    Z = np.column_stack([X, np.ones(len(X))])
    starts = range(0, len(Z), block)
    by_kernel = kernel_ridge(K, Y, weight, [0.3], folds)
    by_features = feature_ridge(lambda: (Z[s : s + block] for s in starts), Y, weight, [0.3], folds)
    for fold in range(4):
        own, rest = folds == fold, folds != fold
        coef = slow.ridge(K[np.ix_(rest, rest)], Y[rest], weight[rest], 0.3)
        expected = (K[np.ix_(own, rest)] + 1) @ coef
        np.testing.assert_allclose(by_kernel.left_out[own], expected, atol=1e-8)
        coef = feature_ridge(lambda rest=rest: [Z[rest]], Y[rest], weight[rest], [0.3]).coef
        np.testing.assert_allclose(by_features.left_out[own], Z[own] @ coef, atol=1e-8)


def test_penalty_of_a_fold_is_chosen_on_the_others():
    _, K, Y, weight = problem(3)
    folds, penalties = np.arange(len(Y)) % 3, [1e-4, 0.1, 1, 10]
    single = [kernel_ridge(K, Y, weight, [penalty], folds) for penalty in penalties]
    losses = np.array([weight * ((Y - fit.left_out) ** 2).sum(axis=1) for fit in single])
    fit = kernel_ridge(K, Y, weight, penalties, folds)
    assert fit.penalty == penalties[losses.sum(axis=1).argmin()]
    for fold in range(3):
        best = single[losses[:, folds != fold].sum(axis=1).argmin()]
        np.testing.assert_allclose(fit.left_out[folds == fold], best.left_out[folds == fold])
    assert fit.error == pytest.approx(weight @ ((Y - fit.left_out) ** 2).sum(axis=1))


@pytest.mark.parametrize("folds", [None, np.arange(15) % 4])
def test_a_cholesky_factor_gives_the_same_as_the_eigenvectors(folds):
    _, K, Y, weight = problem(4)
    one, other = exact_ridge(K, Y, weight, 0.2, folds), kernel_ridge(K, Y, weight, [0.2], folds)
    np.testing.assert_allclose(one.coef, other.coef, atol=1e-9)
    np.testing.assert_allclose(one.left_out, other.left_out, atol=1e-9)
    assert one.penalty == 0.2
    assert one.error == pytest.approx(other.error)
