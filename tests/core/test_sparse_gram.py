"""Weighted Gram matrices of sparse rows against dense products."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from consilience._core import sparse_gram

WIDTHS = [np.int32, np.int64]


def csr(X, width):
    """data, indices, indptr with column numbers of a given width; read-only."""
    X = sp.csr_array(X)
    parts = X.data, X.indices.astype(width), X.indptr.astype(width)
    for part in parts:
        part.flags.writeable = False
    return parts


def matrix(rng, n, d):
    return rng.standard_normal((n, d)) * (rng.random((n, d)) < rng.random())


@given(
    st.integers(0, 10_000),
    st.integers(0, 30),
    st.integers(1, 9),
    st.integers(1, 9),
    st.sampled_from(WIDTHS),
    st.sampled_from(WIDTHS),
)
def test_equals_the_dense_product(seed, n, p, q, first, second):
    rng = np.random.default_rng(seed)
    A, B = matrix(rng, n, p), matrix(rng, n, q)
    weight = rng.standard_normal(n) * (rng.random(n) < 0.7)
    mean_a, mean_b = rng.standard_normal(p), rng.standard_normal(q)
    out, a, b = np.zeros((p + 2, q + 3)), np.empty(p), np.empty(q)
    block = out[1 : p + 1, 2 : q + 2]
    parts = *csr(A, first), *csr(B, second), weight, mean_a, mean_b, a, b, block
    assert sparse_gram(*parts) == pytest.approx(weight.sum(), abs=1e-12)
    expected = np.zeros_like(out)
    left, right = A - mean_a, B - mean_b
    expected[1 : p + 1, 2 : q + 2] = left.T @ (weight[:, None] * right)
    np.testing.assert_allclose(out, expected, atol=1e-11)
    np.testing.assert_allclose(a, left.T @ weight, atol=1e-11)
    np.testing.assert_allclose(b, right.T @ weight, atol=1e-11)
    square, sums = np.ones((p, p)), np.empty(p)
    parts = *csr(A, first), weight, mean_a, sums, square
    assert sparse_gram(*parts) == pytest.approx(weight.sum(), abs=1e-12)
    upper = np.triu(left.T @ (weight[:, None] * left))
    np.testing.assert_allclose(square, 1 + upper, atol=1e-11)
    np.testing.assert_allclose(sums, left.T @ weight, atol=1e-11)


def test_arrays_that_do_not_fit():
    data, indices, indptr = csr(np.ones((3, 2)), np.int32)
    rest = np.ones(3), np.zeros(2), np.zeros(2)
    out = np.zeros((2, 2))
    for parts, message in (
        ((data, indices, indptr[:-1], *rest, out), "one entry more"),
        ((data[:-1], indices, indptr, *rest, out), "same length"),
        ((data[:-1], indices[:-1], indptr, *rest, out), "does not fit"),
        ((data, indices[::-1].copy(), indptr, *rest, out), "ascend"),
        ((data, indices, indptr, *rest, np.zeros((1, 1))), "means and sums"),
        ((data, indices, indptr, rest[0], np.zeros(1), np.zeros(1), np.zeros((1, 1))), "and fit"),
        ((data, indices, indptr, *rest, np.zeros((2, 3))), "square"),
        ((data, indices, indptr, *rest, np.zeros((2, 4))[:, ::2]), "contiguous"),
    ):
        with pytest.raises(ValueError, match=message):
            sparse_gram(*parts)
    with pytest.raises(TypeError):
        sparse_gram(data.astype(np.float32), indices, indptr, *rest, out)
