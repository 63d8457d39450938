"""The view layout seen in fit, and validation of new data against it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._model_types import model_type
from consilience._warnings import warn_user
from consilience.views import _storage as storage
from consilience.views._columns import default_names
from consilience.views._data import MultiViewData
from consilience.views._pairwise import PAIRWISE

__all__ = ["MATCHED", "ViewLayout", "check_columns", "check_values"]

MATCHED: tuple = ()  # names of columns that have been put in the order of fit already


@model_type("views.ViewLayout")
@dataclass(frozen=True)
class ViewLayout:
    """Names, widths, kinds and column names of the fitted views.

    The width is the number of columns, None for pairwise views, and the shape of a sample for
    arrays of more than two dimensions.
    """

    names: tuple[str, ...]
    widths: tuple[Any, ...]
    kinds: tuple[str, ...]
    columns: tuple[tuple[str, ...] | None, ...]

    @classmethod
    def from_data(cls, data: MultiViewData) -> ViewLayout:
        """Return the layout of a container."""
        return cls(
            names=data.view_names,
            widths=tuple(_width(data, name) for name in data.view_names),
            kinds=tuple(data.kinds.values()),
            columns=tuple(_columns(data, name) for name in data.view_names),
        )

    def align(self, data: MultiViewData) -> MultiViewData:
        """Reorder the views of ``data`` as in fit; absent views are missing in all rows."""
        unknown = [name for name in data.view_names if name not in self.names]
        if unknown:
            self._raise_unknown_views(data, unknown)
        fitted = zip(self.names, self.widths, self.kinds, self.columns, strict=True)
        for name, width, kind, columns in fitted:
            if name not in data:
                continue
            if data.kinds[name] != kind:
                raise ValueError(
                    f"view {name!r} was a {kind} view in fit but is a {data.kinds[name]} view now"
                )
            if width != _width(data, name):
                _raise_width(name, width, _width(data, name), columns, _columns(data, name))
            check_columns(name, columns, _columns(data, name))
        if data.view_names == self.names:
            return data
        return self._complete(data)

    def _raise_unknown_views(self, data: MultiViewData, unknown: list[str]) -> None:
        if list(data.view_names) == default_names(data.n_views):
            raise ValueError(
                f"X has no view names, but the estimator was fitted on the views "
                f"{storage.format_list(self.names)}; pass a dict or MultiViewData with these names"
            )
        raise ValueError(
            f"X has views that were not seen in fit: {storage.format_list(unknown)}; "
            f"the fitted views are {storage.format_list(self.names)}"
        )

    def _complete(self, data: MultiViewData) -> MultiViewData:
        if not any(name in data for name in self.names):
            raise ValueError(f"X has none of the fitted views {storage.format_list(self.names)}")
        if set(data.view_names) == set(self.names):
            return data.select(self.names)
        n, present = len(data), np.zeros((len(data), len(self.names)), dtype=bool)
        views: dict[str, Any] = {}
        for v, (name, width) in enumerate(zip(self.names, self.widths, strict=True)):
            if name in data:
                views[name] = data._views[name]
                present[:, v] = data.present[:, data.view_names.index(name)]
            elif isinstance(width, tuple):
                views[name] = np.broadcast_to(np.nan, (n, *width))
            else:
                views[name] = sp.csr_array((n, width or 1))
        kinds = dict(zip(self.names, self.kinds, strict=True))
        return data._replace(views, kinds, present)


def _width(data: MultiViewData, name: str) -> int | tuple[int, ...] | None:
    if data.kinds[name] in PAIRWISE:
        return None
    shape = storage.sample_shape(data[name])
    return shape[0] if len(shape) == 1 else shape


def _raise_width(
    name: str,
    fitted: int | tuple[int, ...],
    width: Any,
    known: tuple[Any, ...] | None,
    columns: tuple[Any, ...] | None,
) -> None:
    if isinstance(fitted, int) and isinstance(width, int):
        raise ValueError(
            f"view {name!r} has {width} columns, but had {fitted} in fit"
            f"{_describe_difference(known, columns)}"
        )
    raise ValueError(
        f"view {name!r} has samples of shape {width if isinstance(width, tuple) else (width,)}, "
        f"but had samples of shape {fitted if isinstance(fitted, tuple) else (fitted,)} in fit"
    )


def _describe_difference(known: tuple[Any, ...] | None, columns: tuple[Any, ...] | None) -> str:
    """Which named columns are new, and which are missing."""
    if not known or not columns:  # MATCHED, or without names
        return ""
    new = [column for column in columns if column not in known]
    missing = [column for column in known if column not in columns]
    parts = [f"new: {storage.format_list(new)}"] if new else []
    parts += [f"missing: {storage.format_list(missing)}"] if missing else []
    return f" ({'; '.join(parts)})" if parts else ""


def _columns(data: MultiViewData, name: str) -> tuple[str, ...] | None:
    if data.kinds[name] in PAIRWISE:
        return None
    names = storage.column_names(data[name])
    return data._column_names.get(name) if names is None else tuple(names)


def check_columns(
    view: str, fitted: tuple[str, ...] | None, columns: tuple[str, ...] | None
) -> None:
    """Check that the column names of a view are those seen in fit; warn if it has none.

    Without a warning if they are ``MATCHED``.
    """
    if fitted is None or fitted == columns or columns == MATCHED:
        return
    if columns is None:
        if all(isinstance(name, str) for name in fitted):  # numbers may just count the columns
            warn_user(
                f"view {view!r} has no column names, but had some in fit: its columns are taken to "
                "be in the same order"
            )
        return
    for j, (old, new) in enumerate(zip(fitted, columns, strict=True)):
        if old != new:
            raise ValueError(
                f"view {view!r} has different columns than in fit, or in a different order: column "
                f"{j} was {old!r} and is {new!r} now"
            )


def check_values(
    data: MultiViewData,
    kinds: tuple[str, ...],
    method: str,
    *,
    nan_views: Collection[str] = (),
    check_finite: bool = True,
) -> MultiViewData:
    """Validate the values of all views: numeric, finite and of a supported kind.

    Values of missing views are never read. In ``nan_views`` single values may be NaN.
    """
    views: dict[str, Any] = {}
    for v, (name, kind) in enumerate(data.kinds.items()):
        if kind not in kinds:
            raise TypeError(
                f"view {name!r} is a {kind} view, but {method} only supports "
                f"{' and '.join(kinds)} views"
            )
        if data.widths[name] == 0:
            raise ValueError(f"view {name!r} has no columns")
        present = data.present[:, v]
        if kind in PAIRWISE:
            views[name] = data._views[name]
            continue
        if not present.any():
            views[name] = sp.csr_array((len(data), data.widths[name]))
            continue
        views[name] = storage.to_numeric(data[name], name)
        if check_finite:
            non_finite = storage.first_non_finite(views[name], present, name in nan_views)
            if non_finite is not None:
                _raise_non_finite(name, *non_finite)
    return data._replace(views)._with_column_names({})  # as dataframes, which are arrays now


def _raise_non_finite(name: str, row: int, column: int, value: float) -> None:
    if np.isnan(value):
        raise ValueError(
            f"Input contains NaN: view {name!r} is partially missing in row {row} (column "
            f"{column}), but a view must be missing entirely (all NaN, or present=False) or not at "
            "all; impute single values first, e.g. with "
            f"ViewTransformer({{{name!r}: SimpleImputer()}})"
        )
    raise ValueError(f"Input contains infinity: view {name!r}, row {row}, column {column}")
