"""Roles of the columns of dataframes in memory, as those of files are determined."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline

from consilience._model_types import model_type
from consilience.tables._dates import to_days
from consilience.tables._roles import CATEGORY, NUMBER, ColumnRole, assign_role, inspect_column
from consilience.tables._table import import_pyarrow
from consilience.views import MultiViewData, as_multiview
from consilience.views import _storage as storage

__all__ = ["FeatureSelector", "frame_roles", "select_frame_features", "take_all_columns"]


def frame_roles(data: MultiViewData, keep: Collection[str] = ()) -> list[ColumnRole]:
    """Roles of the columns of all views that are dataframes."""
    roles = []
    for v, (view, content) in enumerate(data.items()):
        if data.kinds[view] != "features" or not storage.is_dataframe(content):
            continue
        rows = np.flatnonzero(data.present[:, v])
        frame = nw.from_native(storage.take_rows(content, rows), eager_only=True)
        roles += [_frame_role(view, frame[:, j], keep) for j in range(frame.shape[1])]
    unknown = [column for column in keep if column not in {role.column for role in roles}]
    if unknown:
        raise ValueError(f"keep: no dataframe has the column {storage.format_list(unknown)}")
    return roles


def _frame_role(view: str, column: nw.Series, keep: Collection[str]) -> ColumnRole:
    name = str(column.name)
    is_number = storage.column_to_numeric(column, column.dtype) is not None
    cells = _to_arrow(column)
    if cells is None:
        content = NUMBER if is_number else CATEGORY
    else:
        content = inspect_column(cells, name, text_as_numbers=False)
    return assign_role(view, name, content, keep)


def _to_arrow(column: nw.Series) -> Any:
    """Convert to an Arrow array; None for objects that Arrow does not know."""
    pa = import_pyarrow()
    try:
        return pa.chunked_array([column.to_arrow()])
    except (pa.ArrowException, TypeError):
        return None


def select_frame_features(data: MultiViewData, roles: Sequence[ColumnRole]) -> MultiViewData:
    """Leave out the columns that are no features, and convert dates to days."""
    left_out = {(role.view, role.column) for role in roles if role.reason}
    dates = {(role.view, role.column) for role in roles if role.role == "date"}
    if not left_out and not dates:
        return data
    views = {}
    for name, content in data.items():
        if data.kinds[name] == "features" and storage.is_dataframe(content):
            frame = _select(nw.from_native(content, eager_only=True), name, left_out, dates)
            if frame.shape[1]:
                views[name] = frame.to_native()
        else:
            views[name] = data._views[name]
    if not views:
        view, column = min(left_out)
        raise ValueError(f"no view has a feature: column {column!r} of {view!r} is left out")
    selected = data.select(list(views))  # a new container of the same samples
    selected._views = views
    return selected


def _select(
    frame: nw.DataFrame, view: str, left_out: set[tuple[str, str]], dates: set[tuple[str, str]]
) -> nw.DataFrame:
    used = [j for j, column in enumerate(frame.columns) if (view, str(column)) not in left_out]
    frame = frame[:, used]
    days = {c: to_days(_to_arrow(frame[c])) for c in frame.columns if (view, str(c)) in dates}
    wrong = [column for column, values in days.items() if values is None]
    if wrong:
        raise ValueError(f"view {view!r}: column {wrong[0]!r} must contain dates")
    return frame.with_columns(
        *(
            nw.new_series(column, values, nw.Float64(), backend=frame.implementation)
            for column, values in days.items()
        )
    )


def take_all_columns(estimator: BaseEstimator, roles: Sequence[ColumnRole]) -> BaseEstimator:
    """Let a fitted estimator take dataframes with the columns that were left out."""
    if not any(role.reason or role.role == "date" for role in roles):
        return estimator
    return make_pipeline(FeatureSelector(roles), estimator)


@model_type("tables.FeatureSelector")
class FeatureSelector(TransformerMixin, BaseEstimator):
    """Select the features of new dataframes by the roles of columns in a comparison.

    Parameters
    ----------
    roles : list of ColumnRole
        The roles of the columns.

    Examples
    --------
    >>> from consilience.tables import ColumnRole, FeatureSelector
    >>> roles = [ColumnRole("blood", "patient", "key"), ColumnRole("blood", "hb", "number")]
    >>> selector = FeatureSelector(roles)
    """

    def __init__(self, roles: Sequence[ColumnRole]) -> None:
        self.roles = roles

    def fit(self, X: Any, y: Any = None) -> FeatureSelector:
        """Do nothing; the roles are known."""
        return self

    def transform(self, X: Any) -> MultiViewData:
        """Return the features."""
        return select_frame_features(as_multiview(X), self.roles)

    def __sklearn_is_fitted__(self) -> bool:
        return True
