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

from consilience._core.threads import Map
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
    run: Map = map,
) -> tuple[Columns, Mapped]:
    """Maps with the features that help, and the training rows mapped by them.

    ``mixed`` are views of categories and numbers, whose columns are of different kinds. ``run`` is
    ``map``, or the same on threads.
    """
    Y = np.eye(len(prior))[codes] - prior

    def choose(name: str) -> ViewMap:
        rows = np.flatnonzero(data.present[:, columns.names.index(name)])[:MAX_ROWS]
        if len(rows) < MIN_ROWS:
            return columns.maps[name]
        own_folds = None if folds is None else folds[rows]
        own = data[rows], mapped.filled[name][rows], Y[rows], weight[rows], own_folds
        return _choose_for_view(columns, name, *own)

    names = [
        name
        for name in columns.maps
        if name not in mixed and _is_eligible(columns.maps[name], data[name])
    ]
    chosen = replace(
        columns, maps={**columns.maps, **dict(zip(names, run(choose, names), strict=True))}
    )
    raw, filled = list(mapped.raw), dict(mapped.filled)
    extended = [name for name in names if chosen.maps[name] is not columns.maps[name]]
    blocks = run(lambda name: chosen.map_view(data, name), extended)
    for name, (block, filled_block) in zip(extended, blocks, strict=True):
        raw[columns.names.index(name)], filled[name] = block, filled_block
    return chosen, Mapped(raw, filled)


def _choose_for_view(
    columns: Columns,
    name: str,
    data: MultiViewData,
    X: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray,
    folds: np.ndarray | None,
) -> ViewMap:
    """Map of a view with the features that help, given rows that have it, mapped as X."""
    chosen: ViewMap = columns.maps[name]
    variance = float(weight @ (Y**2).sum(axis=1))
    errors = _left_out_errors(X, Y, weight, folds)
    for extend in (ViewMap.with_row_quantiles, ViewMap.with_local_patterns):
        extended = extend(chosen, data[name], weight)
        if extended is None:
            continue
        X = replace(columns, maps={name: extended}).map_view(data, name)[1]
        new_errors = _left_out_errors(X, Y, weight, folds)
        gains = errors - new_errors
        if gains.sum() > MIN_GAIN * variance and _is_clear(gains, folds):
            chosen, errors = extended, new_errors
    return chosen


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
