"""Compiled patterns of signals against a slow twin."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience._core import local_patterns
from reference.local_patterns import local_patterns as reference


def arrays(n, d, distances, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    biases = rng.normal(size=(len(distances), 84)).astype(np.float32)
    return X, np.array(distances, dtype=np.int64), biases


def features(X, distances, biases):
    out = np.full((len(X), 84 * len(distances)), np.nan, dtype=np.float32)
    local_patterns(X, distances, biases, out)
    return out


@given(
    n=st.integers(0, 3),
    d=st.integers(9, 40),
    shares=st.lists(st.floats(0, 1), max_size=2),
    seed=st.integers(0, 10_000),
)
def test_equals_the_reference(n, d, shares, seed):
    distances = [1 + round(share * ((d - 1) // 8 - 1)) for share in shares]
    X, distances, biases = arrays(n, d, distances, seed)
    np.testing.assert_allclose(
        features(X, distances, biases), reference(X, distances, biases), atol=1e-5
    )


def test_level_of_a_row_does_not_matter_away_from_its_ends():
    X, distances, biases = arrays(4, 400, [1, 2], 0)
    low, high = (features(X + level, distances, biases) for level in (0, 5))
    np.testing.assert_allclose(low, high, atol=0.5)
    # 16 of 400 places see the end of the row, each changes by 15 at most
    assert not np.allclose(low, features(5 * X, distances, biases), atol=0.5)


def test_result_does_not_depend_on_threads_nor_on_other_rows():
    X, distances, biases = arrays(40, 100, [1, 4, 12], 1)
    expected = features(X, distances, biases)
    with ThreadPoolExecutor(8) as pool:
        for out in pool.map(lambda _: features(X, distances, biases), range(32)):
            np.testing.assert_array_equal(out, expected)
    for i in range(0, 40, 7):
        np.testing.assert_array_equal(features(X[i : i + 1], distances, biases)[0], expected[i])


def test_invalid_input_raises():
    X, distances, biases = arrays(3, 20, [1, 2], 2)
    out = np.empty((3, 168), dtype=np.float32)
    for wrong in ([0, 1], [-1, 1], [1, 3], [1, 2**62], [1]):
        with pytest.raises(ValueError, match=r"distances must be positive|biases must have"):
            local_patterns(X, np.array(wrong, dtype=np.int64), biases, out)
    with pytest.raises(ValueError, match="distances must be positive"):
        local_patterns(X[:, :0].copy(), distances, biases, out)
    with pytest.raises(ValueError, match="biases must have 84 columns"):
        local_patterns(X, distances, biases[:, :83].copy(), out)
    for rows in (out[:2], out[:, :167].copy()):
        with pytest.raises(ValueError, match="out must have a row for each of X"):
            local_patterns(X, distances, biases, rows)
    with pytest.raises(TypeError):  # a copy would swallow the result
        local_patterns(X, distances, biases, np.asfortranarray(out))
