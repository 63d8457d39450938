"""Views of joined tables: which columns they consist of, and what they contain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience.tables._dates import find_date_format
from consilience.tables._model import TableView, view_values
from consilience.tables._table import LABEL, QUERY, Table, TableError, text_column
from consilience.tables._words import count_words, find_words
from consilience.views import _storage as storage
from consilience.views._storage import format_list

__all__ = ["check_not_constant", "read_text_view", "read_view", "view_sources"]


def view_sources(
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
            unused = set(table.columns) - special - {LABEL, QUERY, table.key}
            if unused and not table.key:
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
    known = set(table.columns)
    for name, columns in views.items():
        wrong = [column for column in columns if column not in known]
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


def read_view(
    table: Table,
    columns: list[str] | None,
    categorical: Collection[str],
    dates: Collection[str] = (),
) -> tuple[Any, TableView]:
    """Read the matrix or the columns of a table; ``dates`` are columns to convert to days."""
    if columns is None:
        matrix = table.matrix
        bad = ~np.isfinite(matrix.data) if sp.issparse(matrix) else np.isinf(matrix)
        if bad.any():
            raise TableError(f"{table.path} contains values that are infinite or not a number")
        names = table.matrix_columns
        width, is_sparse = matrix.shape[1], sp.issparse(matrix)
        return matrix, TableView(names, [], width, is_sparse, first_index=table.first_index)
    forced = [column for column in columns if column in set(categorical)]
    formats = {name: _date_format(table, name) for name in columns if name in set(dates)}
    if not forced:
        values, text_columns = view_values(table, columns, None, formats)
    else:
        # first determine which of the other columns are text
        rest = [column for column in columns if column not in forced]
        text_columns = view_values(table, rest, None, formats)[1] if rest else []
        text_columns = [column for column in columns if column in forced or column in text_columns]
        values, text_columns = view_values(table, columns, set(text_columns), formats)
    return values, TableView(
        columns,
        text_columns,
        len(columns),
        date_columns=tuple(formats),
        date_formats=tuple(formats.items()),
        spells_alike=True,
        decimal=table.decimal,
        points=tuple(
            (c, table.points[c].meaning)
            for c in columns
            if c in table.points and table.points[c].meaning != "unclear"
        ),
        percents=tuple(c for c in columns if c in (table.percents or ())),
    )


def _date_format(table: Table, name: str) -> str:
    """The format of a column of dates."""
    pattern = find_date_format(table.frame[name])
    if pattern is None:
        raise TableError(
            f"{table.path}: the dates of column {name!r} may have the day or the month first; "
            "write them like 2024-12-31"
        )
    return pattern


def read_text_view(table: Table, column: str, source: str) -> tuple[Any, TableView]:
    """Counts of the words of a column of free text, which belongs to the table of ``source``."""
    cells = text_column(table, column)
    words = find_words(cells)
    if not words:
        raise TableError(
            f"{table.path}: no word of column {column!r} occurs in two rows; leave the column out "
            f"with --drop {column}"
        )
    view = TableView([column], [column], len(words), True, words=words, source=source)
    return count_words(cells, words), view


def check_not_constant(content: Any, name: str, table: Table) -> None:
    """Check that some column of the view has at least two different values."""
    if storage.is_dataframe(content):
        # an empty text cell differs from every category, an empty number is imputed with the mean
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
