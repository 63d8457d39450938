"""Kernel blocks against scikit-learn's, in every storage; γ."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import (
    euclidean_distances,
    pairwise_kernels,
    polynomial_kernel,
)
from sklearn.svm import SVC

from consilience._solvers.kernels import (
    KERNELS,
    KernelAgainst,
    check_symmetric,
    distance_gamma,
    distance_kernel,
    kernel_block,
    kernel_diagonal,
    kernel_gamma,
)

RNG = np.random.RandomState(0)
X = np.abs(RNG.randn(23, 6)) * (RNG.rand(23, 6) < 0.6)
Z = np.abs(RNG.randn(17, 6)) * (RNG.rand(17, 6) < 0.6)
Z[3] = 0
STORED = {"dense": np.asarray, "csr": sp.csr_array, "fortran": np.asfortranarray}
NUMBERS = {
    "linear": {},
    "cosine": {},
    "poly": {"gamma": 0.7, "degree": 3, "coef0": 1.0},
    "sigmoid": {"gamma": 0.7, "coef0": 1.0},
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("of_z", STORED)
@pytest.mark.parametrize("of_x", STORED)
@pytest.mark.parametrize("kernel", KERNELS)
def test_blocks_equal_scikit_learns(kernel, of_x, of_z, dtype):
    expected = pairwise_kernels(X, Z, metric=kernel, **NUMBERS.get(kernel, {"gamma": 0.7}))
    ours = kernel_block(STORED[of_x](X), STORED[of_z](Z), kernel, gamma=0.7, dtype=dtype)
    assert ours.dtype == dtype
    assert ours.flags.c_contiguous
    np.testing.assert_allclose(ours, expected, rtol=20 * np.finfo(dtype).eps, atol=1e-5)
    if dtype == np.float64:
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, bool])
def test_numbers_of_any_type(dtype):
    small = (10 * X).astype(dtype)
    expected = pairwise_kernels(small.astype(float), metric="rbf", gamma=0.01)
    np.testing.assert_allclose(kernel_block(small, small, gamma=0.01), expected, rtol=1e-12)


def test_far_from_the_origin():
    far = X + 1e4
    near = kernel_block(X, X, gamma=0.5)
    np.testing.assert_allclose(kernel_block(far, far, gamma=0.5), near, rtol=1e-8)
    single = kernel_block(far, far, gamma=0.5, dtype=np.float32)
    np.testing.assert_allclose(single, near, rtol=1e-3)


def test_function():
    ours = kernel_block(X, Z, lambda a, b: a @ b.T + 1)
    np.testing.assert_allclose(ours, X @ Z.T + 1)
    with pytest.raises(ValueError, match=r"shape \(23, 17\)"):
        kernel_block(X, Z, lambda a, b: a)
    with pytest.raises(ValueError, match="NaN or infinity"):
        kernel_block(X, Z, lambda a, b: np.full((23, 17), np.nan))


def test_products_with_coefficients(monkeypatch):
    monkeypatch.setattr("consilience._solvers.kernels.CHUNK_ENTRIES", 40)
    coefs = RNG.randn(17, 2)
    for stored in STORED.values():
        k = KernelAgainst(stored(Z), "rbf", gamma=0.3)
        np.testing.assert_allclose(k.times(stored(X), coefs), k(X) @ coefs, atol=1e-12)


@pytest.mark.parametrize("stored", STORED)
def test_gamma(stored):
    A = STORED[stored](X)
    y = np.arange(23) % 2
    assert kernel_gamma("scale", A) == pytest.approx(SVC().fit(X, y)._gamma)
    assert kernel_gamma("auto", A) == 1 / 6
    assert kernel_gamma(0.25, A) == 0.25
    squares = euclidean_distances(X)[np.triu_indices(23, 1)] ** 2
    middle = np.sort(squares)[(len(squares) - 1) // 2]
    assert kernel_gamma("median", A) == pytest.approx(1 / middle)
    weight = RNG.randint(1, 4, 23).astype(float)
    rows = np.repeat(np.arange(23), weight.astype(int))
    for name in ("scale", "auto", "median"):
        assert kernel_gamma(name, A, weight) == pytest.approx(kernel_gamma(name, A[rows]))
    many = RNG.rand(2500, 6)
    assert kernel_gamma("median", STORED[stored](many)) == pytest.approx(1 / 0.97, rel=0.1)
    assert kernel_gamma("scale", STORED[stored](np.ones((3, 2)))) == 1.0
    assert kernel_gamma("median", STORED[stored](np.ones((3, 2)))) == 1.0


def test_gamma_of_distances():
    D = euclidean_distances(X)
    assert distance_gamma("scale", D) == pytest.approx(1 / D.mean())
    assert distance_gamma(2.0, D) == 2.0
    above = np.sort(D[np.triu_indices(23, 1)])
    assert distance_gamma("median", D) == pytest.approx(1 / above[(len(above) - 1) // 2])
    assert distance_gamma("auto", np.zeros((2, 2))) == 1.0
    np.testing.assert_allclose(distance_kernel(D, 0.5), np.exp(-0.5 * D))


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("kernel", [*KERNELS, polynomial_kernel])
def test_diagonals_are_those_of_blocks(kernel, stored):
    A = STORED[stored](np.tile(Z, (4, 1)))  # a row of zeros among them, and more than 64 rows
    params = {"gamma": 0.7, "degree": 2, "coef0": 0.5}
    expected = kernel_block(A, A, kernel, **params).diagonal()
    ours = kernel_diagonal(A, kernel, **params)
    assert ours.dtype == np.float64
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


def test_medians_of_many_rows_come_from_rows_of_equal_weight():
    rows = np.r_[np.zeros(1500), np.ones(1000), 3.0][:, None]
    weight = np.r_[np.full(1500, 1e-9), np.ones(1000), 1000.0]
    # half of the weight is at 1, half at 3: a median of 2² among the pairs that differ
    assert kernel_gamma("median", rows, weight) == pytest.approx(0.25)
    assert kernel_gamma("auto", rows[:0]) == 1.0
    assert kernel_gamma("scale", np.empty((0, 4))) == 0.25


def test_matrices_between_samples_are_symmetric():
    check_symmetric(np.empty((0, 0)), "v")
    D = np.abs(np.subtract.outer(np.arange(600.0), np.arange(600.0)))
    check_symmetric(D, "v")
    D[599, 3] += 0.5 * 1e-6 * 599  # rounding
    check_symmetric(D, "v")
    D[599, 520] += 2
    with pytest.raises(ValueError, match=r"view 'v' is not symmetric .* differ by up to 2$"):
        check_symmetric(D, "v")


@pytest.mark.parametrize("factor", [2.0**-700, 2.0**700])
def test_gamma_of_tiny_and_huge_weights(factor):
    rng = np.random.RandomState(0)
    X, weight = rng.randn(12, 3), rng.rand(12)
    D = np.abs(X[:, :1] - X[:, 0])
    for name in ("scale", "median"):
        assert kernel_gamma(name, X, factor * weight) == kernel_gamma(name, X, weight)
        assert distance_gamma(name, D, factor * weight) == distance_gamma(name, D, weight)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("of_z", STORED)
@pytest.mark.parametrize("kernel", [*KERNELS, polynomial_kernel])
def test_rows_of_its_own(kernel, of_z, dtype):
    k = KernelAgainst(STORED[of_z](Z), kernel, gamma=0.7, dtype=dtype)
    numbers = np.array([4, 3, 4, 16])
    out = np.empty((4, 17), dtype=dtype)
    k.own_rows()(numbers, out)
    expected = k(STORED[of_z](Z[numbers]))
    np.testing.assert_allclose(out, expected, rtol=20 * np.finfo(dtype).eps, atol=1e-6)
