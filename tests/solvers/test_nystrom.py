"""Conjugate gradients of the Nyström solver."""

import numpy as np
import pytest

from consilience._solvers.nystrom import conjugate_gradients


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
