"""Calibration rows with one view altered on purpose: that of another row, or with noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience.trust._left_out import class_probabilities
from consilience.trust._opinions import opinions_of, without_each_view
from consilience.trust._robust_steps import EXCHANGED, NOISY, draw_donors
from consilience.views import MultiViewData

__all__ = ["MIN_ROWS", "AlteredRows", "alter_rows"]

MIN_ROWS = 10
N_EXCHANGES = 6  # copies of the rows with one view exchanged, at least one per view
MAX_ROWS = 150  # rows that are altered
MAX_ALTERED_ROWS = 900
NOISE_DECADES = (-0.25, 1.5)  # of its standard deviation, in units of that of each column


class AlteredRows:
    """Rows of ``data`` and copies with one view altered, and what a classifier says of them.

    ``rows`` are the numbers of the rows in ``data`` and ``codes`` their classes, ``fault`` and
    ``view`` what was altered. All rows of ``data`` as they are come first.
    """

    def __init__(
        self,
        data: MultiViewData,
        codes: np.ndarray,
        rows: np.ndarray,
        donors: np.ndarray,
        fault: np.ndarray,
        view: np.ndarray,
        rng: np.random.RandomState,
    ) -> None:
        self.codes, self.rows, self.donors = codes, rows, donors
        self.fault, self.view = fault, view
        views = {}
        for v, name in enumerate(data.view_names):
            is_own = view == v
            X = data[np.where(is_own & (fault == EXCHANGED), donors, rows)][name]
            noisy = np.flatnonzero(is_own & (fault == NOISY))
            spread = _column_spread(data[data.present[:, v]][name])
            views[name] = _add_noise(X, noisy, spread, rng)
        self.data = MultiViewData(views, present=np.array(data.present[rows]))

    def predict(
        self, estimator: Any, classes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Probabilities from all views, from each view alone, and without each view.

        Those from all views are computed for noisy rows only; others are NaN. What is the same as
        for the row itself is not computed again.
        """
        n_views, shape = self.data.n_views, (len(self.rows), self.data.n_views, len(classes))
        opinions, without = np.full(shape, np.nan), np.full(shape, np.nan)
        is_whole, is_noisy = self.fault == 0, self.fault == NOISY
        full = np.full((len(self.rows), len(classes)), np.nan)
        if is_noisy.any():
            full[is_noisy] = class_probabilities(estimator, self.data[is_noisy], classes)
        # one call for all rows with the same views: a classifier may prepare itself for these
        for v in range(n_views):
            is_own = ~is_whole & (self.view == v)
            alone = is_whole | (is_own & is_noisy)
            opinions[alone, v] = opinions_of(estimator, self.data[alone], classes, [v])[:, v]
            source = np.where(is_own & (self.fault == EXCHANGED), self.donors, self.rows)
            opinions[~alone, v] = opinions[source[~alone], v]
            part = self.data[~is_own]
            without[~is_own, v] = without_each_view(estimator, part, classes, [v])[:, v]
            without[is_own, v] = without[self.rows[is_own], v]
        return full, opinions, without


def alter_rows(data: MultiViewData, codes: np.ndarray, rng: np.random.RandomState) -> AlteredRows:
    """At most ``MAX_ROWS`` of the rows as they are, and copies of those with two views or more."""
    kept = np.sort(rng.permutation(len(data))[:MAX_ROWS])
    data, codes, everyone = data[kept], codes[kept], np.arange(len(kept))
    n_views, n_present = data.n_views, data.present.sum(axis=1)
    n_draws = max(1, N_EXCHANGES // n_views)
    n_rows = max(MIN_ROWS, MAX_ALTERED_ROWS // (n_views * (n_draws + 1)))
    parts = [(everyone, everyone, np.zeros((2, len(kept)), dtype=np.intp))]
    for v in range(n_views):
        able = np.flatnonzero(data.present[:, v] & (n_present > 1))
        if len(able) < MIN_ROWS:
            continue
        for fault in [EXCHANGED] * n_draws + [NOISY]:
            rows = np.sort(rng.permutation(able)[:n_rows])
            donors = rows
            if fault == EXCHANGED:
                if len(np.unique(codes[rows])) < 2:
                    continue
                donors = rows[draw_donors(codes[rows], rng)]
            parts.append((rows, donors, np.tile([[fault], [v]], len(rows))))
    rows, donors = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    fault, view = np.hstack([part[2] for part in parts])
    return AlteredRows(data, codes[rows], rows, donors, fault, view, rng)


@np.errstate(over="ignore")  # of values that the classifier will find too large
def _column_spread(X: Any) -> np.ndarray:
    """Standard deviation of each column, of the stored cells of a sparse view; 0 if constant."""
    if not sp.issparse(X):
        X = np.asarray(X, dtype=np.float64)
        is_known = ~np.isnan(X)
        count = np.maximum(is_known.sum(axis=0), 1)
        mean = np.where(is_known, X, 0.0).sum(axis=0) / count
        return np.sqrt(np.where(is_known, (X - mean) ** 2, 0.0).sum(axis=0) / count)
    X = sp.csc_array(X)
    columns = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    values = np.where(np.isnan(X.data), 0.0, X.data)
    mean = np.bincount(columns, weights=values, minlength=X.shape[1]) / max(X.shape[0], 1)
    square = np.bincount(columns, weights=values**2, minlength=X.shape[1]) / max(X.shape[0], 1)
    return np.sqrt(np.maximum(square - mean**2, 0.0))


def _add_noise(X: Any, rows: np.ndarray, spread: np.ndarray, rng: np.random.RandomState) -> Any:
    """Gaussian noise in some rows, of the stored cells in a sparse view."""
    if len(rows) == 0:
        return X
    scale = np.zeros(X.shape[0])
    scale[rows] = 10.0 ** rng.uniform(*NOISE_DECADES, size=len(rows))
    if not sp.issparse(X):
        X = np.array(X, dtype=np.float64)
        X[rows] += scale[rows, None] * spread * rng.randn(len(rows), X.shape[1])
        return X
    X = sp.csr_array(X, dtype=np.float64, copy=True)
    cells = np.repeat(scale, np.diff(X.indptr)) * spread[X.indices]
    X.data += cells * rng.randn(len(X.data))
    return X
