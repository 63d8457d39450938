"""Views that are dask arrays, chunked into the same blocks of rows.

dask is not imported here: if a view is a dask array, it has been imported already.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import numpy as np

from consilience.views import _storage as storage

__all__ = ["align_blocks", "chunk_rows", "compute", "lazy_present", "row_numbers"]


def align_blocks(views: Mapping[str, Any]) -> dict[str, Any]:
    """Rechunk all views to the row chunks of the first dask array, with a single column chunk."""
    chunks: Any = None
    for name, view in views.items():
        if len(view.shape) > 2:
            raise ValueError(
                f"view {name!r} must be two-dimensional beside or as a dask array, got shape "
                f"{view.shape}"
            )
        if storage.is_lazy(view):
            _check_chunked(view, name)
            chunks = view.chunks[0] if chunks is None else chunks
    return {name: chunk_rows(view, chunks, name) for name, view in views.items()}


def _check_chunked(view: Any, name: str) -> None:
    if view.ndim != 2:
        raise ValueError(f"view {name!r} must be two-dimensional, got shape {view.shape}")
    if any(size != size for sizes in view.chunks for size in sizes):
        raise ValueError(
            f"view {name!r} is a dask array with chunks of unknown size; call its "
            "compute_chunk_sizes() first"
        )
    if view.dtype.kind not in "biuf":
        raise ValueError(f"view {name!r} is a dask array of dtype {view.dtype}, expected numbers")


def chunk_rows(values: Any, row_chunks: tuple[int, ...], name: str) -> Any:
    """Convert an array to a dask array with these chunks of rows and one chunk of columns."""
    if len(values.shape) > 1 and values.shape[0] != sum(row_chunks):
        return values  # the container raises the error about different lengths
    chunks = (row_chunks, *((size,) for size in values.shape[1:]))
    if storage.is_lazy(values):
        return values if values.chunks == chunks else values.rechunk(chunks)
    if storage.is_dataframe(values):
        values = storage.to_numeric(values, name)
    return sys.modules["dask.array"].from_array(values, chunks=chunks)


def lazy_present(views: Mapping[str, Any], present: Any) -> Any:
    """Return the mask of present views as a dask array; rows of NaN are missing by default."""
    chunks = next(iter(views.values())).chunks[0]
    if present is not None:
        shape = (sum(chunks), len(views))
        if tuple(np.shape(present)) != shape:
            raise ValueError(
                f"present must have shape (n_samples, n_views) = {shape}, got {np.shape(present)}"
            )
        present = present if storage.is_lazy(present) else np.asarray(present)
        if present.dtype != bool:
            raise TypeError(f"present must be a bool array, got dtype {present.dtype}")
        return chunk_rows(present, chunks, "present")
    # a key of its own: graphs that are optimised in different ways must not share one
    return sys.modules["dask.array"].map_blocks(
        _present_rows,
        *views.values(),
        name=f"present-rows-{uuid4()}",
        chunks=(chunks, (len(views),)),
        meta=np.empty((0, 0), dtype=bool),
    )


def _present_rows(*blocks: Any) -> np.ndarray:
    return np.column_stack([~storage.missing_rows(block) for block in blocks])


def row_numbers(present: Any) -> Any:
    """Return 0, 1, … as a dask array with the row chunks of ``present``."""
    return sys.modules["dask.array"].arange(len(present), chunks=(present.chunks[0],))


def compute(data: Any) -> Any:
    """Load all dask arrays of a container into memory in a single computation."""
    parts = (dict(data.items()), data.present, data.sample_ids, data.groups)
    views, present, ids, groups = sys.modules["dask"].compute(*parts)
    views = {name: storage.validate_view(view, name) for name, view in views.items()}
    return data._from_parts(views, data.kinds, present, ids, None, groups, data._ids_are_labels)
