"""Tables: named columns and optionally a matrix of features, and how columns are converted."""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

__all__ = [
    "BLANKS",
    "EXCEL_ERRORS",
    "LABEL",
    "QUERY",
    "Points",
    "Table",
    "TableError",
    "check_finite_columns",
    "check_memory",
    "decode_categories",
    "float_columns",
    "has_floats_only",
    "import_pyarrow",
    "number_column",
    "plain_text",
    "text_column",
]

DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
COMMA_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")  # or a decimal comma
BLANKS = " \u00a0\u2009\u202f'\u2019"  # between thousands, as in 1 234 and 1'234
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"
EXCEL_ERRORS = ("#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NULL!", "#NAME?")
LABEL, QUERY = "label", "qid"  # columns of an svmlight file in addition to its features


class TableError(ValueError):
    """A table cannot be used; the message names it and suggests what to do."""


@dataclass(frozen=True)
class Points:
    """What points or commas mean in a column, and the cells as written.

    In a file with decimal commas, points are "thousands" or "decimals". In one with decimal points,
    thousands may be separated by "points" or "commas" in single columns; "unclear" points are taken
    as decimal points, but nothing tells.
    """

    meaning: str
    cells: Any


@dataclass(frozen=True)
class Table:
    """Content of a file: named columns (an Arrow table) and optionally a feature matrix.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from consilience.tables import Table
    >>> Table("blood.csv", pa.table({"hb": [13.1, 12.2]})).frame.num_rows
    2
    """

    path: str
    frame: Any
    matrix: Any = None
    matrix_columns: list[str] | None = None  # names, if the columns of the matrix have any
    key: str = ""  # column with the names of the samples, if the format has one
    note: str = ""  # how the file was read, if not as usual
    first_index: int | None = None  # of the features of an svmlight file: 0 or 1
    # of the column of labels: spellings of missing values other than the empty cell, and counts
    missing_words: dict[str, dict[str, int]] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)  # columns no one measured, and why
    decimal: str = ""  # mark of a text file; empty if nothing tells it
    points: dict[str, Points] = field(default_factory=dict)  # by column
    percents: frozenset[str] | None = frozenset()  # columns with per cent signs; None if unknown
    blank_rows: tuple[int, ...] = ()  # above the last row, left out

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.frame.num_rows if self.matrix is None else self.matrix.shape[0]

    @property
    def columns(self) -> list[str]:
        """Names of the named columns."""
        return list(self.frame.column_names)


def import_pyarrow() -> Any:
    """Import pyarrow; the error says how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError("tables need pyarrow; pip install 'consilience[tables]'") from None
    return pyarrow


def check_memory(path: Path, n_bytes: int) -> None:
    """Check that the content of a file, which may be far larger than the file, fits in memory."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not known on this system
        return
    if n_bytes > memory:
        raise TableError(
            f"{path} needs {n_bytes / 2**30:,.0f} GB of memory, but this machine has "
            f"{memory / 2**30:,.0f} GB"
        )


def text_column(table: Table, name: str) -> list[str | None]:
    """Cells as text, None where missing or blank; integers are written without a decimal point."""
    column = table.frame[name]
    if str(column.type) in ("string", "large_string"):
        return [None if v is None else plain_text(v) or None for v in column.to_pylist()]
    try:
        return [_to_text(value) for value in column.to_pylist()]
    except (OverflowError, ValueError):  # dates beyond the year 9999 or before the year 1
        raise TableError(f"{table.path}: column {name!r} contains a date out of range") from None


def _to_text(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return plain_text(str(value)) or None


def plain_text(text: str) -> str:
    """Text without blanks around it, visible or not, in one spelling of accents.

    An accented letter may be one character, or a letter and a mark: systems write either.
    """
    if text.isascii():
        return text.strip()
    return unicodedata.normalize("NFC", text).strip().strip(INVISIBLE).strip()


def decode_categories(column: Any) -> Any:
    """Cells of a dictionary column; numbers and truth values, which are categories, as text."""
    pa = import_pyarrow()
    kind = column.type.value_type
    is_date = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    column = column.cast(kind)
    return column if is_date or is_text else column.cast(pa.string())


def number_column(table: Table, name: str, *, required: bool = False) -> np.ndarray | None:
    """Cells as floats, NaN where missing; None if the column is text.

    A column that consists mostly of numbers is an error rather than text, since the other cells
    are probably typos.
    """
    pa = import_pyarrow()
    import pyarrow.compute as pc

    column = table.frame[name]
    kind = column.type
    if pa.types.is_dictionary(kind) and not required:
        return None  # the file says that its numbers are categories
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        trimmed = pc.utf8_trim_whitespace(column)
        try:
            values = trimmed.cast(pa.float64())
        except pa.ArrowInvalid:
            _check_not_mixed(table, name, trimmed.to_pylist(), required)
            return None
    elif pa.types.is_float64(kind):
        values = column
    elif pa.types.is_boolean(kind):
        values = column.cast(pa.int8()).cast(pa.float64())
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = column.cast(pa.float64(), safe=False)
    elif required:
        raise TableError(f"{table.path}: column {name!r} must contain numbers, not {kind}")
    else:
        return None
    array = values.to_numpy(zero_copy_only=False) if hasattr(values, "chunks") else values
    numbers = np.asarray(array, dtype=np.float64)
    if np.isinf(numbers).any():
        _fail_infinite(table, name, int(np.flatnonzero(np.isinf(numbers))[0]))
    return numbers


def has_floats_only(frame: Any) -> bool:
    """Whether every column of an Arrow table is one of floats."""
    floats = import_pyarrow().float64()
    return all(kind == floats for kind in frame.schema.types)


def float_columns(frame: Any) -> np.ndarray:
    """Columns of floats of an Arrow table as a matrix, at once; NaN where missing."""
    (batch,) = frame.combine_chunks().to_batches()
    return batch.to_tensor(null_to_nan=True, row_major=True).to_numpy()


def check_finite_columns(table: Table, columns: Sequence[str], matrix: np.ndarray) -> None:
    """Check that no column contains infinity."""
    wrong = np.isinf(matrix)
    if wrong.any():
        column, row = np.argwhere(wrong.T)[0]
        _fail_infinite(table, columns[column], row)


def _fail_infinite(table: Table, column: str, row: int) -> NoReturn:
    raise TableError(f"{table.path}: column {column!r} is infinite in row {row + 1}")


def _check_not_mixed(table: Table, name: str, cells: list[str | None], required: bool) -> None:
    known = [(row, cell) for row, cell in enumerate(cells, start=1) if cell is not None]
    texts = [(row, cell) for row, cell in known if not _is_number(cell)]
    if texts and all(DECIMAL_COMMA.fullmatch(cell) for _, cell in texts):
        points = [(row, cell) for row, cell in known if "." in cell]
        if points:
            raise TableError(
                f"{table.path}: column {name!r} has numbers with a comma, such as {texts[0][1]!r} "
                f"in row {texts[0][0]}, and with a point, such as {points[0][1]!r} in row "
                f"{points[0][0]}; write them all in one way"
            )
        if all(COMMA_THOUSANDS.fullmatch(cell) for _, cell in texts):
            raise TableError(
                f"{table.path}: column {name!r} has numbers with a comma, such as {texts[0][1]!r} "
                f"in row {texts[0][0]}; add --decimal . if commas separate thousands, or add "
                "--decimal , if they are decimal commas"
            )
        raise TableError(
            f"{table.path}: column {name!r} has numbers with a decimal comma, such as "
            f"{texts[0][1]!r} in row {texts[0][0]}; add --decimal ,"
        )
    plain = next(((row, cell) for row, cell in known if _is_number(cell)), None)
    if plain and texts and all(_is_number(cell.removesuffix("%")) for _, cell in texts):
        raise TableError(
            f"{table.path}: column {name!r} has numbers with a per cent sign, such as "
            f"{texts[0][1]!r} in row {texts[0][0]}, and without, such as {plain[1]!r} in row "
            f"{plain[0]}; write them all in one way"
        )
    if required or 2 * len(texts) <= len(known):
        row, cell = texts[0] if texts else known[0]
        advice = "" if required else ", or use --categorical if the numbers are categories"
        raise TableError(
            f"{table.path}: column {name!r} contains numbers, but {cell[:60]!r} in row {row}; "
            f"correct it or leave the cell empty{advice}"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text  # Python's numbers, but no one else's
