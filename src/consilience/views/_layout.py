"""The view layout seen in fit, and the check that later data have the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience.views import _storage as storage
from consilience.views._columns import default_names
from consilience.views._data import MultiViewData
from consilience.views._pairwise import PAIRWISE

__all__ = ["ViewLayout", "check_values"]


@dataclass(frozen=True)
class ViewLayout:
    """The fitted views: names, widths (None for pairwise views), kinds and names of columns."""

    names: tuple[str, ...]
    widths: tuple[int | None, ...]
    kinds: tuple[str, ...]
    columns: tuple[tuple[str, ...] | None, ...]

    @classmethod
    def from_data(cls, data: MultiViewData) -> ViewLayout:
        """Layout of a container."""
        kinds = tuple(data.kinds.values())
        widths = zip(data.widths.values(), kinds, strict=True)
        return cls(
            names=data.view_names,
            widths=tuple(None if kind in PAIRWISE else width for width, kind in widths),
            kinds=kinds,
            columns=tuple(_columns(data, name) for name in data.view_names),
        )

    def align(self, data: MultiViewData) -> MultiViewData:
        """The fitted views of ``data`` in fitted order; views it lacks are missing in all rows."""
        unknown = [name for name in data.view_names if name not in self.names]
        if unknown:
            self._raise_unknown_views(data, unknown)
        fitted = zip(self.names, self.widths, self.kinds, self.columns, strict=True)
        for name, width, kind, columns in fitted:
            if name not in data:
                continue
            if data.kinds[name] != kind:
                raise ValueError(
                    f"view {name!r} was a {kind} view in fit and is a {data.kinds[name]} view now"
                )
            if width is not None and data.widths[name] != width:
                raise ValueError(
                    f"view {name!r} has {data.widths[name]} columns, but had {width} in fit"
                )
            _check_columns(name, columns, _columns(data, name))
        if data.view_names == self.names:
            return data
        return self._complete(data)

    def _raise_unknown_views(self, data: MultiViewData, unknown: list[str]) -> None:
        if list(data.view_names) == default_names(data.n_views):
            raise ValueError(
                f"X comes without view names, but the estimator was fitted on the views "
                f"{storage.format_list(self.names)}; pass a dict or MultiViewData with these names"
            )
        raise ValueError(
            f"X has views that were not there in fit: {storage.format_list(unknown)}; "
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
            else:
                views[name] = sp.csr_array((n, width or 1))
        kinds = dict(zip(self.names, self.kinds, strict=True))
        return MultiViewData._from_parts(views, kinds, present, data.sample_ids, data._origin)


def _columns(data: MultiViewData, name: str) -> tuple[str, ...] | None:
    if data.kinds[name] in PAIRWISE:
        return None
    names = storage.column_names(data[name])
    return None if names is None else tuple(names)


def _check_columns(
    view: str, fitted: tuple[str, ...] | None, given: tuple[str, ...] | None
) -> None:
    if fitted is None or given is None or fitted == given:
        return
    for j, (old, new) in enumerate(zip(fitted, given, strict=True)):
        if old != new:
            raise ValueError(
                f"view {view!r} has other columns than in fit, or in another order: column {j} was "
                f"{old!r} and is {new!r} now"
            )


def check_values(
    data: MultiViewData,
    kinds: tuple[str, ...],
    method: str,
    *,
    allow_nan: bool = False,
    check_finite: bool = True,
) -> MultiViewData:
    """Numeric, finite views of an accepted kind, or an error that says where they are not.

    Values of missing views are never read. With ``allow_nan`` single cells may be NaN.
    """
    views: dict[str, Any] = {}
    for v, (name, kind) in enumerate(data.kinds.items()):
        if kind not in kinds:
            raise ValueError(
                f"view {name!r} is a {kind} view; {method} takes {' and '.join(kinds)} views only"
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
        bad = storage.first_not_finite(views[name], present, allow_nan) if check_finite else None
        if bad is not None:
            _raise_not_finite(name, *bad)
    return MultiViewData._from_parts(views, data.kinds, data.present, data.sample_ids, data._origin)


def _raise_not_finite(name: str, row: int, column: int, value: float) -> None:
    if np.isnan(value):
        raise ValueError(
            f"Input contains NaN: view {name!r} is partly missing in row {row} (column {column}); "
            "a view is missing as a whole (all NaN, or present=False) or not at all. Impute single "
            f"values first, e.g. ViewTransformer({{{name!r}: SimpleImputer()}})"
        )
    raise ValueError(f"Input contains infinity: view {name!r}, row {row}, column {column}")
