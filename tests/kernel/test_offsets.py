"""Linear kernels of columns that are far from 0: centred where the method allows it, or named."""

import numpy as np
import pytest
import scipy.sparse as sp

from consilience import MultiViewData
from consilience.kernel import MKLClassifier, MVMLClassifier

N = 90
RNG = np.random.default_rng(0)
Y = RNG.integers(2, size=N)
A = np.round(RNG.normal(size=(N, 4)) + 1.5 * Y[:, None], 6)
B = RNG.normal(size=(N, 3)) + 0.8 * Y[:, None]
WEIGHT = RNG.uniform(0.5, 2, size=N)
PRESENT = np.column_stack([np.arange(N) % 7 > 0, np.ones(N, dtype=bool)])


def shifted(offset):
    return MultiViewData({"a": A + offset, "b": B}, present=PRESENT)


@pytest.mark.parametrize("offset", [1e4, 1e6, 1e8])
@pytest.mark.parametrize(
    "model",
    [
        MKLClassifier(kernel="linear", tol=1e-9, max_iter=2000),
        MVMLClassifier(kernel="linear", random_state=0),
        MVMLClassifier(kernel="linear", metric="sparse", tol=1e-8, random_state=0),
    ],
)
def test_decisions_do_not_depend_on_the_origin(model, offset):
    model.fit(shifted(0), Y, WEIGHT)
    expected, weights = model.decision_function(shifted(0)), model.view_weights_
    model.fit(shifted(offset), Y, WEIGHT)
    tolerance = 1e-5 + 1e-15 * offset * 100
    np.testing.assert_allclose(model.view_weights_, weights, atol=tolerance)
    np.testing.assert_allclose(
        model.decision_function(shifted(offset)), expected, atol=tolerance * np.abs(expected).max()
    )


@pytest.mark.parametrize(
    "model",
    [
        MKLClassifier(kernel="linear", normalize="trace"),
        MKLClassifier(kernel="linear", normalize=None),
        MVMLClassifier(kernel="linear", fit_intercept=False),
        MVMLClassifier(kernel="linear", n_landmarks=3),
    ],
)
@pytest.mark.filterwarnings(
    "ignore:.*stopped with a relative:sklearn.exceptions.ConvergenceWarning"
)
def test_methods_that_depend_on_the_origin_warn(model):
    with pytest.warns(UserWarning, match="the columns of view 'a' are so far from 0, .* centre"):
        model.fit(shifted(1e6), Y)
    model.fit(shifted(10), Y)  # no warning
    model.fit(MultiViewData({"a": np.full((N, 2), 5.0), "b": B}), Y)


@pytest.mark.filterwarnings(
    "ignore:.*stopped with a relative:sklearn.exceptions.ConvergenceWarning"
)
def test_sparse_columns_are_not_centred():
    model = MKLClassifier(kernel="linear")
    data = {"a": sp.csr_array(A + 1e7), "b": B}
    with pytest.warns(UserWarning, match="the columns of view 'a' are so far from 0"):
        model.fit(data, Y)
    model.fit({"a": sp.csr_array(A), "b": B}, Y)
    dense = MKLClassifier(kernel="linear").fit({"a": A, "b": B}, Y)
    np.testing.assert_allclose(
        model.decision_function({"a": sp.csr_array(A), "b": B}),
        dense.decision_function({"a": sp.csr_array(A), "b": B}),
        atol=1e-3,
    )
