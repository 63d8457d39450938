"""What the model and tests of the features say together: z, p-values, and the kind of evidence.

The agreement of a feature in the model and its association with the class by itself are averaged:

    z = ½ (z in the model + |z| by itself).

Either has at most the tail of the length of a normal vector with K − 1 coordinates if the feature
is independent of the class, and so has their mean, up to a factor that ``SINGLE_SHARE`` allows for.
The association of a pair is other evidence, with a p-value of its own. The two are combined by the
weighted rule of Bonferroni, p = min_s p_s / w_s; pairs have a small share w, so that looking for
them costs next to nothing where there are none.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, log_ndtr, ndtri_exp
from scipy.stats import chi2

__all__ = ["combine_evidence", "direction_log_p", "largest_log_p", "mean_z"]

# Shares of a significance level. They add up to less than 1: normal tails of sums over few, skewed
# rows are right up to a factor, and selection from labels that say nothing should be empty more
# often than promised.
SINGLE_SHARE = 0.6
PAIR_SHARE = 0.05
FAR_LOG_P = -25.0  # below it, 1 − (1 − p)^m is m p


def mean_z(model: np.ndarray, alone: np.ndarray) -> np.ndarray:
    """½ (z in the model + z by itself)."""
    return (model + alone) / 2


def direction_log_p(z: np.ndarray, n_classes: int) -> np.ndarray:
    """Log p-values of agreement with a direction in K − 1 dimensions; 0 where there is none."""
    half, k = np.maximum(z, 0.0) ** 2 / 2, n_classes - 1
    tail = chi2.sf(2 * half, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = (k / 2 - 1) * np.log(half) - half - gammaln(k / 2)
        log_p = np.where(tail > 0, np.log(tail), far)
    return np.where(z > 0, log_p, 0.0)


def largest_log_p(z: np.ndarray, n_choices: int) -> np.ndarray:
    """Log p-values of the largest of m values |z|, log(1 − (1 − p)^m) by Šidák's inequality."""
    log_p = np.minimum(np.log(2) + log_ndtr(-z), 0.0)
    with np.errstate(divide="ignore"):
        exact = np.log(-np.expm1(n_choices * np.log1p(-np.exp(log_p))))
    return np.where(log_p < FAR_LOG_P, log_p + np.log(n_choices), exact)


def combine_evidence(
    z: np.ndarray, pair_log_p: np.ndarray | None, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """p-values, z that ranks the features, and whether it is that of a pair.

    A pair counts as the z of two classes whose p-value, with the share of single features, is the
    same.
    """
    log_p = direction_log_p(z, n_classes) - np.log(SINGLE_SHARE)
    if pair_log_p is None:
        return np.exp(np.minimum(log_p, 0.0)), z, np.zeros(len(z), dtype=bool)
    own = pair_log_p + np.log(SINGLE_SHARE / PAIR_SHARE)
    pair_z = np.where(own < 0, -ndtri_exp(np.minimum(own, 0.0) - np.log(2)), -np.inf)
    log_p = np.minimum(log_p, pair_log_p - np.log(PAIR_SHARE))
    return np.exp(np.minimum(log_p, 0.0)), np.maximum(z, pair_z), pair_z > z
