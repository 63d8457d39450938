"""Eigendecompositions that do not give up."""

import numpy as np
import pytest
import scipy.linalg

from consilience._solvers import eigen
from reference.failing_eigh import fail_first

A = np.diag(np.arange(6.0)) + 0.1


@pytest.mark.parametrize("n_failures", [0, 1, 2])
@pytest.mark.parametrize("n_largest", [None, 2])
def test_drivers_are_tried_in_turn(monkeypatch, n_failures, n_largest):
    calls = fail_first(monkeypatch, n_failures)
    values, vectors = eigen.symmetric_eigh(A, n_largest)
    first = "evd" if n_largest is None else None  # NumPy's, or SciPy's for some of the vectors
    assert calls == [first, "evd", "ev"][: n_failures + 1]
    k = n_largest or 6
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[6 - k :])
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-12)
    assert vectors.shape == (6, k)


def test_a_matrix_without_decomposition_is_an_error(monkeypatch):
    fail_first(monkeypatch, 3)
    with pytest.raises(np.linalg.LinAlgError, match=r"shape \(6, 6\): are all entries finite"):
        eigen.symmetric_eigh(A)


@pytest.mark.parametrize(
    "bad",
    [
        (np.array([4.0]), np.ones((6, 1))),
        (np.array([4.0, np.nan]), np.ones((6, 2))),
        (np.array([4.0, 5.0]), np.full((6, 2), np.nan)),
    ],
)
def test_undefined_results_count_as_failures(monkeypatch, bad):
    monkeypatch.setattr(
        eigen, "eigh", lambda A, driver=None, **_: scipy.linalg.eigh(A) if driver else bad
    )
    np.testing.assert_allclose(eigen.symmetric_eigh(A, 2)[0], np.linalg.eigvalsh(A)[4:])


def test_large_matrices_are_decomposed_beside_the_main_thread(monkeypatch):
    called = []
    monkeypatch.setattr(eigen, "LONG_ORDER", 5)
    monkeypatch.setattr(
        eigen, "call_interruptibly", lambda f, *args: (called.append(f), f(*args))[1]
    )
    values, _ = eigen.symmetric_eigh(A)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A))
    eigen.symmetric_eigh(A, 2)
    eigen.symmetric_eigh(A[:5, :5])
    assert called == [np.linalg.eigh]
