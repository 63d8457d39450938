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
    """Names, widths and kinds of the fitted views (a pairwise view has no width of its own)."""

    names: tuple[str, ...]
    widths: tuple[int | None, ...]
    kinds: tuple[str, ...]

    @classmethod
    def of(cls, data: MultiViewData) -> ViewLayout:
        """Layout of a container."""
        kinds = tuple(data.kinds.values())
        widths = zip(data.widths.values(), kinds, strict=True)
        return cls(data.view_names, tuple(None if k in PAIRWISE else w for w, k in widths), kinds)

    def align(self, data: MultiViewData) -> MultiViewData:
        """The fitted views of ``data`` in fitted order; views it lacks are missing in all rows."""
        unknown = [name for name in data.view_names if name not in self.names]
        if unknown:
            self._refuse(data, unknown)
        for name, width, kind in zip(self.names, self.widths, self.kinds, strict=True):
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
        if data.view_names == self.names:
            return data
        return self._complete(data)

    def _refuse(self, data: MultiViewData, unknown: list[str]) -> None:
        if list(data.view_names) == default_names(data.n_views):
            raise ValueError(
                f"X comes without view names, but the estimator was fitted on the views "
                f"{storage.shown(self.names)}; pass a dict or MultiViewData with these names"
            )
        raise ValueError(
            f"X has views that were not there in fit: {storage.shown(unknown)}; "
            f"the fitted views are {storage.shown(self.names)}"
        )

    def _complete(self, data: MultiViewData) -> MultiViewData:
        if not any(name in data for name in self.names):
            raise ValueError(f"X has none of the fitted views {storage.shown(self.names)}")
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


def check_values(data: MultiViewData, kinds: tuple[str, ...], method: str) -> MultiViewData:
    """Numeric, finite views of an accepted kind, or an error that says where they are not.

    Values of missing views are not looked at.
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
        bad = storage.first_not_finite(views[name], present)
        if bad is not None:
            _refuse_value(name, *bad)
    return MultiViewData._from_parts(views, data.kinds, data.present, data.sample_ids, data._origin)


def _refuse_value(name: str, row: int, column: int, value: float) -> None:
    if np.isnan(value):
        raise ValueError(
            f"Input contains NaN: view {name!r} is partly missing in row {row} (column {column}); "
            "a view is missing as a whole (all NaN, or present=False) or not at all. Impute single "
            f"values first, e.g. ViewTransformer({{{name!r}: SimpleImputer()}})"
        )
    raise ValueError(f"Input contains infinity: view {name!r}, row {row}, column {column}")
