"""Local patterns of signals as features of a view."""

import numpy as np
import pytest

from consilience.views._local_patterns import PATTERNS, fit_local_patterns, is_signal
from consilience.views._maps import column_moments, fit_view_map
from consilience.views._normal_scores import standardise
from reference.local_patterns import answers, local_patterns


def signals(n=30, d=40, seed=0):
    return np.cumsum(np.random.default_rng(seed).normal(size=(n, d)), axis=1)


def fit(X, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    return fit_local_patterns(X, *column_moments(X, np.ones(len(X))), weight)


def test_signals_are_known_by_neighbouring_columns():
    X = signals(200)
    Z = standardise(X, X.mean(axis=0), X.std(axis=0))
    assert is_signal(Z)
    assert not is_signal(Z[:, np.random.default_rng(1).permutation(40)][:, ::4])
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 40))
    assert not is_signal(noise)
    # what is common to a row, such as its brightness, does not make a signal
    assert not is_signal(noise + 3 * rng.normal(size=(200, 1)))
    Z[rng.random(Z.shape) < 0.1] = np.nan
    assert is_signal(Z)
    assert np.isnan(Z).any()
    assert not is_signal(np.full((4, 9), np.nan))


@pytest.mark.parametrize(
    ("d", "distances"), [(9, [1]), (16, [1]), (17, [1, 2]), (33, [1, 2, 4]), (64, [1, 2, 4])]
)
def test_distances_double_as_far_as_a_pattern_fits(d, distances):
    fitted = fit(signals(d=d))
    assert fitted.distances.tolist() == distances
    assert fitted.width == 84 * len(distances) == len(fitted.mean)


def test_features_are_standardised_answers_above_the_biases():
    X, weight = signals(), np.arange(30) % 3 + 1.0
    fitted = fit(X, weight)
    S = np.clip((X - X.mean()) / np.median(X.std(axis=0)), -10, 10)
    F = local_patterns(S, fitted.distances, fitted.biases)
    repeated = np.repeat(F, weight.astype(int), axis=0)
    np.testing.assert_allclose(fitted.mean, repeated.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(fitted.scale, repeated.std(axis=0), rtol=1e-3)
    expected = np.clip((F - fitted.mean) / fitted.scale, -3, 3)
    np.testing.assert_allclose(fitted.apply(X), expected, atol=5e-3)


def test_biases_are_answers_above_the_median_in_one_of_the_rows():
    X = signals()
    fitted = fit(X)
    S = np.clip((X - X.mean()) / np.median(X.std(axis=0)), -10, 10)
    used = set()
    for k, p in ((0, 0), (0, 50), (1, 3), (2, 83)):
        every = np.array([answers(s, PATTERNS[p], fitted.distances[k]) for s in S])
        row, place = np.unravel_index(np.abs(every - fitted.biases[k, p]).argmin(), every.shape)
        assert every[row, place] == pytest.approx(fitted.biases[k, p], abs=1e-5)
        assert (every[row] <= every[row, place]).mean() > 0.5
        used.add(row)
    assert len(used) > 1


def test_units_do_not_matter():
    X = signals()
    a, b = fit(X), fit(1e-200 * X)
    np.testing.assert_allclose(a.apply(X), b.apply(1e-200 * X), atol=1e-4)
    out = a.apply(1e300 * X)
    assert np.isfinite(out).all()


def test_empty_cells_are_at_the_mean_and_empty_rows_stay_empty():
    X = signals()
    X[3, 5:9] = np.nan
    X[7] = np.nan
    fitted = fit(X)
    filled = X.copy()
    filled[3, 5:9] = np.nanmean(X, axis=0)[5:9]
    out = fitted.apply(X)
    np.testing.assert_array_equal(out[3], fitted.apply(filled)[3])
    assert np.isnan(out[7]).all()
    assert np.isfinite(np.delete(out, 7, axis=0)).all()
    without = fit_local_patterns(
        np.delete(X, 7, axis=0), *column_moments(X, np.ones(30)), np.ones(29)
    )
    np.testing.assert_array_equal(out[:7], without.apply(X)[:7])


def test_equal_features_are_not_blown_up_by_rounding():
    X = np.tile(signals(1), (10, 1)) + 1e-9 * signals(10, seed=1)
    np.testing.assert_allclose(fit(X).apply(X + 0.0), 0, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_maps_add_patterns_after_everything_else(dtype):
    X = signals(40)
    X[:, 7] = 1.0  # constant
    X[3, 5] = np.nan
    plain = fit_view_map(X, np.ones(40))
    extended = plain.with_row_quantiles(X, np.ones(40)).with_local_patterns(X, np.ones(40))
    n_columns, n_ranks, n_whole = extended.part_widths
    assert (n_columns, n_ranks) == plain.part_widths[:2]
    assert n_whole == 9 + extended.patterns.width == extended.width - plain.width
    out = extended.apply(X, dtype)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out[:, : plain.width], plain.apply(X, dtype))
    taken = np.delete(X, 7, axis=1)
    fitted = fit_local_patterns(taken, plain.mean, plain.scale, np.ones(40))
    np.testing.assert_allclose(out[:, plain.width + 9 :], fitted.apply(taken).astype(dtype))
    assert np.isfinite(extended.fill(out)).all()


def test_maps_of_other_rows_add_none():
    noise = np.random.default_rng(0).normal(size=(40, 20))
    assert fit_view_map(noise, np.ones(40)).with_local_patterns(noise, np.ones(40)) is None
