from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience._core import combined_rbf, gaussian_rows, pack_panels, rbf_epilogue
from reference.rbf import combined_rbf as combined_reference
from reference.rbf import rbf_epilogue as reference

DTYPES = [np.float32, np.float64]


def parts(n, m, d, dtype, seed):
    rng = np.random.RandomState(seed)
    X, Z = rng.randn(n, d).astype(dtype), rng.randn(m, d).astype(dtype)
    x, z = (X**2).sum(axis=1), (Z**2).sum(axis=1)
    x.flags.writeable = z.flags.writeable = False  # read-only inputs are fine
    return X @ Z.T, x, z


@pytest.mark.parametrize("dtype", DTYPES)
@given(
    n=st.integers(0, 20),
    m=st.integers(0, 40),
    d=st.integers(1, 8),
    gamma=st.floats(0, 100),
    seed=st.integers(0, 10_000),
)
def test_equals_the_reference(dtype, n, m, d, gamma, seed):
    products, x, z = parts(n, m, d, dtype, seed)
    gamma = float(dtype(gamma))
    expected = reference(products, x, z, gamma)
    rbf_epilogue(products, x, z, gamma)
    # the distance itself is rounded before the exponential multiplies its error by gamma
    distance = -np.log(np.maximum(expected, 1e-300))
    largest = x.max(initial=0) + z.max(initial=0)
    tolerance = 8 * np.finfo(dtype).eps * (1 + distance + gamma * largest)
    limit = 2 * np.finfo(dtype).tiny
    assert (np.abs(products - expected) <= tolerance * expected + limit).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_exponential_is_accurate(dtype):
    # one product, distance = x_norm: the kernel is exp(-distance) itself
    distance = np.linspace(0, 80, 100_001).astype(dtype)
    out = np.zeros((len(distance), 1), dtype=dtype)
    rbf_epilogue(out, distance, np.zeros(1, dtype), 1.0)
    exact = np.exp(-distance.astype(np.float64))
    error = np.abs(out[:, 0].astype(np.float64) - exact) / exact
    assert error.max() < 2 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", DTYPES)
def test_ends_of_the_range(dtype):
    out = np.array([[0, 0, 0, np.nan, 0, 5]], dtype=dtype)
    norms = np.array([0, 1e30, np.inf, 1, np.nan, 1], dtype=dtype)
    rbf_epilogue(out, np.zeros(1, dtype), norms, 1.0)
    np.testing.assert_array_equal(out[0], [1, 0, 0, np.nan, np.nan, 1])


def test_result_does_not_depend_on_threads():
    products, x, z = parts(300, 200, 5, np.float64, 0)
    expected = products.copy()
    rbf_epilogue(expected, x, z, 0.3)

    def work(_):
        out = products.copy()
        rbf_epilogue(out, x, z, 0.3)
        return out

    with ThreadPoolExecutor(8) as pool:
        for out in pool.map(work, range(32)):
            np.testing.assert_array_equal(out, expected)


def test_invalid_input_raises():
    products, x, z = parts(3, 4, 2, np.float64, 0)
    with pytest.raises(ValueError, match="x_norms and z_norms"):
        rbf_epilogue(products, z, x, 1.0)
    for gamma in (-1.0, np.nan):
        with pytest.raises(ValueError, match="gamma"):
            rbf_epilogue(products, x, z, gamma)
    with pytest.raises(TypeError):  # a copy would swallow the result
        rbf_epilogue(np.asfortranarray(products), x, z, 1.0)
    with pytest.raises(TypeError):
        rbf_epilogue(products.astype(np.float32), x, z, 1.0)
    products.flags.writeable = False
    with pytest.raises(TypeError):
        rbf_epilogue(products, x, z, 1.0)


def combined_parts(n_views, n, m, seed):
    pieces = [parts(n, m, 3 + v, np.float32, seed + v) for v in range(n_views)]
    rng = np.random.RandomState(seed)
    weights = rng.dirichlet(np.ones(n_views)).astype(np.float32)
    factors = rng.uniform(0.05, 1, n_views).astype(np.float32)
    return (*(np.stack(each) for each in zip(*pieces, strict=True)), factors, weights)


@given(
    n_views=st.integers(1, 4),
    n=st.integers(0, 20),
    m=st.integers(0, 40),
    width=st.floats(0, 4),
    seed=st.integers(0, 10_000),
)
def test_combined_kernel_equals_the_reference(n_views, n, m, width, seed):
    arrays = combined_parts(n_views, n, m, seed)
    out = np.full((n, m), np.nan, dtype=np.float32)
    combined_rbf(*arrays, width, out)
    np.testing.assert_allclose(out, combined_reference(*arrays, width), rtol=1e-4, atol=1e-5)


def test_combined_kernel_checks_its_arrays():
    products, x, z, factors, weights = combined_parts(2, 3, 4, 0)
    out = np.empty((3, 4), dtype=np.float32)
    for wrong in (
        (products, z, x, factors, weights, 1.0, out),
        (products, x, z, factors[:1], weights, 1.0, out),
        (products, x, z, factors, weights, 1.0, out[:2]),
        (products, x, z, factors, weights, -1.0, out),
    ):
        with pytest.raises(ValueError, match="must"):
            combined_rbf(*wrong)
    with pytest.raises(TypeError):  # a copy would swallow the result
        combined_rbf(products, x, z, factors, weights, 1.0, out.astype(np.float64))


@given(
    r=st.integers(0, 20),
    n=st.integers(0, 100),
    d=st.integers(0, 70),
    scale=st.sampled_from([0.01, 1.0, 30.0]),
    seed=st.integers(0, 10_000),
)
def test_rows_equal_the_reference(r, n, d, scale, seed):
    rng = np.random.RandomState(seed)
    Z = (scale * rng.randn(n, d)).astype(np.float32)
    X = Z[rng.randint(n, size=r)] if n else np.zeros((0, d), dtype=np.float32)
    x, z = (X**2).sum(axis=1), (Z**2).sum(axis=1)
    packed = pack_panels(Z)
    np.testing.assert_array_equal(
        packed.reshape(-1, d, 32).transpose(0, 2, 1).reshape(-1, d)[:n] if d else Z, Z
    )
    out = np.full((len(X), n), np.nan, dtype=np.float32)
    gaussian_rows(X, x, packed, z, out)
    exact = X.astype(np.float64) @ Z.T.astype(np.float64)
    expected = reference(exact, x, z, 1.0)
    distance = -np.log(np.maximum(expected, 1e-300))
    largest = x.max(initial=0) + z.max(initial=0)
    tolerance = (8 + d) * np.finfo(np.float32).eps * (1 + distance + largest)
    assert (np.abs(out - expected) <= tolerance * expected + 1e-37).all()
    # between the same rows it is symmetric, bit by bit
    K = np.empty((n, n), dtype=np.float32)
    gaussian_rows(Z, z, packed, z, K)
    np.testing.assert_array_equal(K, K.T)


def test_rows_with_nan():
    Z = np.ones((40, 3), dtype=np.float32)
    Z[5, 1] = np.nan
    norms = (Z**2).sum(axis=1)
    out = np.empty((40, 40), dtype=np.float32)
    gaussian_rows(Z, norms, pack_panels(Z), norms, out)
    expected = np.ones((40, 40))
    expected[5] = expected[:, 5] = np.nan
    np.testing.assert_array_equal(out, expected)


def test_wrong_rows_raise():
    Z = np.ones((5, 3), dtype=np.float32)
    norms, packed, out = Z.sum(axis=1), pack_panels(Z), np.empty((5, 5), dtype=np.float32)
    gaussian_rows(Z, norms, packed, norms, out)
    for wrong, message in (
        ((Z, norms[:4], packed, norms, out), "x_norms"),
        ((Z, norms, packed[:-1], norms, out), "packed"),
        ((Z[:, :2].copy(), norms, packed, norms, out), "packed"),
        ((Z, norms, packed, norms, out[:4]), "out"),
    ):
        with pytest.raises(ValueError, match=message):
            gaussian_rows(*wrong)
    for wrong in ((Z.astype(float), norms, packed, norms, out), (Z, norms, packed, norms, out.T)):
        with pytest.raises(TypeError):
            gaussian_rows(*wrong)
    with pytest.raises(TypeError):  # a copy would swallow the result
        gaussian_rows(Z, norms, packed, norms, out.astype(np.float64))
