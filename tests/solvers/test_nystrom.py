"""The Nyström solver against the closed form, and its conjugate gradients."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("folds", [np.arange(24) % 4, np.array([7, 2, 7, 5, 2, 5, 7, 2] * 3)])
def test_solutions_with_and_without_folds_are_those_of_the_normal_equations(folds):
    rng = np.random.default_rng(1)
    X, Y, weight = rng.normal(size=(24, 3)), rng.normal(size=(24, 2)), rng.uniform(0.5, 2, 24)
    chosen, penalty = np.arange(0, 24, 3), 0.1
    K = np.exp(-((X[:, None] - X[chosen]) ** 2).sum(axis=2)) + 1
    tested = np.array([1, 20, 3])
    blocks = [K[:10].astype(np.float32), K[10:].astype(np.float32)]
    fit = nystrom_ridge(
        K[chosen], lambda: blocks, Y, weight, penalty, folds[chosen], tested, folds, tol=1e-6
    )

    def solve(is_used):
        """Coefficients of all landmarks, 0 for those that are not used."""
        own = is_used[chosen]
        part = K[is_used][:, own]
        weighted = part.T * weight[is_used]
        coef = np.zeros((len(chosen), 2))
        A = weighted @ part + penalty * K[chosen][np.ix_(own, own)]
        coef[own] = np.linalg.solve(A, weighted @ Y[is_used])
        return coef

    assert fit.coef.shape == (8, 2)
    np.testing.assert_allclose(K @ fit.coef, K @ solve(folds >= 0), atol=2e-3)
    for row, left_out in zip(tested, fit.left_out, strict=True):
        np.testing.assert_allclose(left_out, K[row] @ solve(folds != folds[row]), atol=2e-3)
    assert 1 < fit.n_steps < 50


def test_landmarks_are_predicted_as_well_as_other_rows():
    """Rows that are landmarks say as much about new rows as the others, when left out."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 20))
    Y = np.sign(X[:, :1] * X[:, 1:2])
    K = np.exp(-((X[:, None] - X[None, :]) ** 2).sum(axis=2) / 40)
    folds, chosen = np.arange(600) % 4, np.arange(400)
    fit = nystrom_ridge(
        K[:400, :400] + 1,
        lambda: ([(K[:, :400] + 1).astype(np.float32)]),
        Y,
        np.ones(600),
        1e-3,
        folds[chosen],
        np.arange(600),
        folds,
    )
    error = (fit.left_out[:, 0] - Y[:, 0]) ** 2
    assert error[:400].mean() < 1.2 * error[400:].mean()


def test_all_landmarks_in_one_fold():
    rng = np.random.default_rng(4)
    X, folds = rng.normal(size=(30, 2)), np.repeat([0, 1], [25, 5])
    Y, K = X[:, :1].copy(), X @ X[:20].T + 1
    fit = nystrom_ridge(
        K[:20],
        lambda: ([K.astype(np.float32)]),
        Y,
        np.ones(30),
        0.1,
        folds[:20],
        np.arange(30),
        folds,
    )
    assert np.abs(fit.left_out - Y).max() < 0.5


def test_the_shift_grows_until_the_factor_exists():
    memory, A = np.empty((2, 2)), np.diag([1.0, -5e-4])
    factor = _factorise(A, 1e-6, memory)
    np.testing.assert_allclose(factor.T @ factor, A + 1e-3 * np.eye(2), atol=1e-7)
    np.testing.assert_allclose(_factorise(np.eye(2), 0.5, memory), np.sqrt(1.5) * np.eye(2))
    with pytest.raises(np.linalg.LinAlgError, match="2 rows is not positive definite"):
        _factorise(-np.eye(2), 1e-6, memory)
