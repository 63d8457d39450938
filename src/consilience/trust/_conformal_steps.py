"""Conformal p-values: how strange would a class be, compared with rows that were left out?

The score s(x, k) of a class is large if the classifier does not expect it. With scores s_i of
calibration rows and their own classes, the p-value of class k for a new row is

    p(x, k) = (w + Σ_i w_i 1[s_i >= s(x, k)]) / (w + Σ_i w_i),    w = Σ_i w_i² / Σ_i w_i,

where w is the expected weight of a row that is drawn like the weighted ones (1 without weights),
and the set of all classes with p > α contains the right one with probability 1 − α or more if the
rows are exchangeable (V. Vovk, A. Gammerman and G. Shafer, "Algorithmic learning in a random
world", 2005). If calibration row i was predicted without fold f(i), s(x, k) is that of the
classifier without fold f(i) as well (CV+: Y. Romano, M. Sesia and E. Candès, "Classification with
valid and adaptive coverage", NeurIPS 2020); the probability is then at least 1 − 2α, less a term
that vanishes as rows are added.
"""

from __future__ import annotations

import numpy as np

__all__ = [
    "aps_scores",
    "effective_size",
    "lac_scores",
    "least_rows",
    "p_values",
    "weight_at_least",
]

APS_DECIMALS = 12
ROUNDING = 1e-9  # of numbers of rows


def lac_scores(probabilities: np.ndarray) -> np.ndarray:
    """1 − p_k, which gives the smallest sets on average.

    M. Sadinle, J. Lei and L. Wasserman, "Least ambiguous set-valued classifiers with bounded error
    levels", Journal of the American Statistical Association 114, 2019.
    """
    return 1.0 - probabilities


def aps_scores(probabilities: np.ndarray) -> np.ndarray:
    """Total probability of the classes that are at least as likely as k (Romano et al. 2020).

    It is rounded: the total of all classes is 1 for every row, whatever the order of the sum.
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ranked = np.take_along_axis(probabilities, order, axis=1)
    totals = np.cumsum(ranked, axis=1)
    totals[:, :-1][ranked[:, :-1] == ranked[:, 1:]] = np.inf  # more classes are as likely
    totals = np.minimum.accumulate(totals[:, ::-1], axis=1)[:, ::-1]
    out = np.empty_like(totals)
    np.put_along_axis(out, order, totals.round(APS_DECIMALS), axis=1)
    return out


def effective_size(weight: np.ndarray) -> float:
    """Number of rows of equal weight that count as much: (Σ w)² / Σ w²."""
    return float(weight.sum() ** 2 / (weight @ weight)) if len(weight) else 0.0


def least_rows(alpha: float) -> float:
    """Number of rows from which the least p-value, 1 / (1 + rows), is alpha or less."""
    return 1.0 / alpha - 1.0 - ROUNDING


def weight_at_least(scores: np.ndarray, own: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Σ_i w_i 1[own_i >= score] for each score, whatever the shape of ``scores``."""
    order = np.argsort(own, kind="stable")
    below = np.append(0.0, np.cumsum(weight[order]))
    return below[-1] - below[np.searchsorted(own[order], scores, side="left")]


def p_values(
    scores: np.ndarray, own: np.ndarray, weight: np.ndarray, fold: np.ndarray
) -> np.ndarray:
    """P-values (n x K) of new rows.

    Parameters
    ----------
    scores : array of shape (F, n, K)
        Scores of the new rows by the classifier without each fold.
    own, weight : arrays of shape (m,)
        Scores of the calibration rows for their own classes, and their weights.
    fold : array of shape (m,)
        Fold in which each calibration row was left out.
    """
    if len(own) == 0:
        return np.ones(scores.shape[1:])
    weight = weight / (weight @ weight / weight.sum())
    total = np.ones(scores.shape[1:])
    for f, part in enumerate(scores):
        rows = fold == f
        if rows.any():
            total += weight_at_least(part, own[rows], weight[rows])
    return total / (1.0 + weight.sum())
