"""Cells that mean missing by the user's word (``--na``), in files of every format.

Readers of text know such words already. Here a number such as -999 is found however it is stored:
as a number, or written as -999.0.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience.tables._table import Table, TableError, import_pyarrow

__all__ = ["empty_cells"]


def empty_cells(table: Table, na: Sequence[str], text_columns: Collection[str] = ()) -> Table:
    """The table without the cells that mean missing; ``text_columns`` have them as spelled only."""
    if not na:
        return table
    numbers = [number for number in map(_to_number, na) if number is not None]
    frame = table.frame
    columns = [
        _empty_column(frame.column(i), na, [] if name in text_columns else numbers)
        for i, name in enumerate(frame.column_names)
    ]
    frame = import_pyarrow().table(columns, names=frame.column_names) if columns else frame
    return replace(table, frame=frame, matrix=_empty_entries(table, numbers))


def _to_number(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def _empty_column(column: Any, na: Sequence[str], numbers: list[float]) -> Any:
    """The column without the cells that mean missing."""
    pa = import_pyarrow()
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):  # and stays so: its numbers are categories
        values = column.cast(column.type.value_type)
        return _empty_column(values, na, numbers).dictionary_encode()
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        cells = pc.utf8_trim_whitespace(column)
        is_missing = pc.is_in(cells, pa.array(na, kind))
        whole = "|".join(re.escape(str(int(n))) for n in numbers if n.is_integer())
        if whole:
            is_missing = pc.or_(is_missing, pc.match_substring_regex(cells, rf"^({whole})(\.0*)?$"))
    elif pa.types.is_floating(kind) or pa.types.is_integer(kind):
        floats = column.cast(pa.float64(), safe=False)
        is_missing = pc.is_in(floats, pa.array(numbers, pa.float64()))
    else:
        return column
    return pc.if_else(is_missing, pa.scalar(None, kind), column)


def _empty_entries(table: Table, numbers: list[float]) -> Any:
    """The matrix without the entries that mean missing."""
    matrix = table.matrix
    if matrix is None or not numbers:
        return matrix
    if sp.issparse(matrix):
        if np.isin(matrix.data, numbers).any():
            raise TableError(
                f"{table.path} is a sparse matrix with entries that mean missing by --na; entries "
                "of a sparse matrix cannot be missing"
            )
        return matrix
    is_missing = np.isin(matrix, numbers)
    return np.where(is_missing, np.nan, matrix) if is_missing.any() else matrix
