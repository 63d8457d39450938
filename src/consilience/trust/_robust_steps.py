"""Steps of robust pooling: how likely is each view of a sample to be off?

With prior odds ρ / V that view v is off, the odds after looking at the sample are

    odds_v = ρ / V · b(p_v) · exp(w_v · z_v + a_v).

z_v are the conflict of the view with the others in classes and its disagreement with them in
components; w_v and a_v come from a logistic regression that tells calibration rows from those with
view v of a row of another class. p_v is the share of training rows whose distance to their nearest
neighbours is as large, and b(p) = −1 / (e p log p) for p < 1 / e, otherwise 1, bounds the evidence
in a p-value (T. Sellke, M. J. Bayarri and J. O. Berger, "Calibration of p values for testing
precise null hypotheses", The American Statistician 55, 2001).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from consilience._model_types import model_type
from consilience.trust._cross_view import squared_distances

__all__ = [
    "NeighbourDistances",
    "draw_donors",
    "evidence_of_p_value",
    "fit_log_odds",
    "fit_neighbour_distances",
    "pool",
]

N_NEIGHBOURS = 5
MAX_NEIGHBOUR_ROWS = 2000  # rows that distances are computed to
TINY = 1e-12


def evidence_of_p_value(p: np.ndarray) -> np.ndarray:
    """Upper bound of the Bayes factor against the hypothesis that a p-value belongs to."""
    small = np.minimum(p, 1 / math.e)
    return -1.0 / (math.e * small * np.log(small))


def pool(full: np.ndarray, without: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """Mean of the probabilities (n x K) and those without each view (n x V x K), by the odds.

    Views of odds 0 are ignored, so that ``without`` may be NaN for them.
    """
    total = 1.0 + odds.sum(axis=1)
    parts = np.where(odds[:, :, None] > 0, without, 0.0)
    return (full + np.einsum("nv,nvk->nk", odds, parts)) / total[:, None]


def draw_donors(codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """For each row a random row of another class."""
    return np.array([rng.choice(np.flatnonzero(codes != code)) for code in codes])


def fit_log_odds(matched: np.ndarray, swapped: np.ndarray) -> np.ndarray:
    """Intercept and weights of the log-odds that a row of features is a swapped one."""
    X = np.vstack([matched, swapped])
    is_swapped = np.repeat([0, 1], [len(matched), len(swapped)])
    scale = np.maximum(X.std(axis=0), TINY)
    model = LogisticRegression().fit(X / scale, is_swapped)
    return np.append(model.intercept_, model.coef_[0] / scale)


@model_type("trust.NeighbourDistances")
@dataclass(eq=False)
class NeighbourDistances:
    """Components of training rows, and their sorted distances to their own neighbours."""

    rows: np.ndarray
    distances: np.ndarray

    def p_values(self, C: np.ndarray) -> np.ndarray:
        """Share of training rows that are at least as far from their neighbours."""
        own = _mean_of_nearest(squared_distances(C, self.rows))
        above = len(self.distances) - np.searchsorted(self.distances, own, side="left")
        return (1 + above) / (1 + len(self.distances))


def fit_neighbour_distances(C: np.ndarray) -> NeighbourDistances:
    """Distances of at most ``MAX_NEIGHBOUR_ROWS`` rows to the nearest among them."""
    rng = np.random.RandomState(0)
    rows = C[np.sort(rng.permutation(len(C))[:MAX_NEIGHBOUR_ROWS])]
    squares = squared_distances(rows, rows)
    np.fill_diagonal(squares, np.inf)
    return NeighbourDistances(rows, np.sort(_mean_of_nearest(squares)))


def _mean_of_nearest(squares: np.ndarray) -> np.ndarray:
    k = min(N_NEIGHBOURS, squares.shape[1] - 1)
    if k < 1:
        return np.zeros(len(squares))
    return np.sqrt(np.partition(squares, k - 1, axis=1)[:, :k]).mean(axis=1)
