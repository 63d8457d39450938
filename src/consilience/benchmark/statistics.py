"""Statistics of comparisons: summaries, and tests for two methods and for many.

Scores are arrays with one row per split or data set and one column per method; larger is better.
The tests for many methods follow J. Demšar, "Statistical comparisons of classifiers over multiple
data sets", JMLR 7, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

__all__ = [
    "HypothesisTest",
    "Ranking",
    "advantage_p_value",
    "compare_methods",
    "corrected_interval",
    "critical_difference",
    "friedman",
    "holm",
    "mean_and_deviation",
    "nemenyi",
    "paired_t",
    "rank_sum",
    "round_scores",
    "signed_rank",
    "variance_factor",
    "wilson_interval",
]


SCORE_DIGITS = 12


@dataclass(frozen=True)
class HypothesisTest:
    """Statistic and p-value of a hypothesis test of two samples or more.

    The direction is 1 if the first of two samples is ahead, −1 if the second is, as the test sees
    it; a test of ranks may see it otherwise than the means.
    """

    statistic: float
    p_value: float
    direction: int = 0


@dataclass(frozen=True)
class Ranking:
    """Methods over several data sets: mean ranks (1 is best) and which differences matter."""

    mean_ranks: np.ndarray
    friedman: HypothesisTest
    p_values: np.ndarray  # Nemenyi, method × method
    critical_difference: float
    groups: list[list[int]]  # of methods, best first, that do not differ significantly


def round_scores(scores: Any) -> Any:
    """Round scores to 12 digits, since means of the same numbers may differ by rounding errors."""
    return np.round(scores, SCORE_DIGITS) + 0.0


def mean_and_deviation(scores: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation (n − 1) of a sample; the deviation of a single value is NaN."""
    scores = _check_vector(scores)
    deviation = scores.std(ddof=1) if len(scores) > 1 else np.nan
    return float(scores.mean()), float(deviation)


# -- two methods -----------------------------------------------------------------------------


def signed_rank(a: np.ndarray, b: np.ndarray) -> HypothesisTest:
    """Wilcoxon signed-rank test of paired scores; pairs without a difference are dropped."""
    difference = _differences(a, b)
    # dropped here, because SciPy resorts to an approximation when it sees equal pairs, which is
    # poor for the usual small number of splits
    difference = difference[difference != 0]
    if len(difference) == 0:
        return HypothesisTest(0.0, 1.0)
    result = stats.wilcoxon(difference)
    signed_ranks = np.sign(difference) * stats.rankdata(np.abs(difference))
    direction = int(np.sign(signed_ranks.sum()))
    return HypothesisTest(float(result.statistic), float(result.pvalue), direction)


def rank_sum(a: np.ndarray, b: np.ndarray) -> HypothesisTest:
    """Wilcoxon rank-sum test of two unpaired samples."""
    result = stats.ranksums(round_scores(_check_vector(a)), round_scores(_check_vector(b)))
    direction = int(np.sign(result.statistic))
    return HypothesisTest(float(result.statistic), float(result.pvalue), direction)


def paired_t(
    a: np.ndarray, b: np.ndarray, test_share: float | None = None, *, min_error: float = 0.0
) -> HypothesisTest:
    """Paired t-test; with ``test_share``, corrected for training rows that the splits share.

    The correction is that of C. Nadeau and Y. Bengio, "Inference for the generalization error",
    Machine Learning 52, 2003: the variance of the mean is multiplied by 1 + n·test/(1 − test), for
    n random splits with this fraction of test rows (1/folds in cross-validation). The standard
    error of the mean is at least ``min_error``: without it, equal differences have a p-value of 0.
    """
    difference = _differences(a, b)
    n = len(difference)
    if n < 2:
        raise ValueError("a paired t-test needs at least two pairs")
    if test_share is not None and not 0 < test_share < 1:
        raise ValueError(f"test_share must be between 0 and 1, got {test_share}")
    factor = 1 / n + (0.0 if test_share is None else test_share / (1 - test_share))
    error = max(float(np.sqrt(_variance(difference) * factor)), min_error)
    if error == 0:
        if difference[0] == 0:
            return HypothesisTest(0.0, 1.0)
        t = float(np.copysign(np.inf, difference[0]))
        return HypothesisTest(t, 0.0, int(np.sign(t)))
    t = float(difference.mean() / error)
    return HypothesisTest(t, float(2 * stats.t.sf(abs(t), n - 1)), int(np.sign(t)))


def _variance(difference: np.ndarray) -> float:
    """Variance (n − 1), exactly 0 for equal values, whose mean may differ by an ulp."""
    return float(difference.var(ddof=1)) if np.ptp(difference) else 0.0


def variance_factor(n_splits: int, test_share: float, *, is_folds: bool = False) -> float:
    """Variance of the mean score over splits, in units of the variance of the scores.

    For random splits it is 1/n + test/train (Nadeau and Bengio). Repeats of cross-validation test
    the same rows again, and one repeat tests all of them: test/train without 1/n, which is the
    limit of many splits, then covers best (``tests/comparison/test_coverage.py``).
    """
    shared = test_share / (1 - test_share)
    return shared if is_folds else 1 / n_splits + shared


def corrected_interval(
    scores: np.ndarray, test_share: float, *, is_folds: bool = False, level: float = 0.95
) -> tuple[float, float]:
    """Confidence interval of the mean over splits that share training rows; NaN for one split."""
    scores = _check_vector(scores)
    n = len(scores)
    if n < 2:
        return np.nan, np.nan
    factor = variance_factor(n, test_share, is_folds=is_folds)
    half_width = stats.t.ppf((1 + level) / 2, n - 1) * np.sqrt(scores.var(ddof=1) * factor)
    return float(scores.mean() - half_width), float(scores.mean() + half_width)


def wilson_interval(share: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Confidence interval of a probability, from the share of successes in n trials (Wilson)."""
    z2 = stats.norm.ppf((1 + level) / 2) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half_width = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return float(centre - half_width), float(centre + half_width)


def advantage_p_value(
    scores: np.ndarray, reference: np.ndarray, test_share: float, min_error: float = 0.0
) -> float:
    """One-sided p-value of whether scores are larger than those of a reference, on average.

    This is the corrected t-test of ``paired_t``, except that the standard error of the mean is at
    least ``min_error``, since few test rows may give equal scores in all splits by chance.
    """
    difference = _differences(scores, reference)
    n = len(difference)
    variance = _variance(difference) * variance_factor(n, test_share) if n > 1 else 0.0
    error = max(float(np.sqrt(variance)), min_error)
    mean = float(difference.mean())
    if error == 0:
        return 1.0 if mean <= 0 else 0.0
    return float(stats.t.sf(mean / error, n - 1) if n > 1 else stats.norm.sf(mean / error))


# -- many methods ----------------------------------------------------------------------------


def holm(p_values: np.ndarray) -> np.ndarray:
    """Holm's adjusted p-values: the k-th smallest of n times n − k + 1, made monotone."""
    p = _check_vector(p_values)
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1.0)
    out = np.empty_like(adjusted)
    out[order] = adjusted
    return out


def mean_ranks(scores: np.ndarray) -> np.ndarray:
    """Mean rank of each method; 1 is best, and tied methods share their mean rank."""
    return stats.rankdata(-_check_table(scores), axis=1).mean(axis=0)


def friedman(scores: np.ndarray) -> HypothesisTest:
    """Friedman test, corrected for ties, of whether the mean ranks of the methods differ at all."""
    scores = _check_table(scores)
    if (scores == scores[:, :1]).all():
        return HypothesisTest(0.0, 1.0)
    result = stats.friedmanchisquare(*scores.T)
    return HypothesisTest(float(result.statistic), float(result.pvalue))


def nemenyi(scores: np.ndarray) -> np.ndarray:
    """p-values of the Nemenyi test for all pairs of methods (studentised range of mean ranks)."""
    scores = _check_table(scores)
    n, k = scores.shape
    ranks = mean_ranks(scores)
    q = np.abs(ranks[:, None] - ranks) / np.sqrt(k * (k + 1) / (6 * n)) * np.sqrt(2)
    p = stats.studentized_range.sf(q, k, np.inf).clip(max=1.0)
    np.fill_diagonal(p, 1.0)
    return p


def critical_difference(n_methods: int, n_datasets: int, alpha: float = 0.05) -> float:
    """Smallest difference of mean ranks that is significant (Nemenyi)."""
    q = stats.studentized_range.isf(alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def indistinguishable_groups(ranks: np.ndarray, difference: float) -> list[list[int]]:
    """Maximal runs of methods, ordered by rank, that span no more than ``difference``."""
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
    """Friedman and Nemenyi tests of methods (columns) over data sets (rows)."""
    scores = _check_table(scores)
    n, k = scores.shape
    ranks, difference = mean_ranks(scores), critical_difference(k, n, alpha)
    groups = indistinguishable_groups(ranks, difference)
    return Ranking(ranks, friedman(scores), nemenyi(scores), difference, groups)


# -- checks ----------------------------------------------------------------------------------


def _check_vector(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"expected a list of numbers, got an array of shape {values.shape}")
    return values


def _differences(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Differences of paired scores, which are equal where only rounding errors tell them apart."""
    a, b = _check_vector(a), _check_vector(b)
    if len(a) != len(b):
        raise ValueError(f"paired scores must have the same length, got {len(a)} and {len(b)}")
    if np.isnan(a).any() or np.isnan(b).any():
        raise ValueError("paired scores must be complete, but some are NaN")
    return round_scores(a - b)


def _check_table(scores: np.ndarray) -> np.ndarray:
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[0] < 2 or scores.shape[1] < 3:
        raise ValueError(
            "a comparison of many methods needs at least 2 data sets (rows) and 3 methods "
            f"(columns), got an array of shape {scores.shape}"
        )
    if np.isnan(scores).any():
        raise ValueError("the table of scores must be complete, but some are NaN")
    return round_scores(scores)
