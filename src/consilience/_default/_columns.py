"""The columns that the members see: mapped views, and principal components of each view."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience._core.threads import Map
from consilience._default._components import (
    Components,
    dense,
    fit_components,
    fit_kernel_components,
    left_out_components,
)
from consilience._default._reference_set import ReferenceSet, ReferenceView
from consilience._model_types import model_type
from consilience.views import MultiViewData
from consilience.views import _storage as storage
from consilience.views._maps import ViewMap, fit_view_map

__all__ = ["Columns", "Mapped", "fit_columns"]

# cells above which mapped views are kept in single precision
FLOAT64_MAX_CELLS = 20_000_000
CHUNK_CELLS = 4_000_000  # cells mapped in double precision at once where they are
# characters of truth values, integers, and floats in single and double precision
COMMON_DTYPES = "?bBhHiIlLqQfd"
# columns up to which a view keeps them beside its components: rules on single columns get lost in
# rotations, see docs/results/default-log.md
NARROW_VIEW_COLUMNS = 40
# training rows above which directions hardly depend on single ones; see docs/results/default-log.md
MAX_LEFT_OUT_ROWS = 200


@dataclass(frozen=True, eq=False)
class Mapped:
    """Mapped rows: ``raw`` (list over the views, None for pairwise ones) with NaN in empty cells,
    ``filled`` (dict of view -> matrix) with means there; rows that lack a view are 0.
    """

    raw: list[Any]
    filled: dict[str, Any]


@model_type("default.Columns")
@dataclass(frozen=True, eq=False)
class Columns:
    """Maps of the feature views, and components of all views (None where there are none)."""

    names: tuple[str, ...]
    maps: dict[str, Any]
    dtype: type
    components: tuple[Components | None, ...] = ()
    reference_set: ReferenceSet | None = None

    def apply(self, data: MultiViewData, run: Map = map) -> Mapped:
        """Mapped rows of a container."""
        names = [name for name in self.names if name in self.maps]
        blocks = dict(zip(names, run(lambda name: self.map_view(data, name), names), strict=True))
        raw = [
            blocks[name][0] if name in blocks and self.maps[name].width else None
            for name in self.names
        ]
        return Mapped(raw, {name: filled for name, (_, filled) in blocks.items()})

    def map_view(self, data: MultiViewData, name: str) -> tuple[Any, Any]:
        """Mapped rows of a feature view, with NaN in empty cells and with means there."""
        is_present = data.present[:, self.names.index(name)]
        view = _only_present(_as_common_dtype(data[name]), is_present)
        block = _apply_map(self.maps[name], view, self.dtype)
        return block, self.maps[name].fill(block)

    def as_given(self, data: MultiViewData, mapped: Mapped) -> list[Any]:
        """Columns of each feature view without a map, None for kernels and distances.

        Boosted trees choose the best thresholds, for which the maps of the other members do nothing
        but blur columns of different meaning. Only features of whole rows are added.
        """
        blocks: list[Any] = []
        for v, (name, view) in enumerate(data.items()):
            if name not in self.maps or not view.shape[1]:
                blocks.append(None)
                continue
            X = view if view.dtype in (np.float32, np.float64) else view.astype(np.float64)
            n_whole = self.maps[name].part_widths[-1]
            if n_whole:
                X = X.toarray() if sp.issparse(X) else X
                X = np.hstack([X, mapped.raw[v][:, -n_whole:].astype(X.dtype)])
            blocks.append(X)
        return blocks

    def with_components(self, reference_set: ReferenceSet) -> Columns:
        """Return a copy with components fitted on the reference rows."""
        components = tuple(_fit_components_of(view) for view in reference_set.views)
        return replace(self, components=components, reference_set=reference_set)

    def components_of(self, mapped: Mapped, data: MultiViewData) -> list[np.ndarray | None]:
        """Components of the rows (list over the views), beside the columns if these are few."""
        blocks: list[np.ndarray | None] = []
        for v, (name, fitted) in enumerate(zip(self.names, self.components, strict=True)):
            if fitted is None:
                blocks.append(None)
            elif name in self.maps:
                X = mapped.filled[name]
                components = fitted.apply(X)
                if X.shape[1] <= NARROW_VIEW_COLUMNS:
                    components = np.hstack([components, X.toarray() if sp.issparse(X) else X])
                blocks.append(components)
            else:
                assert self.reference_set is not None  # set together with the components
                rows = np.flatnonzero(data.present[:, v])
                block = np.zeros((len(data), fitted.width))
                if len(rows):
                    view = self.reference_set.views[v]
                    block[rows] = fitted.apply(_base_kernel(view, view.distances(data[rows])))
                blocks.append(block)
        return blocks

    def left_out_components_of(
        self, mapped: Mapped, data: MultiViewData, folds: np.ndarray
    ) -> list[np.ndarray | None]:
        """The same of the training rows, each by directions found without its fold."""
        blocks = self.components_of(mapped, data)
        if len(data) > MAX_LEFT_OUT_ROWS:
            return blocks
        assert self.reference_set is not None  # set together with the components
        for v, (name, fitted) in enumerate(zip(self.names, self.components, strict=True)):
            rows = np.flatnonzero(data.present[:, v])
            block = blocks[v]
            if fitted is None or block is None or len(np.unique(folds[rows])) < 2:
                continue
            if name not in self.maps:
                view = self.reference_set.views[v]
                gram = _base_kernel(view, view.own_distances())
            elif self.maps[name].width > fitted.width:
                X = mapped.filled[name][rows]
                gram = np.asarray(dense(X @ X.T), dtype=np.float64)
            else:  # all directions there are, whatever the rows
                continue
            own = block[rows, : fitted.width]
            block[rows, : fitted.width] = left_out_components(gram, own, folds[rows], fitted)
        return blocks


def _fit_components_of(view: ReferenceView) -> Components | None:
    """Components of a view; None if its rows are too few or do not differ."""
    if view.rows is not None:
        fitted = fit_components(view.rows) if view.rows.shape[0] > 1 else None
    elif view.own is not None and len(view.own) > 1:
        fitted = fit_kernel_components(_base_kernel(view, view.own_distances()))
    else:
        fitted = None
    return fitted if fitted is not None and fitted.width else None


def _base_kernel(view: ReferenceView, D: np.ndarray) -> np.ndarray:
    return 1.0 - D if view.kind == "kernel" else np.exp(-D)


def _apply_map(view_map: ViewMap, X: Any, dtype: type) -> Any:
    """Mapped rows; in single precision after the map, since columns far from 0 need more digits."""
    if dtype == np.float64 or view_map.sparse:
        return view_map.apply(X, dtype)
    out = np.empty((X.shape[0], view_map.width), dtype=dtype)
    n_rows = max(1, CHUNK_CELLS // max(X.shape[1], 1))
    for start in range(0, len(out), n_rows):
        rows = slice(start, start + n_rows)
        out[rows] = view_map.apply(X[rows])
    return out


def _as_common_dtype(view: Any) -> Any:
    """The view, as float64 if SciPy has no sparse matrices or sums of its dtype.

    Those are half and extended precision, and floats in another byte order.
    """
    is_common = view.dtype.isnative and view.dtype.char in COMMON_DTYPES
    return view if is_common else view.astype(np.float64)


def _only_present(view: Any, is_present: np.ndarray) -> Any:
    """The view with zeros in the rows that lack it, whatever is stored there."""
    if is_present.all():
        return view
    return storage.fill_rows(view, ~is_present, np.zeros(view.shape[1]))


def fit_columns(
    data: MultiViewData,
    weight: np.ndarray,
    mixed: Collection[str] = (),
    run: Map = map,
) -> tuple[Columns, Mapped]:
    """Return maps fitted on the rows that have each view, and the mapped training rows.

    ``mixed`` are views that were tables with categories and with numbers: they are no histograms,
    however many zeros their indicators have. ``run`` is ``map``, or the same on threads.
    """
    dtype = np.float64 if data.shape[0] * data.shape[1] <= FLOAT64_MAX_CELLS else np.float32

    def fit_view(name: str) -> ViewMap:
        rows = np.flatnonzero(data.present[:, data.view_names.index(name)])
        view = _as_common_dtype(data[name])
        view = sp.csr_array(view) if sp.issparse(view) else view
        return fit_view_map(view[rows], weight[rows], may_be_histogram=name not in mixed)

    names = [name for name, kind in data.kinds.items() if kind == "features"]
    columns = Columns(data.view_names, dict(zip(names, run(fit_view, names), strict=True)), dtype)
    return columns, columns.apply(data, run)
