"""Ridge on a factor of the Gram matrix against ridge on the columns themselves."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from consilience._solvers.penalised import StandardisedViews
from consilience._solvers.ridge_path import RidgePath, ridge_coefficients


def problem(n_classes, n=30, widths=(20, 25)):
    rng = np.random.default_rng(0)
    codes = np.arange(n) % n_classes
    Xs = [rng.normal(size=(n, d)) + 0.3 * codes[:, None] for d in widths]
    present = np.ones((n, 2), dtype=bool)
    present[::7, 1] = False
    return Xs, present, codes


def standardised(X, is_present):
    Z = (X - X[is_present].mean(axis=0)) / X[is_present].std(axis=0)
    return np.where(is_present[:, None], Z, 0.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_coefficients_are_those_of_the_columns(n_classes):
    Xs, present, codes = problem(n_classes)
    n = len(codes)
    views = StandardisedViews(Xs, present, np.full(n, 1 / n))
    path = RidgePath(views, codes, n_classes, tol=1e-12)
    lam = 0.05 * path.lam_max
    coef, intercept = path.solve(lam)
    Z = np.hstack([standardised(X, present[:, v]) for v, X in enumerate(Xs)])
    model = LogisticRegression(C=1 / (n * lam), tol=1e-12, max_iter=10_000).fit(Z, codes)
    ours = Z @ coef + intercept
    theirs = Z @ model.coef_.T + model.intercept_
    if ours.shape[1] > 1:
        ours, theirs = (F - F.mean(axis=1, keepdims=True) for F in (ours, theirs))
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    np.testing.assert_allclose(
        ridge_coefficients(views, codes, n_classes, 0.05), coef, atol=1e-2 * np.abs(coef).max()
    )


def test_columns_without_variance_give_the_prior():
    codes = np.array([0, 0, 0, 1])
    views = StandardisedViews([np.ones((4, 3))], np.ones((4, 1), dtype=bool), np.full(4, 0.25))
    coef, intercept = RidgePath(views, codes, 2).solve(1.0)
    assert (coef == 0).all()
    assert 1 / (1 + np.exp(-np.ravel(intercept)[-1])) == pytest.approx(0.25, abs=1e-4)
