"""Skewed columns by rank: the normal scores of their values.

Distances between values of a skewed column are those of its long tail, and random thresholds fall
there, too. Its normal scores, Φ⁻¹ of the share of rows below, tell apart the others as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

__all__ = ["NormalScores", "fit_normal_scores", "skewness", "standardise"]

MIN_SKEWNESS = 1.0  # third standardised moment from which a column counts as skewed
MAX_KNOTS = 255  # values between which scores are interpolated
CLIP = 3.0
CHUNK_COLUMNS = 256  # columns looked at together


@dataclass(frozen=True, eq=False)
class NormalScores:
    """The skewed ``columns`` (places), and for each the values and scores of its knots."""

    columns: np.ndarray
    values: list
    scores: list

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Scores (n x width); beyond the values seen they stay as they are, NaN are NaN."""
        out = np.empty((len(X), self.width))
        for j, (column, values, scores) in enumerate(
            zip(self.columns, self.values, self.scores, strict=True)
        ):
            # halves, as the difference of two huge numbers may be infinite
            out[:, j] = np.interp(np.asarray(X[:, column], np.float64) / 2, values / 2, scores)
        return out


def fit_normal_scores(
    X: np.ndarray, mean: np.ndarray, scale: np.ndarray, weight: np.ndarray
) -> NormalScores:
    """Scores of the skewed columns of X (n x d), which have these means and deviations."""
    columns, values, scores = [], [], []
    for column in np.flatnonzero(np.abs(skewness(X, mean, scale, weight)) > MIN_SKEWNESS):
        x = np.asarray(X[:, column], np.float64)
        rows = ~np.isnan(x)
        held, counts = _counts(x[rows], weight[rows])
        if len(held) > 2:  # the scores of two values are those values
            result = _standard_scores(counts)
            knots = _knots(result)
            columns.append(column)
            values.append(held[knots])
            scores.append(result[knots])
    return NormalScores(np.array(columns, dtype=np.intp), values, scores)


def skewness(X: np.ndarray, mean: np.ndarray, scale: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Third standardised moment of each column, without NaN."""
    out = np.empty(X.shape[1])
    for start in range(0, X.shape[1], CHUNK_COLUMNS):
        block = slice(start, start + CHUNK_COLUMNS)
        Z = standardise(np.asarray(X[:, block], np.float64), mean[block], scale[block])
        is_present = ~np.isnan(Z)
        out[block] = weight @ np.where(is_present, Z, 0.0) ** 3 / (weight @ is_present)
    return out


def standardise(X: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Columns of X with mean 0 and deviation 1."""
    # halves, as the difference of two huge numbers may be infinite
    return np.asarray((X / 2 - mean / 2) / (scale / 2))


def _counts(x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values in order, and the weight of each."""
    values, which = np.unique(x, return_inverse=True)
    return values, np.bincount(which, weights=weight)


def _knots(scores: np.ndarray) -> np.ndarray:
    """Positions of at most ``MAX_KNOTS`` ascending scores, evenly spread from first to last."""
    if len(scores) <= MAX_KNOTS:
        return np.arange(len(scores))
    places = np.searchsorted(scores, np.linspace(scores[0], scores[-1], MAX_KNOTS))
    return np.unique(np.minimum(places, len(scores) - 1))


def _standard_scores(counts: np.ndarray) -> np.ndarray:
    """Normal scores of the values with mean 0 and deviation 1 over the rows."""
    share = counts / counts.sum()
    scores = ndtri(np.cumsum(share) - share / 2)  # of the rows below and half of those at the value
    scores = scores - share @ scores
    return np.clip(scores / np.sqrt(share @ scores**2), -CLIP, CLIP)
