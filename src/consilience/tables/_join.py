"""Join tables, by a key or by the order of their rows, into views and labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience.tables._files import LABEL, QUERY, Table, TableError, text_column
from consilience.tables._model import TableView, align_rows, view_values
from consilience.views import MultiViewData
from consilience.views import _storage as storage
from consilience.views._storage import format_list

__all__ = ["JoinedTables", "check_order", "join_tables", "sample_rows"]

MAX_FRACTIONAL_CLASSES = 20  # more distinct fractional labels are measurements, not classes


@dataclass(frozen=True)
class JoinedTables:
    """Views, labels and groups of the samples, the columns of the views, and notes."""

    data: MultiViewData
    target: np.ndarray
    groups: np.ndarray | None
    views: dict[str, TableView]
    notes: list[str]
    missing_cells: dict[str, float]  # fraction of the cells of present rows, by view


def join_tables(
    tables: Mapping[str, Table],
    *,
    target: str,
    on: str | None = None,
    groups: str | None = None,
    views: Mapping[str, Sequence[str]] | None = None,
    categorical: Collection[str] = (),
) -> JoinedTables:
    """Join tables into views with labels.

    Parameters
    ----------
    tables : dict of name -> Table
        One view each, unless ``views`` divides the columns of a single one.
    target : str
        Column with the labels, in any of the tables.
    on : str, optional
        Key column; without it, row i of every table is sample i.
    groups : str, optional
        Column that says which samples belong together.
    views : dict of name -> columns, optional
        Views within one table.
    categorical : collection of str
        Columns whose numbers are categories.

    Returns
    -------
    JoinedTables
    """
    notes: list[str] = []
    special = {name for name in (on, target, groups) if name is not None}
    _check_names(tables, special, categorical)
    if target in (on, groups):
        raise TableError(f"--target {target} cannot be the key or the groups as well")
    if on is None:
        check_order(tables, special)
    ids, rows = sample_rows(tables, on)
    labels = _column(tables, rows, target, "--target")
    members = None if groups is None else _column(tables, rows, groups, "--groups")
    sources = _view_sources(tables, special, views, notes)
    if not sources:
        raise TableError("no file has a column besides the key, the target and the groups")
    if on is not None:
        _check_overlap(tables, sources, rows, on)
    table_views: dict[str, TableView] = {}
    values, present = {}, np.zeros((len(ids), len(sources)), dtype=bool)
    for v, (name, (source, columns)) in enumerate(sources.items()):
        table = tables[source]
        view_content, table_views[name] = _read_view(table, columns, categorical)
        _check_not_constant(view_content, name, table)
        values[name] = align_rows(view_content, rows[source])
        present[:, v] = (rows[source] >= 0) & ~storage.missing_rows(values[name])
    kept = _usable_samples(ids, present, labels, members, on, notes)
    data = MultiViewData(
        {name: storage.take_rows(view, kept) for name, view in values.items()},
        present=present[kept],
        sample_ids=np.array(ids, dtype=str)[kept] if on is not None else None,
    )
    y = _convert_labels([labels[i] for i in kept], target)
    return JoinedTables(
        data,
        y,
        None if members is None else np.array([members[i] for i in kept], dtype=str),
        table_views,
        notes,
        {name: _missing_share(data, v) for v, name in enumerate(data.view_names)},
    )


def sample_rows(
    tables: Mapping[str, Table], on: str | None
) -> tuple[list[str], dict[str, np.ndarray]]:
    """Ids of the samples, and the row of each in every table (−1 where it has none)."""
    if on is None:
        counts = {name: table.n_rows for name, table in tables.items()}
        if len(set(counts.values())) > 1:
            message = ", ".join(f"{tables[n].path} has {count}" for n, count in counts.items())
            raise TableError(
                f"the files have different numbers of rows ({message}); join them with --on"
            )
        n = next(iter(counts.values()))
        return [str(i) for i in range(n)], dict.fromkeys(tables, np.arange(n))
    keys = {name: _keys(table, on) for name, table in tables.items()}
    ids = list(dict.fromkeys(key for table_keys in keys.values() for key in table_keys))
    rows = {}
    for name, table_keys in keys.items():
        row_of_key = {key: row for row, key in enumerate(table_keys)}
        rows[name] = np.array([row_of_key.get(key, -1) for key in ids])
    return ids, rows


def check_order(tables: Mapping[str, Table], special: set[str]) -> None:
    """Check that no two files have the same keys in a different order."""
    for one, other in combinations(tables.values(), 2):
        if one.path == other.path:
            continue
        for column in set(one.columns) & set(other.columns) - special:
            first, second = text_column(one, column), text_column(other, column)
            is_key = len(set(first)) == len(first) > 1
            if is_key and first != second and set(first) == set(second):
                raise TableError(
                    f"{one.path} and {other.path} have the same {column!r} in a different order; "
                    f"join them with --on {column}"
                )


def _check_names(
    tables: Mapping[str, Table], special: set[str], categorical: Collection[str]
) -> None:
    known = {column for table in tables.values() for column in table.columns}
    for name in [*special, *categorical]:
        if name not in known:
            raise TableError(
                f"no file has a column {name!r}; the columns are "
                f"{format_list(sorted(known), limit=12)}"
            )


def _keys(table: Table, on: str) -> list[str]:
    if on not in table.columns:
        raise TableError(
            f"{table.path} has no column {on!r} to join on; it has "
            f"{format_list(table.columns, limit=12)}"
        )
    keys = text_column(table, on)
    empty = next((row for row, key in enumerate(keys, start=1) if not key), None)
    if empty is not None:
        raise TableError(f"{table.path} has no {on!r} in row {empty}")
    present_keys = [key for key in keys if key is not None]
    repeated = [key for key, count in Counter(present_keys).items() if count > 1]
    if repeated:
        raise TableError(f"{table.path} has several rows with {on!r} = {format_list(repeated)}")
    return present_keys


def _column(
    tables: Mapping[str, Table], rows: Mapping[str, np.ndarray], column: str, option: str
) -> list[str | None]:
    """Cells of a column for all samples, from all tables that have it; they must agree."""
    merged: list[str | None] = []
    seen: set[str] = set()
    for name, table in tables.items():
        if column not in table.columns or table.path in seen:
            continue
        seen.add(table.path)
        cells = text_column(table, column)
        aligned = [cells[row] if row >= 0 else None for row in rows[name]]
        if not merged:
            merged = aligned
            continue
        for i, (old, new) in enumerate(zip(merged, aligned, strict=True)):
            if old is not None and new is not None and old != new:
                raise TableError(
                    f"{option} {column}: the files disagree, for the same sample one has {old!r} "
                    f"and {table.path} has {new!r}"
                )
            merged[i] = old if new is None else new
    return merged


def _view_sources(
    tables: Mapping[str, Table],
    special: set[str],
    views: Mapping[str, Sequence[str]] | None,
    notes: list[str],
) -> dict[str, tuple[str, list[str] | None]]:
    """For each view, its table and its columns (None for the matrix of the table)."""
    if views is not None:
        return _divide_table(tables, special, views, notes)
    sources: dict[str, tuple[str, list[str] | None]] = {}
    for name, table in tables.items():
        if table.matrix is not None:
            sources[name] = name, None
            unused = set(table.columns) - special - {LABEL, QUERY}
            if unused:
                notes.append(f"{table.path}: unused arrays: {format_list(sorted(unused))}")
            continue
        columns = [column for column in table.columns if column not in special]
        if columns:
            sources[name] = name, columns
    return sources


def _divide_table(
    tables: Mapping[str, Table],
    special: set[str],
    views: Mapping[str, Sequence[str]],
    notes: list[str],
) -> dict[str, tuple[str, list[str] | None]]:
    """Assign columns of the only table with features to the given views."""
    sources = [n for n, table in tables.items() if set(table.columns) - special]
    if len(sources) != 1 or tables[sources[0]].matrix is not None:
        raise TableError(
            "--views divides the columns of one table; give only one file with feature columns"
        )
    table = tables[sources[0]]
    used = Counter(column for columns in views.values() for column in columns)
    for name, columns in views.items():
        wrong = [column for column in columns if column not in table.columns]
        if wrong:
            raise TableError(f"--views {name}: {table.path} has no column {format_list(wrong)}")
        taken = [column for column in columns if column in special]
        if taken:
            raise TableError(f"--views {name} has {format_list(taken)}, which is not a feature")
    repeated = [column for column, count in used.items() if count > 1]
    if repeated:
        raise TableError(f"--views uses {format_list(repeated)} more than once")
    unused = [c for c in table.columns if c not in used and c not in special]
    if unused:
        word = "column is" if len(unused) == 1 else "columns are"
        notes.append(f"{len(unused)} {word} in no view: {format_list(unused)}")
    return {name: (sources[0], list(columns)) for name, columns in views.items()}


def _read_view(
    table: Table, columns: list[str] | None, categorical: Collection[str]
) -> tuple[object, TableView]:
    if columns is None:
        matrix = table.matrix
        bad = ~np.isfinite(matrix.data) if sp.issparse(matrix) else np.isinf(matrix)
        if bad.any():
            raise TableError(f"{table.path} contains values that are infinite or not a number")
        return matrix, TableView(None, [], matrix.shape[1], sp.issparse(matrix))
    forced = [column for column in columns if column in set(categorical)]
    if not forced:
        values, text_columns = view_values(table, columns, None)
    else:
        # first determine which of the other columns are text
        rest = [column for column in columns if column not in forced]
        text_columns = view_values(table, rest, None)[1] if rest else []
        text_columns = [column for column in columns if column in forced or column in text_columns]
        values, text_columns = view_values(table, columns, set(text_columns))
    return values, TableView(columns, text_columns, len(columns))


def _check_not_constant(content: Any, name: str, table: Table) -> None:
    """Check that some column of the view has at least two different values."""
    if storage.is_dataframe(content):
        # a missing text is a category of its own, a missing number is imputed with the mean
        known = [c if str(c.type) == "string" else c.drop_null() for c in content.columns]
        varies = any(len(column.unique()) > 1 for column in known)
    elif sp.issparse(content):
        varies = (content.max(axis=0) != content.min(axis=0)).nnz > 0
    else:
        varies = (np.fmax.reduce(content, axis=0) > np.fmin.reduce(content, axis=0)).any()
    if not varies:
        raise TableError(
            f"{table.path}: no column of view {name!r} has two different values, so the view "
            "contains no information"
        )


def _check_overlap(
    tables: Mapping[str, Table],
    view_sources: Mapping[str, tuple[str, list[str] | None]],
    rows: Mapping[str, np.ndarray],
    on: str,
) -> None:
    """Check that every table shares keys with some other table."""
    sources = list(dict.fromkeys(source for source, _ in view_sources.values()))
    sources += [name for name in tables if name not in sources]
    if len(sources) < 2:
        return
    for name in sources:
        is_present = rows[name] >= 0
        if not any((is_present & (rows[other] >= 0)).any() for other in sources if other != name):
            raise TableError(
                f"no {on!r} of {tables[name].path} occurs in another file; its first is "
                f"{text_column(tables[name], on)[0]!r}"
            )


def _usable_samples(
    ids: list[str],
    present: np.ndarray,
    labels: list[str | None],
    members: list[str | None] | None,
    on: str | None,
    notes: list[str],
) -> np.ndarray:
    """Indices of the samples that can be used; those left out are noted."""
    has_view = present.any(axis=1)
    has_label = np.array([label is not None for label in labels])
    has_group = np.array([m is not None for m in members]) if members else np.ones(len(ids), bool)
    for mask, reason in (
        (~has_view, "have no view"),
        (has_view & ~has_label, "have no label"),
        (has_view & has_label & ~has_group, "have no group"),
    ):
        if mask.any():
            excluded = [ids[i] for i in np.flatnonzero(mask)]
            word = "samples" if on else "rows"
            notes.append(f"left out: {mask.sum()} {word} that {reason} ({format_list(excluded)})")
    kept = np.flatnonzero(has_view & has_label & has_group)
    if not len(kept):
        raise TableError("no sample has both a view and a label")
    return kept


def _convert_labels(cells: list[str | None], target: str) -> np.ndarray:
    """Convert labels to integers if all of them are, else leave them as text."""
    labels = [cell for cell in cells if cell is not None]
    different = sorted(set(labels))
    if len(different) < 2:
        raise TableError(
            f"--target {target} has only one class, {different[0]!r}; at least two are needed"
        )
    try:
        numbers = [float(text) for text in different]
    except ValueError:
        return np.array(labels, dtype=str)
    are_integers = all(
        number.is_integer() and str(int(number)) == text
        for number, text in zip(numbers, different, strict=True)
    )
    if not are_integers and len(different) > MAX_FRACTIONAL_CLASSES:
        raise TableError(
            f"--target {target} has {len(different)} different fractional numbers; labels must be "
            "classes, not measurements"
        )
    return (
        np.array(labels, dtype=str).astype(np.int64)
        if are_integers
        else np.array(labels, dtype=str)
    )


def _missing_share(data: MultiViewData, v: int) -> float:
    view, is_present = data[data.view_names[v]], data.present[:, v]
    if sp.issparse(view) or not is_present.any():
        return 0.0
    if storage.is_dataframe(view):
        part = storage.take_rows(view, np.flatnonzero(is_present))
        return sum(column.null_count for column in part.columns) / (
            part.num_rows * part.num_columns
        )
    return float(np.isnan(view[is_present]).mean())
