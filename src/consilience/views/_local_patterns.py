"""How strongly short patterns occur in a row, for views whose columns are the points of a signal.

A rise, a peak or an oscillation says the same wherever in the signal it is, which single columns
cannot tell. Following MiniRocket (Dempster, Schmidt and Webb, 2021), a pattern has nine points at a
common distance, three of which count twice and six count negatively, so that it answers to shapes
and not to the level. There are 84 of them at each of the distances 1, 2, 4, ... that fit into the
row. A feature is the mean, over all places of the row, of what a pattern's answer exceeds a bias
by; biases are upper quantiles of the answers in fitted rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from consilience._core import local_patterns
from consilience._model_types import model_type
from consilience.views._normal_scores import standardise

__all__ = ["LocalPatterns", "fit_local_patterns", "is_signal", "scale_signal", "signal_unit"]

N_POINTS = 9
PATTERNS = np.array(list(combinations(range(N_POINTS), 3)))
MIN_AUTOCORRELATION = 0.25  # of neighbouring columns of a signal; see docs/results/default-log.md
GOLDEN_RATIO, ROOT_2 = (1 + 5**0.5) / 2, 2**0.5
CLIP = 3.0
CLIP_POINTS = 10.0  # in units of a typical column's standard deviation
MIN_STD = 1e-6  # features that vary less, in the same units, count as constant


@model_type("views.LocalPatterns")
@dataclass(frozen=True, eq=False)
class LocalPatterns:
    """Level and unit of the signals, distances and biases of the patterns, moments of features."""

    points: np.ndarray  # for empty cells: the mean of each column
    level: float
    unit: float
    distances: np.ndarray
    biases: np.ndarray
    mean: np.ndarray
    scale: np.ndarray

    @property
    def width(self) -> int:
        """Number of features."""
        return self.biases.size

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Standardised features (n x width) of rows; NaN for rows of nothing else."""
        S = scale_signal(X, self.points, self.level, self.unit)
        F = _features(S, self.distances, self.biases)
        F = np.clip((F - self.mean) / self.scale, -CLIP, CLIP)
        F[np.isnan(X).all(axis=1)] = np.nan
        return F


def is_signal(Z: np.ndarray) -> bool:
    """Whether standardised values of neighbouring columns are alike, beyond the mean of a row."""
    Z = np.where(np.isnan(Z), 0.0, Z)
    Z -= Z.mean(axis=1, keepdims=True)
    squares = np.square(Z).sum()
    return bool((Z[:, 1:] * Z[:, :-1]).sum() > MIN_AUTOCORRELATION * squares)


def fit_local_patterns(
    X: np.ndarray, mean: np.ndarray, scale: np.ndarray, weight: np.ndarray
) -> LocalPatterns:
    """Fit to rows of a view (n x d, d >= 9), given means and deviations of its columns."""
    level, unit = signal_unit(mean, scale)
    is_known = ~np.isnan(X).all(axis=1)
    S = scale_signal(X[is_known], mean, level, unit)
    distances = _distances(S.shape[1])
    biases = _biases(S, distances)
    F = _features(S, distances, biases)
    share = weight[is_known] / max(weight[is_known].sum(), 1e-300)
    moments = share @ F
    std = np.sqrt(share @ (F - moments) ** 2)
    std = np.where(std > MIN_STD, std, 1.0)
    return LocalPatterns(mean, level, unit, distances, biases, moments, std)


def signal_unit(mean: np.ndarray, scale: np.ndarray) -> tuple[float, float]:
    """Level and unit of signals, from the means and deviations of their points."""
    return float((mean / len(mean)).sum()), float(np.median(scale))


def scale_signal(X: np.ndarray, points: np.ndarray, level: float, unit: float) -> np.ndarray:
    """Signals relative to level and unit, clipped, in float32; NaN is imputed with ``points``."""
    X = np.where(np.isnan(X), points, X)
    with np.errstate(over="ignore"):  # infinite values are clipped
        S = standardise(X, level, unit)
    return np.clip(S, -CLIP_POINTS, CLIP_POINTS).astype(np.float32)


def _features(S: np.ndarray, distances: np.ndarray, biases: np.ndarray) -> np.ndarray:
    out = np.empty((len(S), biases.size), dtype=np.float32)
    local_patterns(np.ascontiguousarray(S), distances, biases, out)
    return out.astype(np.float64)


def _distances(width: int) -> np.ndarray:
    """1, 2, 4, ... as far as a pattern fits into a row."""
    longest = max(1, (width - 1) // (N_POINTS - 1))
    return 2 ** np.arange(longest.bit_length(), dtype=np.int64)


def _biases(S: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """A quantile, above the median, of the answers to each pattern in one row (D x 84)."""
    n, d = S.shape
    # evenly spread over the rows and over the quantiles
    numbers = np.arange(1, len(distances) * len(PATTERNS) + 1)
    rows = (n * (numbers * GOLDEN_RATIO % 1)).astype(int)
    places = (d * (0.5 + 0.5 * (numbers * ROOT_2 % 1))).astype(int)
    biases = np.empty(len(numbers), dtype=np.float32)
    for i, (row, place) in enumerate(zip(rows, places, strict=True)):
        k, p = divmod(i, len(PATTERNS))
        padded = np.pad(S[row], N_POINTS // 2 * distances[k])
        starts = distances[k] * np.arange(N_POINTS)
        points = np.stack([padded[start : start + d] for start in starts])
        answers = points[PATTERNS[p]].sum(axis=0) - points.sum(axis=0) / 3
        biases[i] = np.partition(answers, place)[place]
    return biases.reshape(len(distances), len(PATTERNS))
