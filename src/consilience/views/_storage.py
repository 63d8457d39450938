"""Operations on a single view: ndarray, CSR, dataframe (through narwhals) or array of documents.

An ndarray may have more than two dimensions (images, time series): the first one is the samples.

This is the only module that distinguishes between these types of storage.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from consilience.views._sparse import validate_sparse

__all__ = [
    "Rows",
    "check_two_dimensional",
    "column_names",
    "column_to_numeric",
    "describe",
    "fill_rows",
    "first_non_finite",
    "format_list",
    "is_dataframe",
    "is_documents",
    "is_lazy",
    "is_nan",
    "is_tensor",
    "missing_rows",
    "n_columns",
    "n_rows",
    "sample_shape",
    "take_columns",
    "take_rows",
    "to_numeric",
    "validate_view",
    "with_index_of",
]

Rows: TypeAlias = slice | np.ndarray


def is_dataframe(view: Any) -> bool:
    """Return True for an eager dataframe supported by narwhals (pandas, polars, pyarrow, ...)."""
    return nw.dependencies.is_into_dataframe(view)


def is_documents(view: Any) -> bool:
    """Return True for a 1-D array of raw strings, the input of a text vectoriser."""
    return isinstance(view, np.ndarray) and view.ndim == 1


def is_tensor(view: Any) -> bool:
    """Return True for an array of three or more dimensions, such as images or time series."""
    return isinstance(view, np.ndarray) and view.ndim > 2


def is_lazy(view: Any) -> bool:
    """Return True for a dask array, without importing dask."""
    loaded = sys.modules.get("dask.array")
    return loaded is not None and isinstance(view, loaded.Array)


def format_list(values: Iterable[Any], limit: int = 5) -> str:
    """Format the first few values for an error message: ``1, 2, 3, ...``."""
    items = list(values)
    text = ", ".join(repr(getattr(v, "item", lambda v=v: v)()) for v in items[:limit])
    return text + (", ..." if len(items) > limit else "")


def validate_view(value: Any, name: str) -> Any:
    """Validate one view without copying it: ndarray (n, d, ...), CSR, dataframe or documents."""
    if sp.issparse(value):
        if value.ndim != 2:
            raise ValueError(f"view {name!r} must be two-dimensional, got shape {value.shape}")
        return validate_sparse(value, name)
    if is_dataframe(value):
        _check_unique_columns(value, name)
        return value
    if is_lazy(value):
        return value
    if isinstance(value, np.matrix):
        raise TypeError(f"view {name!r} is a np.matrix; convert it with np.asarray")
    if isinstance(value, np.ma.MaskedArray):
        if value.dtype.kind != "f":
            raise TypeError(
                f"view {name!r} is a masked array of {value.dtype}; only float is supported"
            )
        return value.filled(np.nan)
    if nw.dependencies.is_into_series(value):
        value = nw.from_native(value, series_only=True).to_numpy()
    if hasattr(value, "collect_schema"):
        raise TypeError(f"view {name!r} is a lazy frame; collect() it first")
    try:
        array = value if isinstance(value, np.ndarray) else np.asarray(value)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"view {name!r} is not a matrix: {error}") from error
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: view {name!r} has dtype {array.dtype}")
    if array.dtype.kind in "mM":
        raise ValueError(f"view {name!r} has dates or durations; convert them to numbers")
    if array.ndim == 1 and _holds_documents(array):
        return array
    if array.ndim < 2:
        advice = "; use reshape(-1, 1) for a single column" if array.ndim == 1 else ""
        raise ValueError(f"view {name!r} must be two-dimensional, got shape {array.shape}{advice}")
    if array.ndim > 2 and array.dtype.kind not in "biuf":
        raise ValueError(
            f"view {name!r} of shape {array.shape} must contain numbers, got dtype {array.dtype}"
        )
    return array


def _check_unique_columns(frame: Any, name: str) -> None:
    # pyarrow has its names elsewhere
    names = list(getattr(frame, "column_names", getattr(frame, "columns", ())))
    if getattr(getattr(frame, "columns", None), "nlevels", 1) > 1:
        raise ValueError(
            f"view {name!r} has columns with names of several levels, such as {names[0]!r}; make "
            "one name of each, e.g. by frame.columns = frame.columns.map('_'.join)"
        )
    duplicates = [column for column, count in Counter(names).items() if count > 1]
    if duplicates:
        raise ValueError(f"view {name!r} has duplicate column names: {format_list(duplicates)}")


def _holds_documents(array: np.ndarray) -> bool:
    """Return True if all values are strings, or None or NaN for missing documents."""
    if array.dtype.kind == "U":
        return len(array) > 0
    is_text = [isinstance(v, str) for v in array]
    return any(is_text) and all(t or _is_null(v) for t, v in zip(is_text, array, strict=True))


def _is_null(value: Any) -> bool:
    # other objects, such as arrays, are no documents
    return value is None or (isinstance(value, numbers.Number) and value != value)


def is_nan(value: Any) -> bool:
    """Whether a label is NaN, or pandas' NA, which is neither equal to itself nor different."""
    try:
        return bool(value != value)
    except TypeError:
        return True


def n_rows(view: Any) -> int:
    """Number of samples."""
    return int(view.shape[0])


def n_columns(view: Any) -> int:
    """Number of values of each sample; documents count as one column."""
    return math.prod(sample_shape(view))


def sample_shape(view: Any) -> tuple[int, ...]:
    """Shape of one sample: ``(n_columns,)``, or more dimensions for images and time series."""
    return (1,) if is_documents(view) else tuple(map(int, view.shape[1:]))


def column_names(view: Any) -> list[str] | None:
    """Column names of a dataframe; None for other storage."""
    return list(nw.from_native(view).columns) if is_dataframe(view) else None


def describe(view: Any) -> str:
    """Short description of the storage: ``float64``, ``CSR float32``, ``polars``."""
    if is_dataframe(view):
        return nw.get_native_namespace(view).__name__
    if is_documents(view):
        return "documents"
    if is_lazy(view):
        return f"dask {view.dtype}"
    return f"CSR {view.dtype}" if sp.issparse(view) else str(view.dtype)


def take_rows(view: Any, rows: Rows) -> Any:
    """Select rows of the view; a slice of an ndarray is not copied."""
    if is_dataframe(view):
        frame = nw.from_native(view, eager_only=True)
        if isinstance(rows, slice) and rows.step not in (None, 1):
            rows = np.arange(len(frame))[rows]  # Arrow has no slices with a step
        return frame[rows if isinstance(rows, slice) else rows.tolist()].to_native()
    return view[rows]


def with_index_of(view: Any, original: Any) -> Any:
    """Give rows from elsewhere the row labels of a dataframe whose rows they replace."""
    index = getattr(original, "index", None)
    return view.set_axis(index, axis=0) if hasattr(index, "get_indexer") else view


def take_columns(view: Any, columns: Rows) -> Any:
    """Select columns of the view; a slice of an ndarray is not copied."""
    if is_dataframe(view):
        frame = nw.from_native(view, eager_only=True)
        indices = np.arange(frame.shape[1])[columns].tolist()
        return frame[:, indices].to_native()
    return view[:, columns]


def missing_rows(view: Any) -> np.ndarray:
    """Mask of the rows in which all values are NaN (null).

    Only rows with NaN in the first column are read entirely.
    """
    n, d = n_rows(view), n_columns(view)
    absent = np.zeros(n, dtype=bool)
    if d == 0 or n == 0:
        return absent
    if is_dataframe(view):
        absent[:] = _null_cells(take_columns(view, slice(0, 1)))[:, 0]
        suspects = np.flatnonzero(absent)
        if len(suspects):
            absent[suspects] = _null_cells(take_rows(view, suspects)).all(axis=1)
    elif is_documents(view):
        absent[:] = [_is_null(v) for v in view]
    elif sp.issparse(view):
        if view.dtype.kind == "f":
            for row in np.flatnonzero(np.diff(view.indptr) == d):
                absent[row] = np.isnan(view.data[view.indptr[row] : view.indptr[row + 1]]).all()
    elif view.dtype.kind == "f" and view.ndim >= 2:
        absent[:] = np.isnan(view[(slice(None), *[0] * (view.ndim - 1))])
        suspects = np.flatnonzero(absent)
        absent[suspects] = np.isnan(view[suspects]).all(axis=tuple(range(1, view.ndim)))
    elif view.dtype.kind == "O" and view.ndim == 2:
        absent[:] = [all(_is_null(v) for v in row) for row in view]
    return absent


def _null_cells(view: Any) -> np.ndarray:
    """Mask of the cells of a dataframe that are null or NaN."""
    frame = nw.from_native(view, eager_only=True)
    nulls = frame.select(nw.all().is_null()).to_numpy().astype(bool)
    is_float = [dtype.is_float() for dtype in frame.schema.values()]
    names = [name for name, own in zip(frame.columns, is_float, strict=True) if own]
    if names:
        nans = frame.select(nw.col(*names).is_nan().fill_null(False)).to_numpy()
        nulls[:, is_float] |= nans.astype(bool)
    return nulls


def to_numeric(view: Any, name: str) -> Any:
    """Convert the view to a numeric ndarray or CSR matrix; errors name non-numeric columns."""
    if is_documents(view):
        raise TypeError(
            f"view {name!r} contains raw text; convert it to numbers first, "
            f"e.g. with ViewTransformer({{{name!r}: TfidfVectorizer()}})"
        )
    check_two_dimensional(view, name)
    if is_dataframe(view):
        return _frame_to_numeric(view, name)
    if view.dtype.kind in "biuf":
        return view
    if sp.issparse(view):
        raise TypeError(f"view {name!r} has dtype {view.dtype}, expected numbers")
    try:
        return np.asarray(view, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(
            f"view {name!r} has dtype {view.dtype} and cannot be converted to numbers ({error}); "
            "encode it first, e.g. with a ViewTransformer"
        ) from None


def check_two_dimensional(view: Any, name: str) -> None:
    """Raise an error for an array of three or more dimensions."""
    if is_tensor(view):
        raise ValueError(
            f"view {name!r} of shape {view.shape} has {view.ndim} dimensions, but two are "
            f"required here; reshape it to {(len(view), n_columns(view))}, or flatten it in a "
            f"pipeline with ViewTransformer({{{name!r}: FunctionTransformer(flatten)}}, "
            "remainder='passthrough') and consilience.views.flatten"
        )


def _frame_to_numeric(view: Any, name: str) -> np.ndarray:
    frame = nw.from_native(view, eager_only=True)
    schema = frame.schema
    if all(dtype.is_numeric() for dtype in schema.values()):
        values = frame.to_numpy()
        if values.dtype.kind in "biuf":
            return values
    out, non_numeric = np.empty(frame.shape), []
    for j, (column, dtype) in enumerate(schema.items()):
        values = column_to_numeric(frame[:, j], dtype)
        if values is None:
            non_numeric.append(column)
        else:
            out[:, j] = values
    if non_numeric:
        raise ValueError(
            f"view {name!r} has non-numeric columns: {format_list(non_numeric)}; encode them "
            f"first, e.g. with ViewTransformer({{{name!r}: OneHotEncoder()}})"
        )
    return out


def column_to_numeric(column: nw.Series, dtype: Any) -> np.ndarray | None:
    """Convert a column to floats; return None if it is not numeric."""
    if dtype.is_numeric() or dtype == nw.Boolean():
        return column.cast(nw.Float64()).to_numpy()
    if dtype in (nw.String, nw.Categorical, nw.Enum) or dtype.is_temporal():
        return None  # categories that are numbers are categories, since the user says so
    values = column.to_numpy()  # may be numbers in an object or sparse column
    if values.dtype.kind == "O":
        # empty cells may be None, NaN, NaT or pandas' NA; databases return Decimal
        is_known = ~column.is_null().to_numpy().astype(bool)
        if not all(isinstance(v, (numbers.Real, Decimal)) for v in values[is_known]):
            return None
        values = np.where(is_known, values, np.nan).astype(np.float64)
    return values.astype(np.float64) if values.dtype.kind in "biuf" else None


def first_non_finite(
    view: Any, rows: np.ndarray, allow_nan: bool = False
) -> tuple[int, int, float] | None:
    """Row, column and value of the first NaN or inf among ``rows`` (a mask) of a numeric view."""
    if view.dtype.kind != "f":
        return None
    is_invalid = np.isinf if allow_nan else _is_non_finite
    values = view.data if sp.issparse(view) else view
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):  # one pass without a temporary array
            return None
    if sp.issparse(view):
        entries = np.flatnonzero(is_invalid(view.data))
        entry_rows = np.searchsorted(view.indptr, entries, side="right") - 1
        entries, entry_rows = entries[rows[entry_rows]], entry_rows[rows[entry_rows]]
        if len(entries) == 0:
            return None
        return int(entry_rows[0]), int(view.indices[entries[0]]), float(view.data[entries[0]])
    cells = np.argwhere(is_invalid(view) & rows[:, None])
    if len(cells) == 0:
        return None
    row, column = cells[0]
    return int(row), int(column), float(view[row, column])


def _is_non_finite(values: np.ndarray) -> np.ndarray:
    return ~np.isfinite(values)


def fill_rows(view: Any, rows: np.ndarray, values: np.ndarray) -> Any:
    """Copy a numeric view and replace the rows of a mask by ``values`` (one row)."""
    dtype = np.result_type(view.dtype, np.float32)
    if not sp.issparse(view):
        filled = view.astype(dtype, copy=True)
        filled[rows] = values
        return filled
    other_rows = sp.csr_array(view, dtype=dtype, copy=True)
    other_rows.data[np.repeat(rows, np.diff(other_rows.indptr))] = 0
    mask = sp.csr_array(rows[:, None].astype(dtype))
    return (other_rows + mask @ sp.csr_array(values.reshape(1, -1).astype(dtype))).tocsr()
