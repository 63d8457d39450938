"""Roles of the columns of dataframes in memory, as those of files are determined."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline

from consilience._model_types import model_type
from consilience.tables._dates import describe_format, find_date_format, to_days
from consilience.tables._roles import CATEGORY, NUMBER, ColumnRole, assign_role, inspect_column
from consilience.tables._table import import_pyarrow
from consilience.tables._words import count_words, find_words, name_text_views
from consilience.views import MultiViewData, as_multiview
from consilience.views import _storage as storage

__all__ = [
    "FeatureSelector",
    "frame_roles",
    "select_frame_features",
    "take_all_columns",
    "text_view_names",
]


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
    role = assign_role(view, name, content, keep)
    if role.role == "date":
        return replace(role, date_format=_date_format(view, name, cells))
    return replace(role, words=find_words(_cells(column))) if role.role == "text" else role


def _date_format(view: str, name: str, cells: Any) -> str:
    pattern = find_date_format(cells)
    if pattern is None:
        raise ValueError(
            f"view {view!r}: the dates of column {name!r} may have the day or the month first; "
            "write them like 2024-12-31, or convert the column to dates"
        )
    return pattern


def _cells(column: nw.Series) -> list[str | None]:
    return [cell.strip() if isinstance(cell, str) else None for cell in column.to_list()]


def _to_arrow(column: nw.Series) -> Any:
    """Convert to an Arrow array; None for objects that Arrow does not know."""
    pa = import_pyarrow()
    try:
        cells = pa.chunked_array([column.to_arrow()])
        kind = cells.type
        if pa.types.is_dictionary(kind) and isinstance(kind.value_type, pa.BaseExtensionType):
            return pa.chunked_array([column.cast(nw.String()).to_arrow()])  # such as intervals
        return cells
    except (pa.ArrowException, TypeError):
        return None


def select_frame_features(data: MultiViewData, roles: Sequence[ColumnRole]) -> MultiViewData:
    """Leave out the columns that are no features; convert dates to days, free text to words."""
    left_out = {(role.view, role.column) for role in roles if role.reason}
    dates = {(role.view, role.column): role.date_format for role in roles if role.role == "date"}
    texts = {(role.view, role.column): role.words for role in roles if role.role == "text"}
    if not left_out and not dates and not texts and not _has_declared_categories(data):
        return data
    views, masks = {}, {}
    titles = text_view_names(roles)
    for v, (name, content) in enumerate(data.items()):
        is_present = data.present[:, v]
        if data.kinds[name] != "features" or not storage.is_dataframe(content):
            views[name], masks[name] = data._views[name], is_present
            continue
        whole = nw.from_native(content, eager_only=True)
        frame = _select(whole, name, left_out | set(texts), dates)
        if frame.shape[1]:
            views[name], masks[name] = frame.to_native(), is_present
        for (view, column), words in texts.items():
            names = list(map(str, whole.columns))
            if view == name and column in names:
                cells, title = _cells(whole[:, names.index(column)]), titles[view, column]
                views[title] = count_words(cells, words)
                masks[title] = is_present & np.array([bool(cell) for cell in cells])
    if not views:
        view, column = min(left_out)
        raise ValueError(f"no view has a feature: column {column!r} of {view!r} is left out")
    kinds = {name: data.kinds.get(name, "features") for name in views}
    return data._replace(views, kinds, np.column_stack([masks[name] for name in views]))


def _has_declared_categories(data: MultiViewData) -> bool:
    return any(
        dtype in (nw.Categorical, nw.Enum)
        for name, view in data.items()
        if data.kinds[name] == "features" and storage.is_dataframe(view)
        for dtype in nw.from_native(view, eager_only=True).schema.values()
    )


def text_view_names(roles: Sequence[ColumnRole]) -> dict[tuple[str, str], str]:
    """Names of the views that columns of free text become, by view and column."""
    texts = [(role.view, role.column) for role in roles if role.role == "text"]
    others = [role for role in roles if role.role != "text" and not role.reason]
    return name_text_views(texts, {role.view for role in others})


def _select(
    frame: nw.DataFrame,
    view: str,
    left_out: set[tuple[str, str]],
    dates: Mapping[tuple[str, str], str],
) -> nw.DataFrame:
    used = [j for j, column in enumerate(frame.columns) if (view, str(column)) not in left_out]
    frame = frame[:, used]
    # models know categories as texts
    declared = [
        name
        for name, dtype in frame.schema.items()
        if dtype in (nw.Categorical, nw.Enum) and (view, str(name)) not in dates
    ]
    frame = frame.with_columns(nw.col(*declared).cast(nw.String())) if declared else frame
    days = {
        column: to_days(_to_arrow(frame[:, j]), dates[view, str(column)])
        for j, column in enumerate(frame.columns)
        if (view, str(column)) in dates
    }
    wrong = [column for column, values in days.items() if values is None]
    if wrong:
        expected = describe_format(dates[view, str(wrong[0])])
        raise ValueError(f"view {view!r}: column {wrong[0]!r} must contain {expected}")
    return frame.with_columns(
        *(
            nw.new_series(column, values, nw.Float64(), backend=frame.implementation)
            for column, values in days.items()
        )
    )


def take_all_columns(estimator: BaseEstimator, roles: Sequence[ColumnRole]) -> BaseEstimator:
    """Let a fitted estimator take dataframes with the columns that were left out."""
    if not any(role.reason or role.role in ("date", "text") for role in roles):
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
