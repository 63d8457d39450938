"""``views=`` on two-dimensional input: which columns make up which view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from consilience.views._storage import format_list

__all__ = ["column_groups", "default_names", "is_name_list"]


def default_names(n_views: int) -> list[str]:
    """Names of views that came without: view0, view1, ..."""
    return [f"view{v}" for v in range(n_views)]


def is_name_list(views: Any) -> bool:
    """True for a sequence of strings: names to select from a container."""
    if isinstance(views, (str, Mapping)) or not hasattr(views, "__len__"):
        return False
    return len(views) > 0 and all(isinstance(name, str) for name in views)


def column_groups(
    views: Any, n_features: int, names: Sequence[str] | None
) -> dict[str, slice | np.ndarray]:
    """Resolve ``views=`` for a matrix of ``n_features`` columns, named ``names`` if it has names.

    Parameters
    ----------
    views : None, list of int, list or dict of (slice, int array, column names)
        None is one view; a list of ints gives the widths of views that lie side by side.
    n_features : int
        Number of columns of X.
    names : list of str or None
        Column names of X.

    Returns
    -------
    dict of view name -> slice or int array
        Contiguous groups become slices, which cost nothing to take.
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
            slices = _side_by_side([int(width) for width in groups.values()], n_features)
            groups = dict(zip(groups, slices.values(), strict=True))
    elif isinstance(views, (str, slice)) or not hasattr(views, "__len__"):
        raise TypeError(
            "views must be None, a list of widths, or a list or dict of slices, column numbers or "
            f"column names; got {views!r}"
        )
    elif len(views) and all(_is_int(width) for width in views):
        groups = _side_by_side([int(width) for width in views], n_features)
    else:
        groups = dict(zip(default_names(len(views)), views, strict=True))
    if not groups:
        raise ValueError("views is empty: at least one view is needed")
    for name in groups:
        if not isinstance(name, str):
            raise TypeError(f"view names must be strings, got {name!r}")
    columns = {
        name: _column_numbers(name, group, n_features, names) for name, group in groups.items()
    }
    _check_disjoint(columns, n_features)
    return {name: _as_slice(numbers) for name, numbers in columns.items()}


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def _side_by_side(widths: list[int], n_features: int) -> dict[str, slice]:
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


def _column_numbers(
    name: str, group: Any, n_features: int, names: Sequence[str] | None
) -> np.ndarray:
    if isinstance(group, slice):
        numbers = np.arange(n_features)[group]
    else:
        given = np.asarray(group)
        if given.ndim != 1:
            raise TypeError(
                f"view {name!r} must be a slice or a list of columns, got {group!r}; a single "
                "column is a list of one"
            )
        if (
            given.dtype.kind in "UO"
            and given.size
            and all(isinstance(column, str) for column in given)
        ):
            numbers = _numbers_of_names(name, given.tolist(), names)
        elif given.dtype == bool and given.shape == (n_features,):
            numbers = np.flatnonzero(given)
        elif given.dtype.kind in "iu" or given.size == 0:
            numbers = given.astype(np.intp)
        else:
            raise TypeError(
                f"view {name!r} must be a slice or a list of column numbers or names, got {group!r}"
            )
    if numbers.ndim != 1 or len(numbers) == 0:
        raise ValueError(
            f"view {name!r} ({group!r}) has no column of X (n_features = {n_features})"
        )
    outside = numbers[(numbers >= n_features) | (numbers < -n_features)]
    if len(outside):
        raise ValueError(
            f"view {name!r} asks for column {outside[0]}, but X has n_features = {n_features}"
        )
    return numbers % n_features


def _numbers_of_names(view: str, wanted: list[str], names: Sequence[str] | None) -> np.ndarray:
    if names is None:
        raise ValueError(
            f"view {view!r} names its columns, but X has no column names; pass a dataframe "
            "(a step before may have dropped them: set_output(transform='pandas') keeps them)"
        )
    where = {column: j for j, column in enumerate(names)}
    unknown = [column for column in wanted if column not in where]
    if unknown:
        raise ValueError(
            f"view {view!r} names columns that X does not have: {format_list(unknown)}"
        )
    return np.array([where[column] for column in wanted], dtype=np.intp)


def _check_disjoint(columns: Mapping[str, np.ndarray], n_features: int) -> None:
    owner: dict[int, str] = {}
    for name, numbers in columns.items():
        for column in numbers.tolist():
            if column in owner:
                raise ValueError(
                    f"views overlap: column {column} is in {owner[column]!r} and in {name!r}"
                    if owner[column] != name
                    else f"view {name!r} has column {column} twice"
                )
            owner[column] = name


def _as_slice(numbers: np.ndarray) -> slice | np.ndarray:
    first = int(numbers[0])
    if np.array_equal(numbers, np.arange(first, first + len(numbers))):
        return slice(first, first + len(numbers))
    return numbers
