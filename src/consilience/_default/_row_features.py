"""Which views get features of whole rows: those they help.

These are quantiles of the row's values (``views._row_quantiles``) and, if the columns are the
points of a signal, how strongly short patterns occur in it (``views._local_patterns``). They are
added to a dense view of many numeric columns if kernel ridge regression on the view alone then has
a clearly smaller error in rows left out; see docs/results/default-log.md.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._default._columns import Columns, Mapped
from consilience._default._kernel import fit_on_tuning_rows
from consilience._default._reference_set import distance_scale, square_distances
from consilience.views import MultiViewData
from consilience.views._maps import ViewMap

__all__ = ["choose_row_features"]

MIN_COLUMNS = 16  # of a view; features of shorter rows say little beyond the columns
MIN_ROWS = 10  # that have the view
MAX_ROWS = 500  # on which the errors are compared
MIN_GAIN = 0.01  # least fall of the error, as a share of the labels' variance
MIN_STANDARD_ERRORS = 3.0  # that the fall must be above 0


def choose_row_features(
    columns: Columns,
    mapped: Mapped,
    data: MultiViewData,
    codes: np.ndarray,
    weight: np.ndarray,
    prior: np.ndarray,
    folds: np.ndarray | None,
    mixed: Collection[str] = (),
) -> tuple[Columns, Mapped]:
    """Maps with the features that help, and the training rows mapped by them.

    ``mixed`` are views of categories and numbers, whose columns are of different kinds.
    """
    Y = np.eye(len(prior))[codes] - prior
    chosen, raw, filled = dict(columns.maps), list(mapped.raw), dict(mapped.filled)
    for v, name in enumerate(columns.names):
        if name not in chosen or name in mixed or not _is_eligible(chosen[name], data[name]):
            continue
        rows = np.flatnonzero(data.present[:, v])[:MAX_ROWS]
        if len(rows) < MIN_ROWS:
            continue
        own_folds = None if folds is None else folds[rows]
        target = Y[rows], weight[rows], own_folds
        variance = float(weight[rows] @ (Y[rows] ** 2).sum(axis=1))
        errors = _left_out_errors(filled[name][rows], *target)
        for extend in (ViewMap.with_row_quantiles, ViewMap.with_local_patterns):
            extended = extend(chosen[name], data[name][rows], weight[rows])
            if extended is None:
                continue
            X = replace(columns, maps={name: extended}).map_view(data[rows], name)[1]
            new_errors = _left_out_errors(X, *target)
            gains = errors - new_errors
            if gains.sum() > MIN_GAIN * variance and _is_clear(gains, own_folds):
                chosen[name], errors = extended, new_errors
        if chosen[name] is not columns.maps[name]:
            raw[v], filled[name] = replace(columns, maps=chosen).map_view(data, name)
    return replace(columns, maps=chosen), Mapped(raw, filled)


def _is_eligible(view_map: ViewMap, view: Any) -> bool:
    is_dense = not sp.issparse(view)
    return is_dense and view_map.kind == "standard" and len(view_map.columns) >= MIN_COLUMNS


def _left_out_errors(
    X: np.ndarray, Y: np.ndarray, weight: np.ndarray, folds: np.ndarray | None
) -> np.ndarray:
    """Weighted squared error of each row if left out, in regression on one view alone."""
    D = square_distances(X, X)
    fit = fit_on_tuning_rows([D / distance_scale(D)], [1.0], 1.0, [False], Y, weight, folds)
    return weight * ((fit.left_out - Y) ** 2).sum(axis=1)


def _is_clear(gains: np.ndarray, folds: np.ndarray | None) -> bool:
    """Whether the mean gain is far above 0; rows that are left out together count as one."""
    if folds is not None:
        gains = np.bincount(np.unique(folds, return_inverse=True)[1], weights=gains)
    if len(gains) < 2:
        return False
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    return bool(gains.mean() > MIN_STANDARD_ERRORS * error)
