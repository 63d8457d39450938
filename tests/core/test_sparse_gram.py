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
    out = np.zeros((p + 2, q + 3))
    sparse_gram(*csr(A, first), *csr(B, second), weight, out[1 : p + 1, 2 : q + 2])
    expected = np.zeros_like(out)
    expected[1 : p + 1, 2 : q + 2] = A.T @ (weight[:, None] * B)
    np.testing.assert_allclose(out, expected, atol=1e-12)
    square = np.ones((p, p))
    sparse_gram(*csr(A, first), weight, square)
    upper = np.triu(A.T @ (weight[:, None] * A))
    np.testing.assert_allclose(square, 1 + upper, atol=1e-12)


def test_arrays_that_do_not_fit():
    data, indices, indptr = csr(np.ones((3, 2)), np.int32)
    weight, out = np.ones(3), np.zeros((2, 2))
    for parts, message in (
        ((data, indices, indptr[:-1], weight, out), "one entry more"),
        ((data[:-1], indices, indptr, weight, out), "same length"),
        ((data[:-1], indices[:-1], indptr, weight, out), "does not fit"),
        ((data, indices[::-1].copy(), indptr, weight, out), "ascend"),
        ((data, indices, indptr, weight, np.zeros((1, 1))), "ascend within a row and fit"),
        ((data, indices, indptr, weight, np.zeros((2, 3))), "square"),
        ((data, indices, indptr, weight, np.zeros((2, 4))[:, ::2]), "contiguous"),
    ):
        with pytest.raises(ValueError, match=message):
            sparse_gram(*parts)
    with pytest.raises(TypeError):
        sparse_gram(data.astype(np.float32), indices, indptr, weight, out)
