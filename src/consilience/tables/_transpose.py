"""Tables with one row for each feature and one column for each sample, as biologists write them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from consilience.tables._numbers import describe_points
from consilience.tables._table import (
    Points,
    Table,
    TableError,
    import_pyarrow,
    text_column,
)
from consilience.views._storage import format_list

__all__ = ["transpose_table"]

POINT = re.compile(r"\.\d")  # but not that of "n.d."


def transpose_table(table: Table, key: str) -> Table:
    """Turn a table round: its first column names the features, and its header the samples."""
    if table.matrix is not None:
        raise TableError(f"--transpose: {table.path} is a matrix without a column of names")
    if len(table.columns) < 2:
        raise TableError(f"--transpose: {table.path} has only one column")
    features = text_column(table, table.columns[0])
    unnamed = [row for row, name in enumerate(features, start=1) if not name]
    if unnamed:
        raise TableError(f"--transpose: {table.path} has no name in row {unnamed[0]}")
    repeated = [name for name, count in Counter(features).items() if count > 1]
    if repeated:
        raise TableError(
            f"--transpose: {table.path} has several rows named {format_list(repeated)}"
        )
    names = [str(name) for name in features]
    if key in names:
        raise TableError(f"--transpose: {table.path} has a row named {key!r}, as the key")
    pa = import_pyarrow()
    samples = pa.array(table.columns[1:], pa.string())
    frame = pa.table([samples, *_rows_as_columns(table)], names=[key, *names])
    points = _points_of_rows(table, names)
    note = table.note.removesuffix(describe_points(table.points)) + describe_points(points)
    percents = _percents_of_rows(table, names)
    turned = replace(table, frame=frame, key=key, note=note, points=points, blank_rows=())
    return replace(turned, percents=percents)


def _percents_of_rows(table: Table, names: list[str]) -> frozenset[str]:
    """Names of all rows if the numbers have per cent signs, which must be so in all columns."""
    with_signs = [name for name in table.columns[1:] if name in (table.percents or ())]
    others = [name for name in table.columns[1:] if name not in with_signs]
    if with_signs and others:
        raise TableError(
            f"--transpose: the numbers of {table.path} have per cent signs in column "
            f"{with_signs[0]!r}, but not in {others[0]!r}; write them all in one way"
        )
    return frozenset(names if with_signs else ())


def _points_of_rows(table: Table, names: list[str]) -> dict[str, Points]:
    """What points mean in the rows that have some; it must be the same in all columns."""
    columns = {points.meaning: name for name, points in table.points.items()}
    if "points" in columns:
        raise TableError(
            f"--transpose: points separate thousands in column {columns['points']!r} of "
            f"{table.path}; remove them, or add --decimal , if they do so in all columns"
        )
    columns.pop("commas", None)
    if len(columns) > 1:
        raise TableError(
            f"--transpose: the points of {table.path} separate thousands in column "
            f"{columns['thousands']!r}, but are decimal points in {columns['decimals']!r}; write "
            "them all in one way"
        )
    if not columns:
        return {}
    pa = import_pyarrow()
    cells = [_cells_as_written(table, name) for name in table.columns[1:]]
    rows = zip(names, zip(*cells, strict=True), strict=True)
    return {
        name: Points(next(iter(columns)), pa.chunked_array([pa.array(row, pa.string())]))
        for name, row in rows
        if any(POINT.search(cell or "") for cell in row)
    }


def _cells_as_written(table: Table, name: str) -> list[str | None]:
    """Cells of a column of a file with decimal commas."""
    if name in table.points:
        return table.points[name].cells.to_pylist()
    return [None if c is None else c.replace(".", ",") for c in text_column(table, name)]


def _rows_as_columns(table: Table) -> list[Any]:
    """Every row as a column: numbers where all its cells are, else text."""
    pa = import_pyarrow()
    import pyarrow.compute as pc

    columns = [table.frame[name] for name in table.columns[1:]]
    try:
        numbers = [
            pc.utf8_trim_whitespace(c).cast(pa.float64())
            if pa.types.is_string(c.type)
            else c.cast(pa.float64())
            for c in columns
        ]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        cells = [text_column(table, name) for name in table.columns[1:]]
        return [pa.array(row, pa.string()) for row in zip(*cells, strict=True)]
    matrix = np.array([c.to_numpy() for c in numbers], dtype=np.float64, order="F")
    return [pa.array(matrix[:, j]) for j in range(matrix.shape[1])]
