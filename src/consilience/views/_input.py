"""Conversion of user input to views with the layout an estimator was fitted on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from consilience.views import _storage as storage
from consilience.views._columns import column_groups, default_names, is_name_list
from consilience.views._convert import as_multiview, is_matrix, read_views, split_columns
from consilience.views._data import MultiViewData
from consilience.views._index import has_index, row_labels
from consilience.views._layout import ViewLayout

__all__ = [
    "has_dask_views",
    "read_input",
    "read_lazy",
    "sample_labels",
    "set_layout",
    "set_n_features",
]


def read_input(estimator: Any, X: Any, *, reset: bool, numeric: bool = True) -> MultiViewData:
    """Split X by the estimator's ``views`` parameter; store (reset) or check the view layout.

    Sets ``n_features_in_``, ``n_views_in_``, ``view_names_`` and, for dataframes,
    ``view_feature_names_in_`` and (a single one) ``feature_names_in_``. With ``numeric=False`` the
    columns of a dataframe keep their dtypes.
    """
    if hasattr(X, "collect_schema") and not storage.is_dataframe(X):
        raise TypeError("X is a lazy frame; collect() it first")
    if has_dask_views(X):
        raise TypeError(
            f"X contains dask arrays, which {type(estimator).__name__} does not support here; "
            "as_multiview(X).compute() loads them into memory (docs/scaling.md lists what fits on "
            "dask arrays; every classifier predicts from them)"
        )
    if is_matrix(X):
        data = _read_matrix(estimator, X, reset, numeric)
    elif reset:
        data = read_views(X, estimator.views)
    else:
        data = as_multiview(X)
        _check_n_unnamed_views(estimator, X, data)
        if is_name_list(estimator.views):
            selected = [name for name in estimator.views if name in data]
            data = data.select(selected) if selected else data
    if len(data) == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required")
    if not reset:
        return estimator._layout.align(data)
    set_layout(estimator, data, ViewLayout.from_data(data))
    if not is_matrix(X):  # for a matrix, validate_data has set the number and names of features
        set_n_features(estimator, data)
    elif hasattr(estimator, "feature_names_in_"):
        names = estimator.feature_names_in_
        groups = column_groups(estimator.views, len(names), names.tolist())
        _set_column_names(estimator, {view: names[columns] for view, columns in groups.items()})
    return data


def set_layout(estimator: Any, data: MultiViewData, layout: ViewLayout) -> None:
    """Set the fitted attributes that describe the views."""
    estimator._layout = layout
    estimator.view_names_ = list(data.view_names)
    estimator.n_views_in_ = data.n_views
    _set_column_names(estimator, dict(zip(layout.names, layout.columns, strict=True)))


def _set_column_names(estimator: Any, columns: Mapping[str, Any]) -> None:
    """Set ``view_feature_names_in_``, if a view has columns whose names are strings."""
    names = {
        view: np.asarray(columns[view], dtype=object)
        for view in columns
        if columns[view] is not None and all(isinstance(name, str) for name in columns[view])
    }
    estimator.__dict__.pop("view_feature_names_in_", None)
    if names:
        estimator.view_feature_names_in_ = names


def set_n_features(estimator: Any, data: MultiViewData) -> None:
    """Set ``n_features_in_`` to the total number of columns; column names are per view."""
    estimator.n_features_in_ = data.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)


def has_dask_views(X: Any) -> bool:
    """Return True for a dask array, or several matrices at least one of which is a dask array."""
    if isinstance(X, MultiViewData):
        return X.is_lazy
    if isinstance(X, (list, tuple, Mapping)):
        return any(storage.is_lazy(view) for view in (X.values() if isinstance(X, Mapping) else X))
    return storage.is_lazy(X)


def sample_labels(X: Any) -> np.ndarray | None:
    """Labels of the samples in any input, for comparison with a series; None without an index."""
    if has_index(X):
        return row_labels(X)
    if storage.is_lazy(X) or is_matrix(X):
        return None
    data = as_multiview(X)
    is_labelled = data._ids_are_labels and not storage.is_lazy(data.sample_ids)
    return data.sample_ids if is_labelled else None


def read_lazy(X: Any, views: Any) -> MultiViewData:
    """Split input that ``has_dask_views`` by an estimator's ``views`` parameter."""
    if not storage.is_lazy(X):
        return read_views(X, views)
    if X.ndim != 2:
        raise ValueError(f"a dask array must be two-dimensional, got shape {X.shape}")
    return split_columns(X, views)


def _check_n_unnamed_views(estimator: Any, X: Any, data: MultiViewData) -> None:
    """Raise an error if unnamed views, which are matched by position, differ in number."""
    unnamed = not isinstance(X, MultiViewData) and list(data.view_names) == default_names(
        data.n_views
    )
    fitted = list(estimator._layout.names)
    if unnamed and fitted == default_names(len(fitted)) and data.n_views != len(fitted):
        raise ValueError(
            f"X has {data.n_views} unnamed views, but {len(fitted)} were seen in fit; pass a dict "
            "or MultiViewData with view names if some views are missing"
        )


def _read_matrix(estimator: Any, X: Any, reset: bool, numeric: bool) -> MultiViewData:
    names, labels = storage.column_names(X), row_labels(X)
    if sp.issparse(X) or isinstance(X, np.ma.MaskedArray):
        X = storage.validate_view(X, "X")
    if not numeric and names is not None:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    else:
        # NaN may mark a missing view, so finiteness is checked later, view by view
        try:
            X = validate_data(
                estimator, X, reset=reset, accept_sparse="csr", ensure_all_finite=False
            )
        except (TypeError, ValueError) as error:
            if names is not None and isinstance(error, TypeError):
                storage.to_numeric(X, "X")  # raises an error that names the column
            if re.search(r"\bX\b", str(error)):
                raise
            raise type(error)(f"X: {error}") from error
    if reset and names and all(isinstance(name, str) for name in names):
        # scikit-learn < 1.8 does not recognise the column names of every dataframe library
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    data = split_columns(X, estimator.views, names, labels)
    if names is None or all(isinstance(name, str) for name in names) or storage.is_dataframe(X):
        return data
    # scikit-learn compares the names of columns that are strings only
    groups = column_groups(estimator.views, len(names), names)
    labels = np.empty(len(names), dtype=object)
    labels[:] = names
    columns = {view: tuple(labels[group].tolist()) for view, group in groups.items()}
    return data._with_column_names(columns)
