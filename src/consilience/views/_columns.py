"""``views=`` on two-dimensional input: which columns make up which view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from consilience.views._storage import format_list

__all__ = ["column_groups", "default_names", "is_name_list"]


def default_names(n_views: int) -> list[str]:
    """Return default names for unnamed views: view0, view1, ..."""
    return [f"view{v}" for v in range(n_views)]


def is_name_list(views: Any) -> bool:
    """Return True for a sequence of strings, which selects views by name."""
    if isinstance(views, (str, Mapping)) or not hasattr(views, "__len__"):
        return False
    return len(views) > 0 and all(isinstance(name, str) for name in views)


def column_groups(
    views: Any, n_features: int, names: Sequence[str] | None
) -> dict[str, slice | np.ndarray]:
    """Resolve ``views=`` for a matrix of ``n_features`` columns.

    Parameters
    ----------
    views : None, list of int, list or dict of (slice, int array, column names)
        None means a single view; a list of ints gives the widths of adjacent views.
    n_features : int
        Number of columns of X.
    names : list of str or None
        Column names of X, if it has any.

    Returns
    -------
    dict of view name -> slice or int array
        Contiguous groups are returned as slices, which select columns without a copy.
    """
    if views is None:
        return {"view0": slice(0, n_features)}
    if is_name_list(views):
        raise ValueError(
            f"views={list(views)} selects views by name, but X is one matrix; give groups of "
            "columns, e.g. views={'a': slice(0, 3), 'b': slice(3, None)}"
        )
    if isinstance(views, Mapping):
        groups = dict(views)
        if groups and all(_is_int(width) for width in groups.values()):
            slices = _adjacent_slices([int(width) for width in groups.values()], n_features)
            groups = dict(zip(groups, slices.values(), strict=True))
    elif isinstance(views, (str, slice)) or not hasattr(views, "__len__"):
        raise TypeError(
            "views must be None, a list of widths, or a list or dict of slices, column indices or "
            f"column names; got {views!r}"
        )
    elif len(views) and all(_is_int(width) for width in views):
        groups = _adjacent_slices([int(width) for width in views], n_features)
    else:
        groups = dict(zip(default_names(len(views)), views, strict=True))
    if not groups:
        raise ValueError("views must contain at least one view, got an empty collection")
    for name in groups:
        if not isinstance(name, str):
            raise TypeError(f"view names must be strings, got {name!r}")
    columns = {
        name: _column_indices(name, group, n_features, names) for name, group in groups.items()
    }
    _check_disjoint(columns)
    return {name: _as_slice(indices) for name, indices in columns.items()}


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def _adjacent_slices(widths: list[int], n_features: int) -> dict[str, slice]:
    if min(widths) < 1:
        raise ValueError(f"views={widths}: every view needs at least one column")
    if sum(widths) != n_features:
        raise ValueError(
            f"views={widths} adds up to {sum(widths)} columns, but X has n_features = {n_features}"
        )
    ends = np.cumsum(widths).tolist()
    starts = [end - width for end, width in zip(ends, widths, strict=True)]
    slices = [slice(start, end) for start, end in zip(starts, ends, strict=True)]
    return dict(zip(default_names(len(widths)), slices, strict=True))


def _column_indices(
    name: str, group: Any, n_features: int, names: Sequence[str] | None
) -> np.ndarray:
    if isinstance(group, slice):
        indices = np.arange(n_features)[group]
    else:
        columns = np.asarray(group)
        if columns.ndim != 1:
            raise TypeError(
                f"view {name!r} must be a slice or a list of columns, got {group!r}; give a "
                "single column as a list of one element"
            )
        if (
            columns.dtype.kind in "UO"
            and columns.size
            and all(isinstance(column, str) for column in columns)
        ):
            indices = _indices_of_names(name, columns.tolist(), names)
        elif columns.dtype == bool and columns.shape == (n_features,):
            indices = np.flatnonzero(columns)
        elif columns.dtype.kind in "iu" or columns.size == 0:
            indices = columns.astype(np.intp)
        else:
            raise TypeError(
                f"view {name!r} must be a slice or a list of column indices or names, got {group!r}"
            )
    if len(indices) == 0:
        raise ValueError(
            f"view {name!r} ({group!r}) selects no column of X (n_features = {n_features})"
        )
    out_of_range = indices[(indices >= n_features) | (indices < -n_features)]
    if len(out_of_range):
        raise ValueError(
            f"view {name!r} contains column {out_of_range[0]}, but X has n_features = {n_features}"
        )
    return indices % n_features


def _indices_of_names(view: str, columns: list[str], names: Sequence[str] | None) -> np.ndarray:
    if names is None:
        raise ValueError(
            f"view {view!r} refers to columns by name, but X has no column names; pass a dataframe "
            "(if an earlier step dropped them, set_output(transform='pandas') keeps them)"
        )
    index_of = {column: j for j, column in enumerate(names)}
    unknown = [column for column in columns if column not in index_of]
    if unknown:
        raise ValueError(
            f"view {view!r} refers to columns that X does not have: {format_list(unknown)}"
        )
    return np.array([index_of[column] for column in columns], dtype=np.intp)


def _check_disjoint(columns: Mapping[str, np.ndarray]) -> None:
    owner: dict[int, str] = {}
    for name, indices in columns.items():
        for column in indices.tolist():
            if column in owner:
                raise ValueError(
                    f"views overlap: column {column} is in both {owner[column]!r} and {name!r}"
                    if owner[column] != name
                    else f"view {name!r} contains column {column} twice"
                )
            owner[column] = name


def _as_slice(indices: np.ndarray) -> slice | np.ndarray:
    first = int(indices[0])
    if np.array_equal(indices, np.arange(first, first + len(indices))):
        return slice(first, first + len(indices))
    return indices
