"""Factorisations in blocks equal those of LAPACK."""

import numpy as np
import pytest

from consilience._core.threads import map_in_threads
from consilience._solvers import linalg


@pytest.mark.parametrize("n", [1, 7, 8, 61])
def test_cholesky_in_blocks(monkeypatch, n):
    X = np.random.default_rng(n).normal(size=(n, n))
    A = np.asfortranarray(X @ X.T + np.eye(n))
    expected = np.tril(linalg.lower_cholesky(A.copy(order="F")))
    monkeypatch.setattr(linalg, "LAPACK_MAX_ORDER", 0)
    monkeypatch.setattr(linalg, "BLOCK_ORDER", 8)
    np.testing.assert_allclose(np.tril(linalg.lower_cholesky(A)), expected, rtol=1e-10, atol=1e-12)
    A[-1, -1] = -1.0
    assert linalg.lower_cholesky(A) is None


@pytest.mark.parametrize("n_threads", [1, 2])
def test_cholesky_in_place(monkeypatch, n_threads):
    monkeypatch.setattr(linalg, "BLOCK_ORDER", 8)
    X = np.random.default_rng(0).normal(size=(45, 45))
    A = X @ X.T + np.eye(45)
    factor = A.copy()
    with map_in_threads(n_threads) as run:
        assert linalg.cholesky_in_place(factor, run)
        np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(A), atol=1e-11)
        np.testing.assert_array_equal(factor[:8, 8:], A[:8, 8:])  # above the blocks
        A[30, 30] = -1.0
        assert not linalg.cholesky_in_place(A, run)


@pytest.mark.parametrize("scaled", [True, False])
def test_inverse_of_nearly_singular_matrices(scaled):
    """Columns of very different size, one of them twice, and a parameter without curvature."""
    X = np.random.default_rng(0).normal(size=(20, 4)) * [1e-6, 1.0, 1e6, 1.0]
    X = np.hstack([X, X[:, :1], np.zeros((20, 1))])
    H = X.T @ X
    inverse = linalg.cholesky_inverse(np.triu(H), scaled=scaled)
    rhs = H @ np.array([1e6, 2.0, 3e-6, 4.0, 0.0, 0.0])
    np.testing.assert_allclose(H @ inverse(rhs), rhs, rtol=1e-5)
