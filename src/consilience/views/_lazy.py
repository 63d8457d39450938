"""Views that are dask arrays: cut into the same blocks of rows, and read only when asked to.

dask is never imported here: who holds a dask array has it loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from consilience.views import _storage as storage

__all__ = ["align_blocks", "compute", "cut_rows", "lazy_present", "row_numbers"]


def align_blocks(views: Mapping[str, Any]) -> dict[str, Any]:
    """The views with the same cuts between rows, and none between columns.

    The first lazy view sets the cuts. Views in memory are cut like it.
    """
    cuts: Any = None
    for name, view in views.items():
        if storage.is_lazy(view):
            _check(view, name)
            cuts = view.chunks[0] if cuts is None else cuts
    return {name: cut_rows(view, cuts, name) for name, view in views.items()}


def _check(view: Any, name: str) -> None:
    if view.ndim != 2:
        raise ValueError(f"view {name!r} must be two-dimensional, got shape {view.shape}")
    if any(size != size for sizes in view.chunks for size in sizes):
        raise ValueError(
            f"view {name!r} is a dask array with chunks of unknown size; call its "
            "compute_chunk_sizes() first"
        )
    if view.dtype.kind not in "biuf":
        raise ValueError(f"view {name!r} is a dask array of {view.dtype}, expected numbers")


def cut_rows(values: Any, cuts: tuple[int, ...], name: str) -> Any:
    """An array of any storage as a dask array with these blocks of rows, whole in the rest."""
    if len(values.shape) > 1 and values.shape[0] != sum(cuts):
        return values  # the container says that lengths differ
    whole = tuple((size,) for size in values.shape[1:])
    if storage.is_lazy(values):
        return values if values.chunks == (cuts, *whole) else values.rechunk((cuts, *whole))
    if storage.is_dataframe(values):
        values = storage.to_numeric(values, name)
    return sys.modules["dask.array"].from_array(values, chunks=(cuts, *whole))


def lazy_present(views: Mapping[str, Any], present: Any) -> Any:
    """Which row has which view as a dask array of bools; rows of NaN are missing by default."""
    cuts = next(iter(views.values())).chunks[0]
    if present is not None:
        shape = (sum(cuts), len(views))
        if tuple(np.shape(present)) != shape:
            raise ValueError(
                f"present must have shape (n_samples, n_views) = {shape}, got {np.shape(present)}"
            )
        present = present if storage.is_lazy(present) else np.asarray(present)
        if present.dtype != bool:
            raise TypeError(f"present must be a bool array, got dtype {present.dtype}")
        return cut_rows(present, cuts, "present")
    columns = [
        view.map_blocks(
            _present_rows, chunks=(view.chunks[0], (1,)), meta=np.empty((0, 0), dtype=bool)
        )
        for view in views.values()
    ]
    return columns[0] if len(columns) == 1 else _side_by_side(columns)


def _present_rows(block: Any) -> np.ndarray:
    return ~storage.missing_rows(block)[:, None]


def _side_by_side(columns: list[Any]) -> Any:
    joined = sys.modules["dask.array"].concatenate(columns, axis=1)
    return joined.rechunk({1: -1})


def row_numbers(present: Any) -> Any:
    """0, 1, … as a dask array, with the blocks of ``present``."""
    return sys.modules["dask.array"].arange(len(present), chunks=(present.chunks[0],))


def compute(data: Any) -> Any:
    """A container of dask arrays read into memory, all of them at once."""
    parts = (dict(data.items()), data.present, data.sample_ids)
    views, present, ids = sys.modules["dask"].compute(*parts)
    return type(data)(views, present=present, sample_ids=ids)
