"""Input of the functions on features: views with columns, labels, weights and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from consilience._targets import check_labels, check_weights
from consilience.distributed._blocks import comes_in_blocks
from consilience.inspection._scoring import to_multiview
from consilience.views import MultiViewData
from consilience.views import _storage as storage
from consilience.views._index import check_aligned
from consilience.views._input import has_dask_views

__all__ = ["FeatureData", "class_effects", "feature_names", "read_features"]

CHUNK_COLUMNS = 2048  # columns whose class means are computed at once


@dataclass(frozen=True, eq=False)
class FeatureData:
    """Views, labels as codes, and weights."""

    data: MultiViewData
    y: np.ndarray
    classes: np.ndarray
    codes: np.ndarray
    weight: np.ndarray


def read_features(
    estimator: Any, X: Any, y: Any, groups: Any, sample_weight: Any, caller: str
) -> FeatureData:
    """Validated views of features with labels; a one-sentence TypeError for what has none."""
    data = read_views(estimator, X, caller)
    check_aligned(data, y=y, sample_weight=sample_weight)
    data = data if groups is None else data.with_groups(groups)
    check_all_labelled(estimator, y, caller)
    y = check_labels(y, len(data), caller)
    weight = check_weights(sample_weight, len(data))
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{caller} needs two classes or more, but y has one class: {classes[0]!r}")
    return FeatureData(data, y, classes, codes.ravel(), weight)


def read_views(estimator: Any, X: Any, caller: str) -> MultiViewData:
    """Views whose columns are features."""
    if comes_in_blocks(X) or has_dask_views(X):
        raise TypeError(
            f"{caller} needs all rows in memory, not a stream or dask arrays; load them with "
            "as_multiview(X).compute(), or pass a sample of the rows"
        )
    data = to_multiview(X, estimator)
    names = getattr(estimator, "views", None)
    if isinstance(names, (list, tuple)) and names and all(name in data for name in names):
        data = data.select(names)
    for name, kind in data.kinds.items():
        if kind != "features":
            raise TypeError(
                f"view {name!r} is a {kind} between samples and has no features; leave it out with "
                "data.select([...])"
            )
        if storage.is_documents(data[name]) or storage.is_tensor(data[name]):
            raise TypeError(
                f"view {name!r} holds documents or arrays instead of columns; vectorise or flatten "
                "it first"
            )
    return data


def check_all_labelled(estimator: Any, y: Any, caller: str) -> None:
    """Raise an error if rows have no label."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    mark = getattr(last, "unlabelled", None)
    values = np.asarray(y, dtype=object).ravel()
    is_bare = np.array([value is None or (mark is not None and value == mark) for value in values])
    if is_bare.any():
        raise TypeError(
            f"{caller} compares contributions with labels, but {is_bare.sum()} rows have none; "
            "leave them out"
        )


def feature_names(
    data: MultiViewData, given: Mapping[str, Any] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """View and name of every column; columns without names appear by number."""
    given = {} if given is None else given
    for view, own_names in given.items():
        if view not in data.view_names:
            raise ValueError(f"feature_names has names for {view!r}, which is none of the views")
        if len(own_names) != data.widths[view]:
            raise ValueError(
                f"feature_names has {len(own_names)} names for view {view!r}, which has "
                f"{data.widths[view]} columns"
            )
    views: list[str] = []
    names: list[Any] = []
    for view in data.view_names:
        columns = given[view] if view in given else storage.column_names(data[view])
        own = list(range(data.widths[view])) if columns is None else list(columns)
        views += [view] * len(own)
        names += own
    out: np.ndarray = np.empty(len(names), dtype=np.object_)
    out[:] = names
    return np.array(views, dtype=object), out


def numeric_view(data: MultiViewData, name: str) -> Any:
    """Columns of a view as numbers: NaN in absent cells, codes in columns of categories."""
    view = data[name]
    if not storage.is_dataframe(view):
        return storage.to_numeric(view, name)
    frame = nw.from_native(view, eager_only=True)
    columns = []
    for j in range(frame.shape[1]):
        values = storage.column_to_numeric(frame[:, j], frame[:, j].dtype)
        columns.append(np.full(len(frame), np.nan) if values is None else values)
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))


def class_effects(
    data: MultiViewData, codes: np.ndarray, weight: np.ndarray, n_classes: int
) -> np.ndarray:
    """Difference of the means of a class and of the others, in standard deviations (d x K).

    The standard deviation is that within the classes; NaN for columns of categories.
    """
    blocks = []
    for v, name in enumerate(data.view_names):
        rows = np.flatnonzero(data.present[:, v])
        X, width = numeric_view(data, name), data.widths[name]
        X = sp.csc_array(X[rows]) if sp.issparse(X) else X[rows]
        indicator = np.eye(n_classes)[codes[rows]] * weight[rows, None]
        for start in range(0, width, CHUNK_COLUMNS):
            part = X[:, start : start + CHUNK_COLUMNS]
            part = part.toarray() if sp.issparse(part) else part
            blocks.append(_effects(np.asarray(part, dtype=np.float64), indicator))
    return np.vstack(blocks)


def _effects(X: np.ndarray, indicator: np.ndarray) -> np.ndarray:
    is_known = ~np.isnan(X)
    X = np.where(is_known, X, 0.0)
    mass = is_known.T @ indicator  # d x K
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = (X.T @ indicator).sum(axis=1) / mass.sum(axis=1)
        Z = np.where(is_known, X - centre, 0.0)
        sums, squares = Z.T @ indicator, (Z**2).T @ indicator
        means = sums / mass
        within = (squares - sums * means).sum(axis=1) / mass.sum(axis=1)
        rest = (sums.sum(axis=1, keepdims=True) - sums) / (mass.sum(axis=1, keepdims=True) - mass)
        effect = (means - rest) / np.sqrt(within)[:, None]
    is_constant = np.ptp(np.where(is_known, X, centre), axis=0) == 0
    effect[is_constant & (mass.sum(axis=1) > 0)] = 0.0
    return effect
