"""Validation of sparse matrices where data enter, before compiled code reads them.

SciPy stores a sparse matrix as plain arrays that anyone can change, and its compiled routines (as
those of scikit-learn and of this package) trust them: an index beyond the shape reads or writes
foreign memory. ``validate_sparse`` reads every index once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import numpy as np

__all__ = ["validate_sparse"]

MAX_SHORT_INDEX = np.iinfo(np.int32).max
# what reading attributes of any type may raise
ATTRIBUTE_ERRORS = (AttributeError, TypeError, ValueError, IndexError, KeyError, OverflowError)


def validate_sparse(matrix: Any, name: str) -> Any:
    """Return a sparse matrix as valid CSR with sorted, unique indices, of 32 bits if possible.

    A matrix that is so already is not copied. Any other error is a ValueError that names the view.
    """
    try:
        _check_shape(matrix.shape)
        CHECKS[matrix.format](matrix)
        return _to_canonical(matrix.tocsr())
    except ATTRIBUTE_ERRORS as error:
        raise ValueError(f"view {name!r} is not a valid sparse matrix: {error}") from None


# -- checks of each format -----------------------------------------------------------------------


def _check_shape(shape: Any) -> None:
    if len(shape) != 2 or not all(isinstance(n, (int, np.integer)) and n >= 0 for n in shape):
        raise ValueError(f"it must be two-dimensional, got shape {shape}")


def _check_array(array: Any, title: str, *, kinds: str | None = "iu", ndim: int = 1) -> None:
    if not isinstance(array, np.ndarray) or array.ndim != ndim:
        raise ValueError(f"{title} must be an array of {ndim} dimensions")
    if kinds is not None and array.dtype.kind not in kinds:
        raise ValueError(f"{title} must be integers, got {array.dtype}")


def _check_range(indices: np.ndarray, length: int, title: str) -> None:
    """Check that all indices are in [0, length)."""
    if len(indices) == 0:
        return
    if indices.dtype.kind == "i" and indices.dtype.isnative:
        # negative numbers become the largest unsigned ones, so that one pass suffices
        is_outside = indices.view(f"u{indices.dtype.itemsize}").max() >= length
    else:
        is_outside = indices.min() < 0 or indices.max() >= length
    if is_outside:
        raise ValueError(
            f"{title} must be between 0 and {length - 1}, got {indices.min()} to {indices.max()}"
        )


def _check_indptr(indptr: Any, n_parts: int, n_stored: int) -> None:
    _check_array(indptr, "indptr")
    if len(indptr) != n_parts + 1:
        raise ValueError(f"indptr has {len(indptr)} entries instead of {n_parts + 1}")
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("indptr must start at 0 and never decrease")
    if indptr[-1] > n_stored:
        raise ValueError(f"indptr ends at {indptr[-1]}, but {n_stored} values are stored")


def _check_compressed(matrix: Any) -> None:
    """Check CSR, CSC and BSR matrices."""
    block_shape = (1, 1)
    n_dimensions = 1
    if matrix.format == "bsr":
        block_shape, n_dimensions = matrix.data.shape[1:], 3
        if min(block_shape) < 1 or any(np.mod(matrix.shape, block_shape)):
            raise ValueError(f"blocks of {block_shape} do not divide the shape {matrix.shape}")
    _check_array(matrix.data, "data", kinds=None, ndim=n_dimensions)
    _check_array(matrix.indices, "indices")
    if len(matrix.data) != len(matrix.indices):
        raise ValueError(f"it has {len(matrix.data)} values for {len(matrix.indices)} indices")
    n_rows, n_columns = (int(n) // b for n, b in zip(matrix.shape, block_shape, strict=True))
    n_parts, length = (n_columns, n_rows) if matrix.format == "csc" else (n_rows, n_columns)
    _check_indptr(matrix.indptr, n_parts, len(matrix.indices))
    title = "row indices" if matrix.format == "csc" else "column indices"
    _check_range(matrix.indices[: matrix.indptr[-1]], length, title)


def _check_coo(matrix: Any) -> None:
    _check_array(matrix.data, "data", kinds=None)
    # SciPy 1.12 has no coords
    coords = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
    if len(coords) != 2:
        raise ValueError(f"coords has {len(coords)} arrays instead of 2")
    for indices, length, axis in zip(coords, matrix.shape, ("row", "column"), strict=True):
        _check_array(indices, f"{axis} indices")
        if len(indices) != len(matrix.data):
            raise ValueError(f"it has {len(matrix.data)} values for {len(indices)} {axis} indices")
        _check_range(indices, length, f"{axis} indices")


def _check_dia(matrix: Any) -> None:
    _check_array(matrix.data, "data", kinds=None, ndim=2)
    _check_array(matrix.offsets, "offsets")
    if len(matrix.offsets) != len(matrix.data):
        raise ValueError(f"it has {len(matrix.data)} diagonals for {len(matrix.offsets)} offsets")
    if len(np.unique(matrix.offsets)) < len(matrix.offsets):
        raise ValueError("an offset is given twice")
    n_rows, n_columns = matrix.shape
    if ((matrix.offsets <= -n_rows) | (matrix.offsets >= n_columns)).any():
        raise ValueError(f"an offset is outside of the shape {matrix.shape}")


def _check_lil(matrix: Any) -> None:
    rows, values = matrix.rows, matrix.data
    for array, title in ((rows, "rows"), (values, "data")):
        _check_array(array, title, kinds=None)
        if len(array) != matrix.shape[0] or not all(isinstance(row, list) for row in array):
            raise ValueError(f"{title} must have a list for each of the {matrix.shape[0]} rows")
    if any(len(i) != len(v) for i, v in zip(rows, values, strict=True)):
        raise ValueError("a row has different numbers of column indices and values")
    _check_range(_flatten(rows), matrix.shape[1], "column indices")


def _check_dok(matrix: Any) -> None:
    # NumPy 1.26 would let a number beyond the dtype wrap around
    indices = _flatten(matrix.keys()).reshape(-1, 2)
    for axis, title in enumerate(("row indices", "column indices")):
        _check_range(indices[:, axis], matrix.shape[axis], title)


def _flatten(lists: Iterable[Iterable[int]]) -> np.ndarray:
    return np.fromiter(chain.from_iterable(lists), dtype=np.int64)


CHECKS: dict[str, Callable[[Any], None]] = {
    **dict.fromkeys(("csr", "csc", "bsr"), _check_compressed),
    "coo": _check_coo,
    "dia": _check_dia,
    "dok": _check_dok,
    "lil": _check_lil,
}


# -- canonical form ------------------------------------------------------------------------------


def _to_canonical(view: Any) -> Any:
    """Return CSR without spare room, with increasing indices in each row, 32-bit if possible.

    Trees support 32-bit indices only and count on an entry being stored once.
    """
    n_stored = int(view.indptr[-1])
    is_long = max(view.shape[1], n_stored) > MAX_SHORT_INDEX
    dtype = np.dtype(np.int64 if is_long else np.int32)
    is_increasing = _rows_increase(view.indices[:n_stored], view.indptr)
    if is_increasing and len(view.data) == n_stored and _is_plain(view, dtype):
        return view
    parts = (
        np.ascontiguousarray(view.data[:n_stored]),
        np.ascontiguousarray(view.indices[:n_stored], dtype=dtype),
        np.ascontiguousarray(view.indptr, dtype=dtype),
    )
    canonical = type(view)(parts, shape=view.shape, copy=not is_increasing)
    if not is_increasing:
        canonical.sum_duplicates()
    return canonical


def _is_plain(view: Any, dtype: np.dtype) -> bool:
    """Return whether the index arrays have this dtype and all arrays are contiguous."""
    arrays = view.data, view.indices, view.indptr
    return view.indices.dtype == view.indptr.dtype == dtype and all(
        array.flags.c_contiguous for array in arrays
    )


def _rows_increase(indices: np.ndarray, indptr: np.ndarray) -> bool:
    """Return whether the indices of each row are strictly increasing."""
    if len(indices) < 2:
        return True
    increasing = indices[1:] > indices[:-1]
    starts = indptr[1:-1]
    increasing[starts[(starts > 0) & (starts < len(indices))] - 1] = True
    return bool(increasing.all())
