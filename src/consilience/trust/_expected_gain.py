"""Expected gains, by ridge regression on how sure a prediction is.

The gains of reference rows are regressed on the entropy of their probabilities, the largest of
these and its distance from the second. The penalty is that of least squared error in rows left out
one by one; an infinite one, which leaves the mean gain of all rows, is among them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["GainModel", "fit_gain_model", "sureness"]

PENALTIES = (*10.0 ** np.arange(-2, 4), np.inf)
MIN_ROWS = 3  # with fewer, nothing is known of the error of a mean
TINY = 1e-6


def sureness(p: np.ndarray) -> np.ndarray:
    """Entropy, largest probability, and its distance from the second (n x 3)."""
    entropy = -(p * np.log(np.maximum(p, TINY))).sum(axis=1)
    highest = np.sort(p, axis=1)[:, -2:]
    return np.column_stack([entropy, highest[:, -1], highest[:, -1] - highest[:, 0]])


@dataclass(eq=False)
class GainModel:
    """Coefficients (3 x T) of T targets on scaled features, and what their errors follow from."""

    centre: np.ndarray
    scale: np.ndarray
    mean: np.ndarray
    coef: np.ndarray
    axes: np.ndarray
    spread: np.ndarray
    variance: np.ndarray

    def predict(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Expected gains (n x T) of rows with probabilities p, and their standard errors."""
        Z = (sureness(p) - self.centre) / self.scale
        errors = np.sqrt(self.variance + (Z @ self.axes.T) ** 2 @ self.spread)
        return self.mean + Z @ self.coef, errors


def fit_gain_model(p: np.ndarray, gains: np.ndarray) -> GainModel:
    """Regress gains (m x T) of reference rows on their probabilities p (m x K)."""
    features, n, mean = sureness(p), len(gains), gains.mean(axis=0)
    centre, scale = features.mean(axis=0), features.std(axis=0)
    scale = np.where(scale > TINY, scale, np.inf)  # a constant feature says nothing
    U, s, axes = np.linalg.svd((features - centre) / scale, full_matrices=False)
    n_targets = len(mean)
    coef, spread = np.zeros((len(scale), n_targets)), np.zeros((len(s), n_targets))
    if n < MIN_ROWS:
        unknown = np.full(n_targets, np.inf)
        return GainModel(centre, scale, mean, coef, axes, spread, unknown)
    products, least = U.T @ (gains - mean), np.full(n_targets, np.inf)
    for penalty in PENALTIES:
        inverse = s / (s**2 + penalty)
        fitted, leverage = U @ ((s * inverse)[:, None] * products), U**2 @ (s * inverse) + 1.0 / n
        errors = (gains - mean - fitted) / (1.0 - leverage)[:, None]
        loss = (errors**2).mean(axis=0)
        is_less = loss < least
        least[is_less] = loss[is_less]
        coef[:, is_less] = (axes.T @ (inverse[:, None] * products))[:, is_less]
        spread[:, is_less] = inverse[:, None] ** 2 * loss[is_less]
    return GainModel(centre, scale, mean, coef, axes, spread, least / n)
