"""Maps that make views comparable, dense and sparse alike."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm, rankdata

from consilience.views._maps import _unit_roots, fit_view_map

RNG = np.random.RandomState(0)
COUNTS = RNG.poisson(0.3, size=(40, 12)).astype(float)
ONES = np.ones(40)


@pytest.fixture(autouse=True)
def same_draws_in_any_order():
    RNG.seed(1)


def test_histograms_become_unit_roots():
    fitted = fit_view_map(COUNTS, ONES)
    assert fitted.kind == "roots"
    norms = np.sqrt(COUNTS.sum(axis=1, keepdims=True))
    expected = np.sqrt(COUNTS) / np.where(norms > 0, norms, 1)
    np.testing.assert_allclose(fitted.apply(COUNTS), expected)
    sparse = fit_view_map(sp.csr_array(COUNTS), ONES)
    assert sp.issparse(sparse.apply(COUNTS))
    np.testing.assert_allclose(sparse.apply(sp.csr_array(COUNTS)).toarray(), expected)


def test_other_columns_are_standardised_by_weight():
    X, weight = RNG.randn(40, 3) * [1, 100, 0.01], RNG.randint(1, 4, 40).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    expected = np.clip((X - repeated.mean(axis=0)) / repeated.std(axis=0), -3, 3)
    fitted = fit_view_map(X, weight)
    assert fitted.kind == "standard"
    np.testing.assert_allclose(fitted.apply(X), expected)
    np.testing.assert_allclose(fitted.apply(sp.csr_array(X)), expected)


def test_amounts_beside_flags_are_no_histogram():
    X = np.column_stack([COUNTS > 0, 1e4 * np.exp(RNG.randn(40))]).astype(float)
    assert (X == 0).mean() > 0.3
    assert fit_view_map(X[:, :-1], ONES).kind == "roots"
    wide = np.column_stack([X[:, :6], *[X[:, -1]] * 2])
    assert fit_view_map(wide, ONES).kind == "standard"


def test_constant_columns_are_left_out():
    X = np.column_stack([np.full(40, 7.0), RNG.randn(40), np.full(40, 1e9) + 1e-9])
    assert fit_view_map(X, ONES).columns.tolist() == [1]
    empty = sp.csr_array(np.column_stack([COUNTS, np.zeros(40)]))
    assert 12 not in fit_view_map(empty, ONES).columns
    assert fit_view_map(np.zeros((5, 3)), np.ones(5)).width == 0


def test_sparse_views_with_negative_values_are_scaled():
    X = np.where(RNG.random_sample((40, 20)) < 0.1, RNG.randn(40, 20) * 50, 0)
    fitted = fit_view_map(sp.csr_array(X), ONES)
    assert fitted.kind == "scaled"
    out = fitted.apply(sp.csr_array(X)).toarray()
    X = X[:, fitted.columns]
    np.testing.assert_allclose(out, X / np.sqrt((X**2).mean(axis=0)))


@pytest.mark.parametrize("huge", [1e200, 1e308, 1e-300])
def test_huge_and_tiny_values(huge):
    X = RNG.randn(40, 3) / 5 * huge
    for view in (X, sp.csr_array(np.where(RNG.random_sample(X.shape) < 0.2, X, 0))):
        out = fit_view_map(view, ONES).apply(view)
        values = out.data if sp.issparse(out) else out
        assert np.isfinite(values).all()
        assert values.std() > 0.1


def test_empty_cells_stay_and_are_filled_by_means():
    X = RNG.randn(40, 3)
    X[3, 1] = np.nan
    fitted = fit_view_map(X, ONES)
    out = fitted.apply(X)
    assert np.isnan(out).sum() == 1
    assert fitted.fill(out)[3, 1] == 0
    counts = COUNTS.copy()
    counts[5, 0] = np.nan
    roots = fit_view_map(counts, ONES)
    assert np.isfinite(roots.fill(roots.apply(counts))).all()
    sparse = sp.csr_array(counts)
    held = fit_view_map(sparse, ONES)
    assert np.isfinite(held.fill(held.apply(sparse)).data).all()


def test_skewed_columns_are_added_as_normal_scores():
    rng = np.random.RandomState(0)
    skewed, weight = np.exp(rng.randn(40)), rng.randint(1, 4, 40).astype(float)
    X = np.column_stack([np.linspace(-1, 1, 40), skewed, skewed < 0.2])
    fitted = fit_view_map(X, weight)
    assert fitted.ranks.columns.tolist() == [1]
    assert fitted.width == 4
    out = fitted.apply(X)
    repeated = np.repeat(skewed, weight.astype(int))
    below = np.array([np.mean(repeated < x) + np.mean(repeated == x) / 2 for x in repeated])
    scores = norm.ppf(below)
    scores = (scores - scores.mean()) / scores.std()
    np.testing.assert_allclose(np.repeat(out[:, 3], weight.astype(int)), scores * np.sqrt(0.5))
    standard = np.clip((X - fitted.mean) / fitted.scale, -3, 3) * [1, np.sqrt(0.5), 1]
    np.testing.assert_allclose(out[:, :3], standard)
    # between and beyond the values seen
    order = np.argsort(skewed)
    low, high = order[3:5]
    new = np.array([X[low], X[low], X[low]])
    new[:, 1] = [(skewed[low] + skewed[high]) / 2, -5.0, np.nan]
    result = fitted.apply(new)
    assert result[0, 3] == pytest.approx((out[low, 3] + out[high, 3]) / 2)
    assert result[1, 3] == out[:, 3].min()
    assert np.isnan(result[2, [1, 3]]).all()
    assert fitted.fill(result)[2, 3] == 0


@pytest.mark.parametrize("extreme", [50.0, -50.0])
def test_values_of_almost_no_weight_have_finite_scores(extreme):
    skewed = np.sort(np.exp(np.random.RandomState(0).randn(40)))
    x, weight = np.append(skewed, extreme), np.append(np.ones(40), 1e-20)
    out, without = (fit_view_map(x[:n, None], weight[:n]).apply(x[:n, None]) for n in (41, 40))
    assert np.isfinite(out).all()
    np.testing.assert_allclose(out[:40], without, atol=1e-12)


def test_many_values_are_interpolated_between_some():
    X = np.exp(np.random.RandomState(0).randn(20_000, 1))
    fitted = fit_view_map(X, np.ones(20_000))
    assert len(fitted.ranks.values[0]) <= 255
    ranks = rankdata(X[:, 0])
    exact = np.clip(norm.ppf((ranks - 0.5) / 20_000), -3, 3)
    assert np.abs(fitted.apply(X)[:, 1] / np.sqrt(0.5) - exact).max() < 0.1


@pytest.mark.parametrize("huge", [1e200, 1e307, 1e-300])
def test_scores_of_huge_and_tiny_values(huge):
    skewed = np.linspace(0, 2, 40) ** 4
    X = np.column_stack([skewed, -skewed]) * huge
    out = fit_view_map(X, ONES).apply(X)
    assert out.shape == (40, 4)
    assert np.isfinite(out).all()
    np.testing.assert_allclose(out, fit_view_map(X / huge, ONES).apply(X / huge), atol=1e-6)


def test_unit_roots_ignore_missing_cells():
    X = np.array([[1.0, np.nan, 3.0], [0.0, 0.0, 0.0], [np.nan, 0.0, 4.0]])
    expected = [[0.5, np.nan, np.sqrt(0.75)], [0.0, 0.0, 0.0], [np.nan, 0.0, 1.0]]
    np.testing.assert_allclose(_unit_roots(X, np.float64), expected)
    np.testing.assert_allclose(_unit_roots(sp.csr_array(X), np.float64).toarray(), expected)


def test_missing_cells_of_sparse_views_do_not_change_the_scale():
    X = np.where(RNG.random_sample((40, 20)) < 0.1, RNG.randn(40, 20) / 50, 0)
    X[:2] = RNG.randn(2, 20) / 50
    with_nan = X.copy()
    with_nan[0], X[0] = np.nan, 0
    scales = [fit_view_map(sp.csr_array(each), ONES).scale for each in (X, with_nan)]
    np.testing.assert_allclose(*scales)
