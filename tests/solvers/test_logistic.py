"""Logistic regression over blocks against scikit-learn's, and its sums against differences."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from consilience._solvers import logistic
from consilience._solvers.logistic import logistic_sums, minimise_logistic, penalise

FORMS = [np.asarray, sp.csr_array]


def problem(n_classes, n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, d)) + 0.5 * codes[:, None]
    return X * (rng.random((n, d)) < 0.7), codes, rng.uniform(0.5, 2, n)


def loss_of(theta, X, codes, weight):
    """Σ ω loss, written out."""
    F = X @ theta[:-1] + theta[-1]
    if F.shape[1] == 1:
        F = np.column_stack([-F[:, 0] / 2, F[:, 0] / 2])
    return -weight @ np.log(
        (np.exp(F) / np.exp(F).sum(axis=1, keepdims=True))[range(len(X)), codes]
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", FORMS)
def test_sums_are_the_loss_and_its_derivatives(monkeypatch, n_classes, form):
    monkeypatch.setattr(logistic, "CHUNK_ROWS", 17)
    X, codes, weight = problem(n_classes)
    P = 1 if n_classes == 2 else n_classes
    theta = np.random.default_rng(1).normal(size=(4, P))
    loss, gradient, hessian = logistic_sums(form(X), codes, weight, theta, n_classes)
    assert loss == pytest.approx([loss_of(theta, X, codes, weight)])
    h = 1e-5
    flat = theta.T.ravel()

    def at(k, size):
        moved = flat.copy()
        moved[k] += size
        return moved.reshape(P, 4).T

    for k in range(flat.size):
        ends = [loss_of(at(k, size), X, codes, weight) for size in (h, -h)]
        assert gradient.T.ravel()[k] == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-6)
        slopes = [
            logistic_sums(X, codes, weight, at(k, size), n_classes)[1].T.ravel() for size in (h, -h)
        ]
        np.testing.assert_allclose(hessian[k], (slopes[0] - slopes[1]) / (2 * h), atol=1e-6)


def test_very_large_margins_are_finite():
    X = np.array([[1e4], [-1e4]])
    loss, gradient, hessian = logistic_sums(
        X, np.array([0, 1]), np.ones(2), np.array([[1.0], [0.0]]), 2
    )
    assert loss == pytest.approx([2e4])
    np.testing.assert_allclose(gradient, [[2e4], [0]])
    assert np.isfinite(hessian).all()


def test_the_penalty_spares_the_intercept():
    theta = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    sums = np.array([7.0]), np.arange(6.0).reshape(3, 2), np.eye(6)
    value, gradient, H = penalise(theta, sums, 2.0)
    assert value == pytest.approx(2 * 7 + (1 + 4 + 9 + 16) / 2)
    np.testing.assert_allclose(gradient, [0 + 1, 4 + 3, 8, 2 + 2, 6 + 4, 10])
    np.testing.assert_allclose(H, np.diag([3, 3, 2, 3, 3, 2.0]), atol=1e-8)
    assert H[2, 2] > 2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_two_regressions_at_once_are_those_of_sklearn(n_classes):
    X, codes, weight = problem(n_classes)
    P = 1 if n_classes == 2 else n_classes
    calls = []

    def evaluate(which, thetas):
        calls.append(list(which))
        return [logistic_sums(X, codes, weight, theta, n_classes) for theta in thetas]

    Cs = [0.1, 1e4]
    solutions = minimise_logistic(evaluate, [(4, P)] * 2, Cs)
    for C, (theta, n_iter) in zip(Cs, solutions, strict=True):
        model = LogisticRegression(C=C, tol=1e-12, solver="newton-cholesky").fit(X, codes, weight)
        np.testing.assert_allclose(theta[:-1].T, model.coef_, atol=2e-5)
        intercepts = theta[-1] - (theta[-1].mean() - model.intercept_.mean() if P > 1 else 0)
        np.testing.assert_allclose(intercepts, model.intercept_, atol=2e-5)
        assert 2 <= n_iter <= 12
    assert calls[0] == [0, 1]
    assert len(calls) == max(n_iter for _, n_iter in solutions)  # no halving is needed here


def test_long_steps_are_halved():
    """Of |x|^1.1, a convex function, Newton's step goes far beyond the minimum."""

    def evaluate(_, thetas):
        out = []
        for theta in thetas:
            x = float(theta[0, 0]) - 3.0
            value = abs(x) ** 1.1
            slope = 1.1 * np.sign(x) * abs(x) ** 0.1
            curvature = 0.11 * max(abs(x), 1e-9) ** -0.9
            gradient = np.array([[slope], [0.0]])
            out.append((np.array([value]), gradient, np.diag([curvature, 1.0])))
        return out

    ((theta, n_iter),) = minimise_logistic(evaluate, [(2, 1)], [1e6])
    assert theta[0, 0] == pytest.approx(3, abs=1e-3)
    assert n_iter > 2
