"""Quantiles of rows against a slow twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.views._maps import fit_view_map
from consilience.views._row_quantiles import LEVELS, fit_row_quantiles, row_quantiles


def quantile(values, level):
    """Linear interpolation between the two order statistics around the level."""
    ordered = sorted(values)
    place = level * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def draw_rows(seed, n=12, d=20, missing=0.2):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    Z[rng.random((n, d)) < missing] = np.nan
    Z[0], Z[1] = np.nan, rng.normal(size=d)
    return Z


@given(st.integers(0, 10_000))
def test_quantiles_of_the_known_values_of_each_row(seed):
    Z = draw_rows(seed)
    Q = row_quantiles(Z)
    assert np.isnan(Q[0]).all()
    for z, q in zip(Z[1:], Q[1:], strict=True):
        known = z[~np.isnan(z)].tolist()
        expected = [quantile(known, level) for level in LEVELS]
        np.testing.assert_allclose(q, expected, atol=1e-12)


def test_order_of_the_columns_does_not_matter():
    Z = draw_rows(0)
    order = np.random.default_rng(1).permutation(Z.shape[1])
    np.testing.assert_allclose(row_quantiles(Z[:, order]), row_quantiles(Z))


def test_quantiles_are_standardised_by_weighted_rows():
    Z, weight = draw_rows(3), np.arange(12) % 4 + 1.0
    fitted = fit_row_quantiles(Z, weight)
    repeated = np.repeat(row_quantiles(Z)[1:], weight[1:].astype(int), axis=0)
    np.testing.assert_allclose(fitted.mean, repeated.mean(axis=0))
    np.testing.assert_allclose(fitted.scale, repeated.std(axis=0))
    out = fitted.apply(Z)
    assert np.isnan(out[0]).all()
    expected = (row_quantiles(Z[1:]) - fitted.mean) / fitted.scale
    np.testing.assert_allclose(out[1:], np.clip(expected, -3, 3))


def test_equal_quantiles_are_not_blown_up_by_rounding():
    Z = np.tile(np.linspace(-1, 1, 20) / 3, (10, 1))
    out = fit_row_quantiles(Z, np.ones(10)).apply(Z)
    np.testing.assert_allclose(out, 0, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_maps_add_quantiles_after_columns_and_scores(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 18))
    X[:, 4] = np.exp(2 * X[:, 4])  # skewed
    X[:, 7] = 1.0  # constant
    X[3, 5] = np.nan
    plain = fit_view_map(X, np.ones(40))
    extended = plain.with_row_quantiles(X, np.ones(40))
    assert plain.part_widths == (17, 1, 0)
    assert extended.part_widths == (17, 1, len(LEVELS))
    out = extended.apply(X, dtype)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out[:, :18], plain.apply(X, dtype))
    Z = np.delete(X, 7, axis=1)
    Z = np.clip((Z - plain.mean) / plain.scale, -3, 3)
    expected = fit_row_quantiles(Z, np.ones(40)).apply(Z)
    np.testing.assert_allclose(out[:, 18:], expected, atol=1e-12 if dtype == np.float64 else 1e-5)
    filled = extended.fill(out)
    assert filled[3, 5] == 0
    assert np.isfinite(filled).all()
