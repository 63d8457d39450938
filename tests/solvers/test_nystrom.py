"""The Nyström solver against the closed form, and its conjugate gradients."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError

from consilience._solvers.nystrom import _factorise, conjugate_gradients, nystrom_ridge


@pytest.mark.parametrize("tol", [1e-2, 1e-8])
def test_residuals_are_within_the_tolerance(tol):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 30))
    A = A @ A.T + np.eye(30)
    right = rng.normal(size=(30, 3)) * [1.0, 1e6, 0.0]
    B, n_steps = conjugate_gradients(lambda C: A @ C, right, tol)
    residual = np.linalg.norm(right - A @ B, axis=0)
    assert (residual <= tol * np.linalg.norm(right, axis=0) * (1 + 1e-6)).all()
    assert 0 < n_steps < 200
    assert (B[:, 2] == 0).all()


def test_no_more_steps_than_the_tolerance_needs():
    right = np.ones((5, 1))
    assert conjugate_gradients(lambda C: 2 * C, right, 1e-3)[1] == 1


@pytest.mark.parametrize("folds", [None, np.array([7, 2, 7, 5, 2, 5, 7, 2] * 3)])
def test_solutions_with_and_without_folds_are_those_of_the_normal_equations(folds):
    rng = np.random.default_rng(1)
    X, Y, weight = rng.normal(size=(24, 3)), rng.normal(size=(24, 2)), rng.uniform(0.5, 2, 24)
    chosen, penalty = np.arange(0, 24, 3), 0.1
    K = np.exp(-((X[:, None] - X[chosen]) ** 2).sum(axis=2)) + 1
    tested = np.array([1, 20, 3])
    fit = nystrom_ridge(
        K[chosen], lambda: iter([K[:10], K[10:]]), Y, weight, penalty, tested, folds, tol=1e-6
    )

    def solve(rows):
        weighted = K[rows].T * weight[rows]
        return np.linalg.solve(weighted @ K[rows] + penalty * K[chosen], weighted @ Y[rows])

    assert fit.coef.shape == (8, 2)
    np.testing.assert_allclose(K @ fit.coef, K @ solve(np.arange(24)), atol=2e-3)
    folds = np.arange(24) % 4 if folds is None else folds
    for row, left_out in zip(tested, fit.left_out, strict=True):
        expected = K[row] @ solve(np.flatnonzero(folds != folds[row]))
        np.testing.assert_allclose(left_out, expected, atol=2e-3)
    assert 1 < fit.n_steps < 50


def test_the_shift_grows_until_the_factor_exists():
    A = np.diag([1.0, -5e-4])
    factor = _factorise(A, 1e-6)
    np.testing.assert_allclose(factor.T @ factor, A + 1e-3 * np.eye(2), atol=1e-12)
    np.testing.assert_allclose(_factorise(np.eye(2), 0.5), np.sqrt(1.5) * np.eye(2))
    with pytest.raises(LinAlgError, match="2 rows is not positive definite"):
        _factorise(-np.eye(2), 1e-6)
