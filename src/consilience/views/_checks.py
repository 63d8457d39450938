"""Validation of the constructor arguments and row indices of ``MultiViewData``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from consilience.views import _storage as storage
from consilience.views._pairwise import KINDS, check_ids

__all__ = [
    "as_dict",
    "check_groups",
    "check_kind",
    "check_known_views",
    "check_present",
    "check_rows",
    "common_length",
    "order_present",
]


def as_dict(parameter: str, value: Any) -> dict[str, Any]:
    """Return a per-view parameter as a dict; None gives an empty dict."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{parameter} must be a dict of view -> value, got {value!r}")
    return dict(value)


def check_known_views(parameter: str, value: Mapping[str, Any], views: Mapping[str, Any]) -> None:
    """Raise an error if a per-view parameter names an unknown view."""
    unknown = [name for name in value if name not in views]
    if unknown:
        raise ValueError(
            f"{parameter} names views that do not exist: {storage.format_list(unknown)}; "
            f"the views are {storage.format_list(views)}"
        )


def common_length(views: Mapping[str, Any]) -> int:
    """Return the number of rows, which must be the same in all views."""
    lengths = {name: storage.n_rows(view) for name, view in views.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r} has {n}" for name, n in lengths.items())
        raise ValueError(f"views have different numbers of rows: {listed}")
    return next(iter(lengths.values()))


def check_kind(name: str, kind: str) -> str:
    """Validate the kind of a view."""
    if kind not in KINDS:
        raise ValueError(
            f"kinds[{name!r}] must be one of {storage.format_list(KINDS)}, got {kind!r}"
        )
    return kind


def check_present(present: Any, views: Mapping[str, Any], n: int) -> np.ndarray:
    """Return a read-only mask of present views; by default rows of all NaN are missing."""
    if present is None:
        mask = np.column_stack([~storage.missing_rows(view) for view in views.values()])
    else:
        mask = np.array(present)
        if mask.dtype != bool:
            raise TypeError(f"present must be a bool array, got dtype {mask.dtype}")
        if mask.shape != (n, len(views)):
            raise ValueError(
                f"present must have shape (n_samples, n_views) = {(n, len(views))}, "
                f"got {mask.shape}"
            )
    mask.flags.writeable = False
    return mask


def order_present(present: Any, views: Mapping[str, Any]) -> Any:
    """Return the columns of a dataframe in the order of the views, which they must name.

    Columns that are numbered are taken by position.
    """
    names = storage.column_names(present)
    if names is None or not any(isinstance(name, str) for name in names):
        return present
    if set(names) != set(views):
        raise ValueError(
            "the columns of present must be named like the views, "
            f"{storage.format_list(views)}, but they are {storage.format_list(names)}"
        )
    return storage.take_columns(present, np.array([names.index(name) for name in views]))


def check_groups(groups: Any, sample_ids: Any, n: int) -> Any:
    """Return one group for each sample, or None; sample ids that are not unique are groups."""
    if groups is not None:
        return check_ids("groups", groups, n)
    if sample_ids is None or storage.is_lazy(sample_ids):
        return None
    ids = check_ids("sample_ids", sample_ids, n)
    return ids if len(set(ids.tolist())) < n else None


def check_rows(key: Any, n: int) -> storage.Rows:
    """Convert any row index to a slice or an array of non-negative row indices."""
    if isinstance(key, slice):
        return key
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        if not -n <= key < n:
            raise IndexError(f"row {key} is out of range for {n} samples")
        row = int(key) % n
        return slice(row, row + 1)
    rows = np.asarray(key)
    if rows.size == 0:
        return np.empty(0, dtype=np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "biu":
        raise TypeError(
            "rows must be selected by a slice, integers or a boolean mask, and views by name, "
            f"data['name'] or data.select([names]); got {key!r}"
        )
    if rows.dtype == bool:
        if len(rows) != n:
            raise IndexError(f"the mask has {len(rows)} entries for {n} samples")
        return np.flatnonzero(rows)
    if rows.max() >= n or rows.min() < -n:
        row = rows.max() if rows.max() >= n else rows.min()
        raise IndexError(f"row {row} is out of range for {n} samples")
    return rows.astype(np.intp) % n
