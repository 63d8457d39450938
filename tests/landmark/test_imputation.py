"""Imputation of missing blocks against row-by-row twins; known blocks are never touched."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.landmark import _imputation as imputation
from consilience.landmark._imputation import (
    IMPUTATIONS,
    expectation_maximisation,
    fit_imputer,
    least_squares,
    patterns,
)
from reference import landmark as reference


def rows_with_gaps(n, widths, seed, ratio=0.4):
    """Correlated rows, masks with a view at least in each row, and slices."""
    rng = np.random.RandomState(seed)
    p = sum(widths)
    M = rng.standard_normal((n, 3)) @ rng.standard_normal((3, p)) + 0.3 * rng.standard_normal(
        (n, p)
    )
    present = rng.random_sample((n, len(widths))) >= ratio
    present[np.arange(n), rng.randint(len(widths), size=n)] = True
    ends = np.cumsum(widths).tolist()
    slices = [slice(end - width, end) for width, end in zip(widths, ends, strict=True)]
    known = np.repeat(present, widths, axis=1)
    return M, present, slices, known, rng


@st.composite
def problems(draw):
    widths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    return rows_with_gaps(draw(st.integers(5, 40)), widths, draw(st.integers(0, 10_000)))


@given(problem=problems(), n_landmarks=st.integers(1, 8))
def test_least_squares_equals_one_row_at_a_time(problem, n_landmarks):
    M, present, slices, known, rng = problem
    P = rng.standard_normal((n_landmarks, M.shape[1]))
    ours = least_squares(np.where(known, M, np.nan), present, slices, P)
    np.testing.assert_allclose(
        ours, reference.least_squares(M, present, slices, P), rtol=1e-6, atol=1e-6
    )


@given(problem=problems())
def test_em_equals_one_row_at_a_time(problem):
    M, present, slices, known, rng = problem
    weight = rng.random_sample(len(M)) + 0.2
    mu = imputation.observed_means(M, present, slices, weight)
    full = np.where(known, M, mu)
    S = imputation.covariance(full, mu, weight / weight.sum())
    for _ in range(3 if not known.all() else 0):
        full, mu, S = reference.em_round(M, known, mu, S, weight, imputation.RIDGE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(imputation, "EM_MAX_ITER", 3)
        patch.setattr(imputation, "EM_TOL", 0.0)
        holes = np.where(known, M, np.nan)
        ours, S_ours = expectation_maximisation(holes, present, slices, weight)
    np.testing.assert_allclose(ours, mu, atol=1e-9)
    np.testing.assert_allclose(S_ours, S, atol=1e-9)


@pytest.mark.filterwarnings("ignore:imputation=")
@pytest.mark.parametrize("method", IMPUTATIONS)
@given(problem=problems())
def test_known_blocks_stay_bit_by_bit(method, problem):
    M, present, slices, known, rng = problem
    holes = np.where(known, M, np.nan)
    P = M[present.all(axis=1)]
    rule = fit_imputer(holes, present, slices, np.ones(len(M)), method, P=P, rng=rng)
    filled = rule(holes, present)
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[known], M[known])
    assert rule(M, np.ones_like(present)) is M
    nothing = rule(np.full((2, M.shape[1]), np.nan), np.zeros((2, len(slices)), dtype=bool))
    np.testing.assert_allclose(nothing, np.tile(rule.mean, (2, 1)))


@given(seed=st.integers(0, 10_000))
def test_removed_view_of_a_landmark_is_recovered(seed):
    rng = np.random.RandomState(seed)
    widths = [6, 6, 6]
    P = rng.standard_normal((6, 18))  # each block is non-singular
    slices = [slice(6 * v, 6 * v + 6) for v in range(3)]
    present = np.ones((6, 3), dtype=bool)
    present[np.arange(6), rng.randint(3, size=6)] = False
    holes = np.where(np.repeat(present, widths, axis=1), P, np.nan)
    np.testing.assert_allclose(least_squares(holes, present, slices, P), P, atol=1e-6)


@pytest.mark.parametrize("method", ["em", "ridge"])
def test_better_than_the_mean(method):
    M, present, slices, known, rng = rows_with_gaps(400, [5, 5, 5], 0)
    holes = np.where(known, M, np.nan)
    errors = {}
    for name in (method, "mean"):
        filled = fit_imputer(holes, present, slices, np.ones(400), name, rng=rng)(holes, present)
        errors[name] = ((filled - M)[~known] ** 2).mean()
    assert errors[method] < 0.5 * errors["mean"]


@pytest.mark.parametrize("method", IMPUTATIONS)
def test_weights_are_repetitions(method):
    M, present, slices, known, rng = rows_with_gaps(60, [3, 4], 0)
    count = rng.randint(1, 4, size=60)
    rows = np.repeat(np.arange(60), count)
    holes, P = np.where(known, M, np.nan), M[:5]
    once = fit_imputer(holes, present, slices, count.astype(float), method, P=P, rng=rng)
    again = fit_imputer(
        holes[rows], present[rows], slices, np.ones(len(rows)), method, P=P, rng=rng
    )
    np.testing.assert_allclose(once(holes, present), again(holes, present), atol=1e-9)


def test_too_few_complete_rows():
    M, _, slices, _, rng = rows_with_gaps(40, [3, 3], 0)
    present = np.eye(2, dtype=bool)[np.arange(40) % 2]
    holes = np.where(np.repeat(present, 3, axis=1), M, np.nan)
    ones, settings = np.ones(40), {"P": np.empty((0, 6)), "rng": rng}
    with pytest.warns(
        UserWarning, match="'ridge' learns from rows that have all views, and only 0"
    ):
        ridge = fit_imputer(holes, present, slices, ones, "ridge", **settings)
    em = fit_imputer(holes, present, slices, ones, "em", **settings)
    np.testing.assert_array_equal(ridge(holes, present), em(holes, present))
    # views that are never seen together say nothing about each other
    mean = fit_imputer(holes, present, slices, ones, "mean", **settings)
    np.testing.assert_allclose(em(holes, present), mean(holes, present), atol=1e-6)
    with pytest.warns(UserWarning, match="'least_squares' .* imputation='mean' is used"):
        rule = fit_imputer(holes, present, slices, ones, "least_squares", **settings)
    np.testing.assert_array_equal(rule(holes, present), mean(holes, present))


def test_long_data_are_sampled(monkeypatch):
    M, present, slices, known, rng = rows_with_gaps(500, [3, 3], 0)
    monkeypatch.setattr(imputation, "MAX_ROWS", 100)
    holes = np.where(known, M, np.nan)
    rule = fit_imputer(holes, present, slices, np.ones(500), "em", rng=rng)
    assert np.isfinite(rule(holes, present)).all()


def test_patterns_cover_the_rows_once():
    present = np.random.RandomState(0).random_sample((50, 3)) > 0.5
    solution = patterns(present)
    rows = np.concatenate([rows for _, rows in solution])
    np.testing.assert_array_equal(np.sort(rows), np.arange(50))
    for pattern, rows in solution:
        assert (present[rows] == pattern).all()


def test_rows_of_a_rare_view_are_always_used(monkeypatch):
    M, _, slices, _, rng = rows_with_gaps(400, [2, 3], 0)
    monkeypatch.setattr(imputation, "MAX_ROWS", 100)
    present = np.ones((400, 2), dtype=bool)
    present[:, 1] = np.isin(np.arange(400), [3, 200])
    M[:, slices[1]] += 5.0
    holes = np.where(np.repeat(present, [2, 3], axis=1), M, np.nan)
    rule = fit_imputer(holes, present, slices, np.ones(400), "em", rng=rng)
    mu, _ = expectation_maximisation(holes, present, slices, np.ones(400))
    np.testing.assert_allclose(rule.mean, mu, atol=0.5)
