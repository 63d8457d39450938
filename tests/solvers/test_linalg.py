"""Factorisations in blocks equal those of LAPACK."""

import numpy as np
import pytest

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
