"""Hinge machines: against SVC and LIBLINEAR, and the example that shows how tight stability is."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from consilience._solvers.hinge import (
    minimise_by_liblinear,
    minimise_hinge,
    minimise_hinge_by_gram,
)


def problem(seed=0, n=80, d=6):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0.3, 1.0, -1.0)
    return X, y, rng.random_sample(n) + 0.2


def test_with_intercept_equals_svc():
    X, y, cost = problem()
    solution = minimise_hinge(X, y, cost)
    theirs = SVC(kernel="linear", C=1.0, tol=1e-9).fit(X, y, sample_weight=cost)
    assert solution.converged
    np.testing.assert_allclose(solution.theta[:-1], theirs.coef_[0], atol=1e-5)
    np.testing.assert_allclose(solution.theta[-1], theirs.intercept_[0], atol=1e-5)


def test_without_intercept_equals_liblinear():
    X, y, cost = problem()
    solution = minimise_hinge(X, y, cost, intercept=False)
    theirs = LinearSVC(loss="hinge", C=1.0, fit_intercept=False, tol=1e-9, max_iter=10**6)
    theirs.fit(X, y, sample_weight=cost)
    np.testing.assert_allclose(solution.theta[:-1], theirs.coef_[0], atol=1e-5)
    assert solution.theta[-1] == 0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", [True, False])
def test_liblinear_is_near(loss, intercept):
    X, y, cost = problem()
    theta, steps = minimise_by_liblinear(
        X, y, cost, loss, intercept=intercept, tol=1e-8, max_iter=10**6
    )
    assert steps >= 1
    if loss == "hinge":
        exact = minimise_hinge(X, y, cost, intercept=intercept).theta
        np.testing.assert_allclose(theta, exact, atol=0.02 if intercept else 1e-5)


@pytest.mark.parametrize(("c", "close"), [(0.3, 1e-7), (0.9, 1e-7), (1.0, 1e-5)])
@pytest.mark.parametrize("n", [5, 40])
def test_tightness_of_stability(c, close, n):
    # one landmark of similarity 1 to everything, all labels +1: θ = min(1, c m / n) for m rows,
    # so dropping a row moves θ by c/n, twice what the paper's theorem allows
    thetas = [
        minimise_hinge(np.ones((m, 1)), np.ones(m), np.full(m, c / n), intercept=False).theta[0]
        for m in (n, n - 1)
    ]
    assert thetas[0] - thetas[1] == pytest.approx(c / n, abs=close)


def test_by_gram_matrix_equals_svc():
    X, y, cost = problem()
    solution = minimise_hinge_by_gram(X @ X.T, y, cost, tol=1e-9)
    svc = SVC(kernel="linear", tol=1e-9).fit(X, y, sample_weight=cost)
    np.testing.assert_allclose(solution.coefs @ X, svc.coef_[0], atol=1e-5)
    assert solution.bias == pytest.approx(svc.intercept_[0], abs=1e-5)
    assert solution.converged
    assert solution.n_iter > 0
