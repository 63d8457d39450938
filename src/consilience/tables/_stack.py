"""Several files of one view, such as batches: their rows one below the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience.tables._matrix_files import align_svmlight
from consilience.tables._table import Table, TableError, import_pyarrow
from consilience.views._storage import format_list

__all__ = ["BATCH", "stack_tables"]

BATCH = "batch"  # column with the name of the file


def stack_tables(view: str, tables: Sequence[Table], names: Sequence[str]) -> tuple[Table, str]:
    """Put the rows of tables below each other, with a column that names the table of each row.

    A column that some of the tables lack is empty in their rows. Returns the table and a note.
    """
    pa = import_pyarrow()
    path = ", ".join(table.path for table in tables)
    tables = align_svmlight(tables)
    matrix, matrix_columns = _stack_matrices(view, tables)
    first = tables[0]
    columns = list(dict.fromkeys(c for table in tables for c in table.columns))
    shared = [c for c in columns if all(c in table.columns for table in tables)]
    if columns and not shared:
        raise TableError(
            f"the files of view {view!r} have no column in common: {first.path} has "
            f"{format_list(first.columns)}, {tables[1].path} has {format_list(tables[1].columns)}"
        )
    cells = {c: _stack_column(view, tables, c) for c in columns}
    annotations: dict[str, str] = {}
    if BATCH not in columns:
        batches = np.repeat(np.array(names, dtype=str), [table.n_rows for table in tables])
        cells[BATCH] = pa.array(batches.tolist(), pa.string())
        annotations[BATCH] = "the file of each row"
    frame = pa.table(cells)
    note = f"view {view!r}: {len(tables)} files stacked, {frame.num_rows} rows"
    partial = [c for c in columns if c not in shared]
    if partial:
        note += f"; columns that not all of them have: {format_list(partial)}"
    unused = {c for table in tables for c in table.matrix_columns or ()} - {*(matrix_columns or ())}
    if unused:
        note += f"; left out, because {first.path} lacks them: {format_list(sorted(unused))}"
    words: dict[str, dict[str, int]] = {}
    for table in tables:
        for column, counts in table.missing_words.items():
            words[column] = dict(Counter(words.get(column, {})) + Counter(counts))
    stacked = replace(first, path=path, frame=frame, matrix=matrix, matrix_columns=matrix_columns)
    marks = {table.decimal for table in tables} - {""}
    stacked = replace(
        stacked,
        percents=_stack_percents(view, tables),
        annotations=annotations,
        missing_words=words,
        decimal=marks.pop() if len(marks) == 1 else "",
        points={name: points for table in tables for name, points in table.points.items()},
        blank_rows=_stack_blank_rows(tables),
    )
    return stacked, note


def _stack_percents(view: str, tables: Sequence[Table]) -> frozenset[str]:
    """Columns with per cent signs, which all files that have numbers in them must have."""
    percents = {name for table in tables for name in table.percents or ()}
    for name in sorted(percents):
        known = [t for t in tables if name in t.columns and t.frame[name].null_count < t.n_rows]
        other = next((t for t in known if name not in (t.percents or ())), None)
        if other is not None:
            first = next(t for t in known if name in (t.percents or ()))
            raise TableError(
                f"column {name!r} of view {view!r} has per cent signs in {first.path}, but not in "
                f"{other.path}; write it in one way"
            )
    return frozenset(percents)


def _stack_blank_rows(tables: Sequence[Table]) -> tuple[int, ...]:
    """Numbers of the rows that were left out, with those of the tables above."""
    sizes = [table.n_rows + len(table.blank_rows) for table in tables]
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    return tuple(s + row for s, t in zip(starts, tables, strict=True) for row in t.blank_rows)


def _stack_column(view: str, tables: Sequence[Table], column: str) -> Any:
    """Cells of a column in all tables; as text if its types differ."""
    pa = import_pyarrow()
    parts = [
        table.frame[column] if column in table.columns else pa.nulls(table.n_rows)
        for table in tables
    ]
    has_categories = any(pa.types.is_dictionary(part.type) for part in parts)
    if has_categories:  # in all files, if one of them says so
        parts = [p if pa.types.is_null(p.type) else p.cast(pa.string()) for p in parts]
    kinds = {part.type for part in parts if not pa.types.is_null(part.type)}
    if len(kinds) > 1:
        is_number = all(pa.types.is_integer(k) or pa.types.is_floating(k) for k in kinds)
        kinds = {pa.float64() if is_number else pa.string()}
    kind = next(iter(kinds), pa.string())
    try:
        chunks = [chunk for part in parts for chunk in _chunks(part.cast(kind))]
    except pa.ArrowInvalid:
        raise TableError(
            f"column {column!r} of view {view!r} has different types in its files"
        ) from None
    cells = pa.chunked_array(chunks, kind)
    return cells.dictionary_encode() if has_categories else cells


def _chunks(array: Any) -> list[Any]:
    return array.chunks if hasattr(array, "chunks") else [array]


def _stack_matrices(view: str, tables: Sequence[Table]) -> tuple[Any, list[str] | None]:
    matrices = [table.matrix for table in tables if table.matrix is not None]
    if not matrices:
        return None, None
    if len(matrices) < len(tables):
        raise TableError(f"view {view!r}: some of its files are matrices, others are tables")
    names = tables[0].matrix_columns
    if len({table.matrix_columns is None for table in tables}) > 1:
        raise TableError(f"view {view!r}: only some of its files have names of columns")
    if names is not None:
        matrices = [_reorder(view, table, names) for table in tables]
    elif len({matrix.shape[1] for matrix in matrices}) > 1:
        widths = ", ".join(str(matrix.shape[1]) for matrix in matrices)
        raise TableError(f"the files of view {view!r} have different numbers of columns: {widths}")
    if any(map(sp.issparse, matrices)):
        return sp.csr_array(sp.vstack(matrices, format="csr")), names
    return np.concatenate(matrices), names


def _reorder(view: str, table: Table, names: list[str]) -> Any:
    """The matrix of a table with the columns of another, in that order."""
    if table.matrix_columns == names:
        return table.matrix
    position = {name: j for j, name in enumerate(table.matrix_columns or [])}
    lacking = [name for name in names if name not in position]
    if lacking:
        raise TableError(f"{table.path} lacks columns of view {view!r}: {format_list(lacking)}")
    return table.matrix[:, [position[name] for name in names]]
