"""Steps of robust pooling: how likely is each view of a sample to be off?

With the prior probability ρ that some view is off, the odds of "view v is off" against "no view
is" are

    odds_v = ρ / (1 − ρ) · b(p_v) · exp(w_v · z_v + a_v).

z_v are the conflict of the view with the others in classes and its disagreement with them in
components. w_v and a_v are those of a conditional logistic regression that tells which view, if
any, was exchanged with that of a row of another class, in calibration rows half of which were
altered so. p_v is the share of training rows whose distance to their nearest neighbours is as
large, and b(p) = −1 / (e p log p) for p < 1 / e, otherwise 1, bounds the evidence in a p-value
(T. Sellke, M. J. Bayarri and J. O. Berger, "Calibration of p values for testing precise null
hypotheses", The American Statistician 55, 2001).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from consilience._model_types import model_type
from consilience.trust._cross_view import squared_distances

__all__ = [
    "Detector",
    "NeighbourDistances",
    "detector_loss",
    "draw_donors",
    "even_detector",
    "evidence_of_p_value",
    "fit_detector",
    "fit_neighbour_distances",
    "pool",
]

N_NEIGHBOURS = 5
MAX_NEIGHBOUR_ROWS = 2000  # rows that distances are computed to
SHARED_PENALTY, OWN_PENALTY = 0.1, 1.0  # of the mean weights of all views, of each view's own part
MAX_ITERATIONS = 300
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


@model_type("trust.Detector")
@dataclass(eq=False)
class Detector:
    """Weights w_v (V x F) and intercepts a_v (V) of the log-odds that view v is off."""

    mean: np.ndarray
    scale: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray

    def log_odds(self, features: np.ndarray) -> np.ndarray:
        """Log-odds (n x V) of features (n x V x F), at even prior odds that some view is off."""
        Z = (features - self.mean) / self.scale
        return np.einsum("nvf,vf->nv", Z, self.coef) + self.intercept


def even_detector(n_views: int, n_features: int) -> Detector:
    """A detector without evidence: each view is as likely to be off as each other one."""
    nothing = np.zeros((n_views, n_features))
    intercept = np.full(n_views, -math.log(n_views))
    return Detector(np.zeros(n_features), np.ones(n_features), nothing, intercept)


def detector_loss(
    parameters: np.ndarray, Z: np.ndarray, which: np.ndarray, weight: np.ndarray
) -> tuple[float, np.ndarray]:
    """Penalised loss of the conditional logistic regression, and its gradient.

    −Σ_i w_i log softmax(0, s_i1, …, s_iV)[h_i] + ½ (0.1 |w|² + Σ_v |d_v|²),
    s_iv = (w + d_v) · z_iv + a_v, without the views whose z_iv are NaN; h_i is 0 if no view is off.
    """
    n, n_views, n_features = Z.shape
    shared = parameters[:n_features]
    own = parameters[n_features : n_features * (n_views + 1)].reshape(n_views, n_features)
    intercept = parameters[n_features * (n_views + 1) :]
    is_known = ~np.isnan(Z).any(axis=2)
    Z = np.where(is_known[:, :, None], Z, 0.0)
    scores = np.einsum("nvf,vf->nv", Z, shared + own) + intercept
    scores = np.column_stack([np.zeros(n), np.where(is_known, scores, -np.inf)])
    log_p = scores - logsumexp(scores, axis=1, keepdims=True)
    loss = -float(weight @ log_p[np.arange(n), which])
    loss += 0.5 * (SHARED_PENALTY * shared @ shared + OWN_PENALTY * (own**2).sum())
    residuals = np.exp(log_p)
    residuals[np.arange(n), which] -= 1.0
    residuals = (weight[:, None] * residuals)[:, 1:]
    slopes = np.einsum("nv,nvf->vf", residuals, Z)
    gradient = [
        slopes.sum(axis=0) + SHARED_PENALTY * shared,
        (slopes + OWN_PENALTY * own).ravel(),
        residuals.sum(axis=0),
    ]
    return loss, np.concatenate(gradient)


def fit_detector(features: np.ndarray, which: np.ndarray, weight: np.ndarray) -> Detector:
    """Fit the conditional logistic regression to features (n x V x F), NaN where unknown.

    ``which`` is 0 for rows as they were, and v + 1 for those with view v of another one.
    """
    n_views, n_features = features.shape[1:]
    mean = np.nanmean(features, axis=(0, 1))
    scale = np.maximum(np.nanstd(features, axis=(0, 1)), TINY)
    Z = (features - mean) / scale
    start = np.zeros(n_features * (n_views + 1) + n_views)
    solution = minimize(
        detector_loss,
        start,
        (Z, which, weight),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_ITERATIONS},
    ).x
    own = solution[n_features : n_features * (n_views + 1)].reshape(n_views, n_features)
    coef = solution[:n_features] + own
    return Detector(mean, scale, coef, solution[n_features * (n_views + 1) :])


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
