"""Centred views and kernels, and the pieces of losses, as their formulas say."""

import numpy as np
import pytest
import scipy.sparse as sp

from consilience import MultiViewData
from consilience._kernel_views import KernelSpec
from consilience.margin._design import Design, zero_missing
from consilience.margin._kernel_views import CentredKernel, training_kernel
from consilience.margin._svm2k import hinges_of_pair


@pytest.mark.parametrize("complete", [True, False])
def test_parameters_of_raw_columns(complete):
    rng = np.random.default_rng(0)
    wide, narrow = 3.0 + rng.normal(size=(5, 8)), 2.0 + rng.normal(size=(5, 2))
    counts = rng.integers(0, 3, size=(5, 3)) * np.array([1.0, 0.0, 2.0])
    views = [wide, narrow, sp.csr_array(counts)]
    present = np.ones((5, 3), dtype=bool)
    if not complete:
        present[[0, 1, 2], [0, 1, 2]] = False
    for chosen in ([0, 1, 2], [1, 2]):
        Xs = [views[v] for v in chosen]
        design = Design(Xs, present[:, chosen], np.array([1.0, 2.0, 1.0, 3.0, 1.0]))
        theta = rng.normal(size=design.views.size)
        coefs, intercepts = design.parameters(theta)
        expected = np.column_stack(
            [X @ coef + b for X, coef, b in zip(Xs, coefs, intercepts, strict=True)]
        )
        is_known = present[:, chosen]
        np.testing.assert_allclose(design.views.matvec(theta)[is_known], expected[is_known])


def test_centred_kernel():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(5, 3)), np.array([1.0, 2.0, 3.0, 1.0, 1.0])
    is_present = np.array([True, True, False, True, True])
    data = MultiViewData({"a": X}, present=is_present[:, None])
    plain = training_kernel(data, "a", KernelSpec("linear", 1.0), weight)
    centred = CentredKernel(plain, is_present, weight)
    Z = np.where(is_present[:, None], X - np.average(X, axis=0, weights=weight * is_present), 0.0)
    out = np.empty((5, 5))
    centred.rows(np.float64)(np.arange(5), out)
    np.testing.assert_allclose(out, Z @ Z.T, atol=1e-12)
    np.testing.assert_allclose(centred.diagonal(), (Z**2).sum(axis=1), atol=1e-12)
    g = rng.normal(size=5)
    coefs = centred.coefs(g)
    np.testing.assert_allclose(X.T @ coefs, Z.T @ g)
    assert coefs[2] == 0.0


def test_hinges_of_two_views():
    present = np.array([[True, True], [True, False], [False, True]])
    hinges = hinges_of_pair(present, [2.0, 3.0], 0.5, 0.1)
    np.testing.assert_array_equal(hinges.G, [[1, 0], [0, 1], [1, -1], [-1, 1]])
    np.testing.assert_array_equal(hinges.target, [1, 1, -0.1, -0.1])
    np.testing.assert_array_equal(hinges.cost, [2.0, 3.0, 0.5, 0.5])
    np.testing.assert_array_equal(hinges.on, [[1, 1, 0], [1, 0, 1], [1, 0, 0], [1, 0, 0]])


@pytest.mark.parametrize("container", [np.array, sp.csr_array])
def test_rows_without_the_view_become_zero(container):
    X = np.array([[1.0, 0.0, 2.0], [3.0, 4.0, 0.0], [5.0, 6.0, 7.0]])
    expected = X * np.array([[1.0], [0.0], [1.0]])
    given = container(X)
    cleared = zero_missing(given, np.array([True, False, True]))
    everything = zero_missing(given, np.ones(3, dtype=bool))
    if container is sp.csr_array:
        assert cleared.nnz == 5
        cleared, everything, given = cleared.toarray(), everything.toarray(), given.toarray()
    np.testing.assert_array_equal(cleared, expected)
    np.testing.assert_array_equal(everything, X)
    np.testing.assert_array_equal(given, X)
