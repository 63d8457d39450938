"""Statistics of comparisons: summaries, tests for two methods and for many, effect sizes.

Scores are arrays with one row for each split or data set and one column for each method; larger is
better. The tests for many methods follow J. Demšar, "Statistical comparisons of classifiers over
multiple data sets", JMLR 7, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

__all__ = [
    "HypothesisTest",
    "Ranking",
    "cliffs_delta",
    "cohens_d",
    "cohens_d_paired",
    "compare_methods",
    "critical_difference",
    "friedman",
    "holm",
    "mean_and_deviation",
    "nemenyi",
    "paired_t",
    "rank_biserial",
    "rank_sum",
    "signed_rank",
]


@dataclass(frozen=True)
class HypothesisTest:
    """A test's statistic and p-value."""

    statistic: float
    p_value: float


@dataclass(frozen=True)
class Ranking:
    """Methods over several data sets: mean ranks (1 is best) and which differences count."""

    mean_ranks: np.ndarray
    friedman: HypothesisTest
    p_values: np.ndarray  # Nemenyi, method × method
    critical_difference: float
    groups: list[list[int]]  # methods, best first, that do not differ


def mean_and_deviation(scores: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation (n − 1) of a sample; NaN stays NaN, one value deviates by NaN."""
    scores = _vector(scores)
    deviation = scores.std(ddof=1) if len(scores) > 1 else np.nan
    return float(scores.mean()), float(deviation)


# -- two methods -----------------------------------------------------------------------------


def signed_rank(a: np.ndarray, b: np.ndarray) -> HypothesisTest:
    """Wilcoxon's signed-rank test of paired scores; splits without a difference are left out."""
    a, b = _pair(a, b)
    # left out here, because SciPy approximates where it sees equal pairs, and few splits are common
    difference = (a - b)[a != b]
    if len(difference) == 0:
        return HypothesisTest(0.0, 1.0)
    result = stats.wilcoxon(difference)
    return HypothesisTest(float(result.statistic), float(result.pvalue))


def rank_sum(a: np.ndarray, b: np.ndarray) -> HypothesisTest:
    """Wilcoxon's rank-sum test of two samples that are not paired."""
    result = stats.ranksums(_vector(a), _vector(b))
    return HypothesisTest(float(result.statistic), float(result.pvalue))


def paired_t(a: np.ndarray, b: np.ndarray, test_share: float | None = None) -> HypothesisTest:
    """Paired t-test; with ``test_share`` corrected for training rows that the splits share.

    The correction is that of C. Nadeau and Y. Bengio, "Inference for the generalization error",
    Machine Learning 52, 2003: the variance is that of the mean times 1 + n·test/(1 − test), for n
    random splits with this share of test rows (1/folds in cross-validation).
    """
    a, b = _pair(a, b)
    difference = a - b
    n = len(difference)
    if n < 2:
        raise ValueError("a paired t-test needs at least two pairs")
    if test_share is not None and not 0 < test_share < 1:
        raise ValueError(f"test_share must lie between 0 and 1, got {test_share}")
    factor = 1 / n + (0.0 if test_share is None else test_share / (1 - test_share))
    variance = difference.var(ddof=1) * factor
    if variance == 0:
        same = difference[0] == 0
        return (
            HypothesisTest(0.0, 1.0)
            if same
            else HypothesisTest(np.copysign(np.inf, difference[0]), 0.0)
        )
    t = difference.mean() / np.sqrt(variance)
    return HypothesisTest(float(t), float(2 * stats.t.sf(abs(t), n - 1)))


# -- effect sizes ----------------------------------------------------------------------------


def cohens_d(a: np.ndarray, b: np.ndarray) -> float:
    """Difference of the means in pooled standard deviations."""
    a, b = _vector(a), _vector(b)
    freedom = len(a) + len(b) - 2
    pooled = ((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / freedom
    return _ratio(a.mean() - b.mean(), np.sqrt(pooled))


def cohens_d_paired(a: np.ndarray, b: np.ndarray) -> float:
    """Mean of the differences in their standard deviations."""
    a, b = _pair(a, b)
    return _ratio((a - b).mean(), (a - b).std(ddof=1))


def cliffs_delta(a: np.ndarray, b: np.ndarray) -> float:
    """P(a > b) − P(a < b) over all pairs, in [−1, 1]."""
    a, b = _vector(a), _vector(b)
    return float(np.sign(a[:, None] - b[None, :]).mean())


def rank_biserial(a: np.ndarray, b: np.ndarray) -> float:
    """Share of the rank sum where a is better less the share where b is, for paired scores."""
    a, b = _pair(a, b)
    difference = (a - b)[a != b]
    if len(difference) == 0:
        return 0.0
    ranks = stats.rankdata(np.abs(difference))
    return float((np.sign(difference) * ranks).sum() / ranks.sum())


# -- many methods ----------------------------------------------------------------------------


def holm(p_values: np.ndarray) -> np.ndarray:
    """Holm's adjusted p-values: the k-th smallest of n is multiplied by n − k + 1, monotone."""
    p = _vector(p_values)
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1.0)
    out = np.empty_like(adjusted)
    out[order] = adjusted
    return out


def mean_ranks(scores: np.ndarray) -> np.ndarray:
    """Mean rank of each method; 1 is best, methods that tie share."""
    return stats.rankdata(-_table(scores), axis=1).mean(axis=0)


def friedman(scores: np.ndarray) -> HypothesisTest:
    """Friedman's test, corrected for ties: do the mean ranks of the methods differ at all?"""
    scores = _table(scores)
    if (scores == scores[:, :1]).all():
        return HypothesisTest(0.0, 1.0)
    result = stats.friedmanchisquare(*scores.T)
    return HypothesisTest(float(result.statistic), float(result.pvalue))


def nemenyi(scores: np.ndarray) -> np.ndarray:
    """Nemenyi's p-values for all pairs of methods, from the studentised range of mean ranks."""
    scores = _table(scores)
    n, k = scores.shape
    ranks = mean_ranks(scores)
    q = np.abs(ranks[:, None] - ranks) / np.sqrt(k * (k + 1) / (6 * n)) * np.sqrt(2)
    p = stats.studentized_range.sf(q, k, np.inf).clip(max=1.0)
    np.fill_diagonal(p, 1.0)
    return p


def critical_difference(n_methods: int, n_datasets: int, alpha: float = 0.05) -> float:
    """Mean ranks that differ by less do not differ significantly (Nemenyi)."""
    q = stats.studentized_range.isf(alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def indistinguishable_groups(ranks: np.ndarray, difference: float) -> list[list[int]]:
    """Largest runs of methods, by rank, whose ends lie no more than ``difference`` apart."""
    order = np.argsort(ranks, kind="stable")
    runs: list[list[int]] = []
    for start in range(len(order)):
        stop = start
        while stop + 1 < len(order) and ranks[order[stop + 1]] - ranks[order[start]] <= difference:
            stop += 1
        run = order[start : stop + 1].tolist()
        if len(run) > 1 and not (runs and set(run) <= set(runs[-1])):
            runs.append(run)
    return runs


def compare_methods(scores: np.ndarray, alpha: float = 0.05) -> Ranking:
    """Friedman's test, then Nemenyi's, of methods (columns) over data sets (rows)."""
    scores = _table(scores)
    n, k = scores.shape
    ranks, difference = mean_ranks(scores), critical_difference(k, n, alpha)
    groups = indistinguishable_groups(ranks, difference)
    return Ranking(ranks, friedman(scores), nemenyi(scores), difference, groups)


# -- checks ----------------------------------------------------------------------------------


def _vector(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"expected a list of numbers, got an array of shape {values.shape}")
    return values


def _pair(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b = _vector(a), _vector(b)
    if len(a) != len(b):
        raise ValueError(f"paired scores must be equally many, got {len(a)} and {len(b)}")
    if np.isnan(a).any() or np.isnan(b).any():
        raise ValueError("paired scores must be complete, but some are NaN")
    return a, b


def _table(scores: np.ndarray) -> np.ndarray:
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[0] < 2 or scores.shape[1] < 3:
        raise ValueError(
            "a comparison of many methods needs at least 2 data sets (rows) and 3 methods "
            f"(columns), got an array of shape {scores.shape}"
        )
    if np.isnan(scores).any():
        raise ValueError("the table of scores must be complete, but some are NaN")
    return scores


def _ratio(difference: float, deviation: float) -> float:
    if deviation == 0:
        return 0.0 if difference == 0 else float(np.copysign(np.inf, difference))
    return float(difference / deviation)
