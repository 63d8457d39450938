"""Quantiles of the values in a row, for views whose columns measure the same thing.

The points of a signal, the bins of a descriptor or the genes of a sample say little one by one if
what matters is how their values are spread: how strongly a sensor shakes, not when. Quantiles of
the standardised values of a row do not depend on the order of the columns, nor on their units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from consilience._model_types import model_type

__all__ = ["RowQuantiles", "fit_row_quantiles", "row_quantiles"]

LEVELS = (0.0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 1.0)
CLIP = 3.0
MIN_STD = 1e-9  # quantiles that vary less, in units of the columns' deviations, count as constant


@model_type("views.RowQuantiles")
@dataclass(frozen=True, eq=False)
class RowQuantiles:
    """Mean and standard deviation of each quantile over the fitted rows."""

    mean: np.ndarray
    scale: np.ndarray

    @property
    def width(self) -> int:
        """Number of quantiles."""
        return len(self.mean)

    def apply(self, Z: np.ndarray) -> np.ndarray:
        """Standardised quantiles (n x width) of rows of standardised values."""
        Q = (row_quantiles(Z) - self.mean) / self.scale
        return np.clip(Q, -CLIP, CLIP, out=Q)


def row_quantiles(Z: np.ndarray) -> np.ndarray:
    """Quantiles (n x width) of each row, ignoring NaN; NaN for rows of nothing else."""
    out = np.full((len(Z), len(LEVELS)), np.nan)
    is_missing = np.isnan(Z)
    partial = is_missing.any(axis=1)
    out[~partial] = np.quantile(Z[~partial], LEVELS, axis=1).T
    partial &= ~is_missing.all(axis=1)
    if partial.any():
        out[partial] = np.nanquantile(Z[partial], LEVELS, axis=1).T
    return out


def fit_row_quantiles(Z: np.ndarray, weight: np.ndarray) -> RowQuantiles:
    """Fit to rows of standardised values (n x d) with sample weights."""
    Q = row_quantiles(Z)
    is_known = ~np.isnan(Q[:, 0])
    Q, share = Q[is_known], weight[is_known] / max(weight[is_known].sum(), 1e-300)
    mean = share @ Q
    std = np.sqrt(share @ (Q - mean) ** 2)
    return RowQuantiles(mean, np.where(std > MIN_STD, std, 1.0))
