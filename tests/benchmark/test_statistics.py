from itertools import product

import numpy as np
import pytest
import scikit_posthocs
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.multitest import multipletests

from consilience.benchmark import statistics as ours
from consilience.benchmark.figures import critical_difference_diagram

# two decimals: ties and equal pairs occur
SCORES = st.integers(0, 100).map(lambda i: i / 100)
PAIRS = st.integers(6, 30).flatmap(
    lambda n: st.tuples(arrays(float, n, elements=SCORES), arrays(float, n, elements=SCORES))
)
TABLES = st.tuples(st.integers(3, 20), st.integers(3, 8)).flatmap(
    lambda shape: arrays(float, shape, elements=SCORES)
)


@given(PAIRS)
def test_tests_for_two_are_those_of_scipy(pair):
    a, b = pair
    result = ours.rank_sum(a, b)
    assert (result.statistic, result.p_value) == pytest.approx(tuple(stats.ranksums(a, b)))
    if (a != b).any():
        oracle = stats.wilcoxon(np.round(a - b, 6)[a != b])  # without ties nothing to leave out
        result = ours.signed_rank(a, b)
        assert (result.statistic, result.p_value) == pytest.approx(tuple(oracle))
    else:
        assert ours.signed_rank(a, b).p_value == 1.0
    if (a - b).std() > 1e-12:
        oracle = stats.ttest_rel(a, b)
        result = ours.paired_t(a, b)
        assert (result.statistic, result.p_value) == pytest.approx(
            (oracle.statistic, oracle.pvalue)
        )


@pytest.mark.parametrize("n", range(1, 11))
def test_signed_rank_is_exact_for_few_pairs(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(2, n)) + [[0.5], [0.0]]
    ranks = stats.rankdata(np.abs(a - b))
    signs = np.array(list(product([0, 1], repeat=n)))
    sums = signs @ ranks  # every way the signs can fall
    seen = ranks[a > b].sum()
    expected = min(1.0, 2 * min((sums <= seen).mean(), (sums >= seen).mean()))
    assert ours.signed_rank(a, b).p_value == pytest.approx(expected)
    more_a, more_b = np.r_[a, 1.0, 2.0], np.r_[b, 1.0, 2.0]  # equal pairs tell nothing
    assert ours.signed_rank(more_a, more_b) == ours.signed_rank(a, b)


def test_rounding_errors_decide_no_rank():
    high, low = np.mean([0.9, 0.8, 0.7]), np.mean([0.7, 0.8, 0.9])
    assert high != low
    scores = np.array([[high, low, 0.5]] * 5)
    exact = scores.round(6)
    assert ours.compare_methods(scores).mean_ranks.tolist() == [1.5, 1.5, 3.0]
    assert ours.friedman(scores) == ours.friedman(exact)
    assert ours.friedman(np.array([[high, low, high]] * 5)).p_value == 1.0
    a, b = np.array([0.9, 0.8, 0.7, high, 0.6]), np.array([0.8, 0.7, 0.6, low, 0.8])
    assert len(set(a - b)) == 4  # not 3
    oracle = stats.wilcoxon([1, 1, 1, -2])
    result = ours.signed_rank(a, b)
    assert (result.statistic, result.p_value) == (oracle.statistic, oracle.pvalue)
    assert ours.rank_sum([high, 0.1], [low, 0.2]) == ours.rank_sum([0.8, 0.1], [0.8, 0.2])


def test_direction_is_that_of_the_test_and_not_of_the_means():
    a, b = np.r_[1.0, np.full(19, 0.5)], np.r_[0.0, np.linspace(0.51, 0.52, 19)]
    assert a.mean() > b.mean()
    assert (ours.signed_rank(a, b).direction, ours.signed_rank(b, a).direction) == (-1, 1)
    assert (ours.rank_sum(a, b).direction, ours.rank_sum(b, a).direction) == (-1, 1)
    assert (ours.paired_t(a, b).direction, ours.paired_t(b, a).direction) == (1, -1)
    assert ours.paired_t(a, a - 0.25).direction == 1  # by the same number everywhere


def test_corrected_t_is_more_careful():
    rng = np.random.default_rng(0)
    a = rng.normal(0.02, 0.02, size=10)
    plain, corrected = ours.paired_t(a, np.zeros(10)), ours.paired_t(a, np.zeros(10), 0.1)
    # variance factor 1/10 + 1/9 instead of 1/10
    assert plain.statistic / corrected.statistic == pytest.approx(np.sqrt(1 + 10 / 9))
    assert corrected.p_value > plain.p_value


@pytest.mark.parametrize("difference", [0.0, 0.5, -0.5])
def test_constant_differences(difference):
    a = np.full(5, 0.25)
    result = ours.paired_t(a + difference, a)
    assert result.p_value == (1.0 if difference == 0 else 0.0)
    assert np.sign(result.statistic) == np.sign(difference)


def test_equal_differences_have_an_error_of_at_least():
    a, b = np.array([0.9, 0.8, 0.7]), np.array([0.8, 0.7, 0.6])
    assert ours.paired_t(a, b).statistic == np.inf  # though the differences differ by an ulp
    result = ours.paired_t(a, b, 0.5, min_error=0.05)
    assert result.statistic == pytest.approx(2)
    assert result.p_value == pytest.approx(2 * stats.t.sf(2, 2))
    assert ours.paired_t(b, a, min_error=0.05).statistic == pytest.approx(-2)
    spread = np.array([0.9, 0.5, 0.7])
    assert ours.paired_t(spread, b, min_error=1e-6) == ours.paired_t(spread, b)


@given(TABLES)
def test_tests_for_many_are_those_of_scipy_and_posthocs(scores):
    equal = (scores == scores[:, :1]).all()
    result = ours.friedman(scores)
    if equal:
        assert result.p_value == 1.0
        return
    oracle = stats.friedmanchisquare(*scores.T)
    assert (result.statistic, result.p_value) == pytest.approx((oracle.statistic, oracle.pvalue))
    nemenyi = scikit_posthocs.posthoc_nemenyi_friedman(scores).to_numpy()
    np.testing.assert_allclose(ours.nemenyi(scores), nemenyi, atol=1e-9)
    ranking = ours.compare_methods(scores, alpha=0.05)
    gaps = np.abs(ranking.mean_ranks[:, None] - ranking.mean_ranks)
    clear = np.abs(ranking.p_values - 0.05) > 1e-6
    significant = gaps > ranking.critical_difference
    assert (significant == (ranking.p_values < 0.05))[clear].all()
    for group in ranking.groups:
        assert not significant[np.ix_(group, group)].any()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p_values):
    p_values = np.array(p_values)
    np.testing.assert_allclose(ours.holm(p_values), multipletests(p_values, method="holm")[1])


def test_critical_difference_of_demsar():
    # table 5 of Demšar (2006): q = 2.569 for 4 methods, 2.728 for 5, at 0.05
    for k, q in ((4, 2.569), (5, 2.728)):
        expected = q * np.sqrt(k * (k + 1) / (6 * 14))
        assert ours.critical_difference(k, 14) == pytest.approx(expected, abs=1e-3)


def test_summary():
    assert ours.mean_and_deviation(np.array([1.0, 3.0])) == pytest.approx((2.0, np.sqrt(2)))
    mean, deviation = ours.mean_and_deviation(np.array([1.0]))
    assert mean == 1.0
    assert np.isnan(deviation)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ours.signed_rank([1.0, 2.0], [1.0]), "the same length, got 2 and 1"),
        (lambda: ours.paired_t([1.0, np.nan], [1.0, 2.0]), "some are NaN"),
        (lambda: ours.paired_t([1.0], [2.0]), "at least two pairs"),
        (lambda: ours.paired_t([1.0, 2.0], [2.0, 2.0], 1.0), "test_share"),
        (lambda: ours.friedman(np.ones((5, 2))), "3 methods"),
        (lambda: ours.nemenyi(np.full((5, 3), np.nan)), "some are NaN"),
        (lambda: ours.holm(np.empty(0)), "list of numbers"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_diagram_shows_every_method():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(12, 7)) + 0.5 * np.arange(7)
    names = [f"method ${i}" for i in range(7)]
    ax = critical_difference_diagram(ours.compare_methods(scores), names)
    texts = " ".join(text.get_text() for text in ax.texts)
    assert all(name in texts for name in names)
    assert "critical difference" in texts
    ax.figure.canvas.draw()


def test_bars_of_the_diagram_join_methods_that_cannot_be_told_apart():
    scores = np.random.default_rng(0).normal(size=(12, 7)) + 0.5 * np.arange(7)
    ranking = ours.compare_methods(scores)
    assert len(ranking.groups) > 1
    ax = critical_difference_diagram(ranking, [str(i) for i in range(7)])
    bars = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 3]
    ends = [ranking.mean_ranks[[group[0], group[-1]]] for group in ranking.groups]
    np.testing.assert_allclose(bars, np.array(ends) + [-0.05, 0.05])
    # half of the methods, the better ones, on the left
    sides = {text.get_text().split()[0]: text.get_ha() for text in ax.texts}
    assert [sides[str(i)] for i in np.argsort(ranking.mean_ranks)[:4]] == ["right"] * 4


def test_intervals_of_a_mean_over_splits():
    scores = np.array([0.7, 0.8, 0.75, 0.9])
    assert ours.variance_factor(4, 0.2) == pytest.approx(1 / 4 + 0.25)
    assert ours.variance_factor(4, 0.2, is_folds=True) == pytest.approx(0.25)
    for is_folds, factor in ((False, 0.5), (True, 0.25)):
        error = np.sqrt(scores.var(ddof=1) * factor)
        expected = stats.t.interval(0.9, 3, scores.mean(), error)
        interval = ours.corrected_interval(scores, 0.2, is_folds=is_folds, level=0.9)
        assert interval == pytest.approx(expected)
    assert np.isfinite(ours.corrected_interval(scores[:2], 0.2)).all()
    assert np.isnan(ours.corrected_interval(scores[:1], 0.2)).all()


@pytest.mark.parametrize(("successes", "n"), [(3, 10), (0, 7), (25, 25), (40, 90)])
def test_wilson_interval_is_that_of_scipy(successes, n):
    for level in (0.8, 0.95):
        expected = stats.binomtest(successes, n).proportion_ci(level, method="wilson")
        assert ours.wilson_interval(successes / n, n, level) == pytest.approx(tuple(expected))


def test_advantage_is_a_one_sided_corrected_test():
    a, b = np.array([0.8, 0.9, 0.85, 0.7]), np.array([0.7, 0.85, 0.9, 0.6])
    two_sided = ours.paired_t(a, b, test_share=0.25)
    assert two_sided.statistic > 0
    assert ours.advantage_p_value(a, b, 0.25) == pytest.approx(two_sided.p_value / 2)
    assert ours.advantage_p_value(b, a, 0.25) == pytest.approx(1 - two_sided.p_value / 2)
    mean = (a - b).mean()
    assert ours.advantage_p_value(a, b, 0.25, min_error=0.5) == pytest.approx(
        stats.t.sf(mean / 0.5, 3)
    )
    assert ours.advantage_p_value(a[:1], b[:1], 0.25, min_error=0.5) == pytest.approx(
        stats.norm.sf(0.2)
    )
    two = ours.advantage_p_value(a[:2], b[:2], 0.25)
    assert two == pytest.approx(ours.paired_t(a[:2], b[:2], test_share=0.25).p_value / 2)
    assert [ours.advantage_p_value(a, a - d, 0.25) for d in (0, 0.5, -0.5)] == [1, 0, 1]


def test_impossible_shares_and_too_few_values():
    for share in (0, 1, 1.5):
        with pytest.raises(ValueError, match="test_share must be between 0 and 1"):
            ours.paired_t([1, 2], [2, 2], test_share=share)
    with pytest.raises(ValueError, match="at least two pairs"):
        ours.paired_t([1], [2])
    assert ours.mean_and_deviation(np.array([1.0, 3.0])) == (2.0, pytest.approx(np.sqrt(2)))
    assert np.isnan(ours.mean_and_deviation(np.array([1.0]))[1])
    assert ours.paired_t([2, 2], [2, 2]).p_value == 1
    worse = ours.paired_t([1, 1], [2, 2])
    assert (worse.statistic, worse.p_value) == (-np.inf, 0)
