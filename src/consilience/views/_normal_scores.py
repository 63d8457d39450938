"""Normal scores of skewed columns.

Distances in a skewed column are dominated by its long tail, where most random thresholds fall, too.
Its normal scores, Φ⁻¹ of the share of rows below a value, also separate the other values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from consilience._model_types import model_type

__all__ = ["NormalScores", "fit_normal_scores", "skewness", "standardise"]

MIN_SKEWNESS = 1.0  # absolute third standardised moment above which a column counts as skewed
MAX_KNOTS = 255  # maximum number of values between which scores are interpolated
CLIP = 3.0
# ranks with finite scores; others arise from values with a share of the weight below rounding
MIN_RANK, MAX_RANK = np.finfo(np.float64).tiny, 1.0 - np.finfo(np.float64).epsneg
CHUNK_COLUMNS = 256  # number of columns processed at a time


@model_type("views.NormalScores")
@dataclass(frozen=True, eq=False)
class NormalScores:
    """Indices of the skewed columns, and the values and scores at the knots of each."""

    columns: np.ndarray
    values: list[np.ndarray]
    scores: list[np.ndarray]

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Interpolate the scores (n x width), constant outside the fitted range; NaN is kept."""
        out = np.empty((len(X), self.width))
        for j, (column, values, scores) in enumerate(
            zip(self.columns, self.values, self.scores, strict=True)
        ):
            # halved, because the difference of two huge numbers may overflow
            out[:, j] = np.interp(np.asarray(X[:, column], np.float64) / 2, values / 2, scores)
        return out


def fit_normal_scores(
    X: np.ndarray, mean: np.ndarray, scale: np.ndarray, weight: np.ndarray
) -> NormalScores:
    """Fit the scores of the skewed columns of X (n x d), given column means and deviations."""
    columns, values, scores = [], [], []
    for column in np.flatnonzero(np.abs(skewness(X, mean, scale, weight)) > MIN_SKEWNESS):
        x = np.asarray(X[:, column], np.float64)
        rows = ~np.isnan(x)
        unique_values, weights = _unique_weights(x[rows], weight[rows])
        if len(unique_values) > 2:  # the scores of two values are a linear map of them
            unique_scores = _standard_scores(weights)
            knots = _knots(unique_scores)
            columns.append(column)
            values.append(unique_values[knots])
            scores.append(unique_scores[knots])
    return NormalScores(np.array(columns, dtype=np.intp), values, scores)


def skewness(X: np.ndarray, mean: np.ndarray, scale: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Third standardised moment of each column, ignoring NaN."""
    out = np.empty(X.shape[1])
    for start in range(0, X.shape[1], CHUNK_COLUMNS):
        block = slice(start, start + CHUNK_COLUMNS)
        Z = standardise(np.asarray(X[:, block], np.float64), mean[block], scale[block])
        is_present = ~np.isnan(Z)
        out[block] = weight @ np.where(is_present, Z, 0.0) ** 3 / (weight @ is_present)
    return out


def standardise(X: np.ndarray, mean: np.ndarray | float, scale: np.ndarray | float) -> np.ndarray:
    """Return X with columns of mean 0 and standard deviation 1."""
    # halved, because the difference of two huge numbers may overflow
    return np.asarray((X / 2 - mean / 2) / (scale / 2))


def _unique_weights(x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted unique values and the summed weight of each."""
    values, inverse = np.unique(x, return_inverse=True)
    return values, np.bincount(inverse, weights=weight)


def _knots(scores: np.ndarray) -> np.ndarray:
    """Indices of at most ``MAX_KNOTS`` evenly spaced values among ascending scores."""
    if len(scores) <= MAX_KNOTS:
        return np.arange(len(scores))
    indices = np.searchsorted(scores, np.linspace(scores[0], scores[-1], MAX_KNOTS))
    return np.unique(np.minimum(indices, len(scores) - 1))


def _standard_scores(weights: np.ndarray) -> np.ndarray:
    """Normal scores of sorted values, standardised over the rows and clipped."""
    share = weights / weights.sum()
    ranks = np.cumsum(share) - share / 2  # mid-ranks: half of the rows at the value itself
    scores = ndtri(np.clip(ranks, MIN_RANK, MAX_RANK))
    scores = scores - share @ scores
    return np.clip(scores / np.sqrt(share @ scores**2), -CLIP, CLIP)
