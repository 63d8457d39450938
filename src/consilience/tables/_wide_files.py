"""Text files with many columns, most of them numbers.

A reader of columns needs time and memory for every column and block. Here, a block of rows is read
as a single column of cells, and converted to numbers at once.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from consilience.tables._numbers import NUMBER
from consilience.tables._table import TableError, import_pyarrow
from consilience.tables._text_format import TextFormat

__all__ = ["MIN_WIDE_COLUMNS", "read_wide"]

MIN_WIDE_COLUMNS = 1000
BLOCK_BYTES = 8 * 2**20
MAX_TEXT_SHARE = 0.5
# leading zeros and numbers of many digits may be codes, which stay text
CODE = r"^[+-]?0\d|^[+-]?\d{17,}$"
SEPARATOR = "\x1f"  # in no cell


class _TextFoundError(Exception):
    """Columns that seemed to be numbers contain text."""

    def __init__(self, columns: set[int]) -> None:
        super().__init__()
        self.columns = columns


def read_wide(
    path: Path,
    file: IO[bytes],
    header: Sequence[str],
    text_format: TextFormat,
    missing: Sequence[str],
    text_columns: Collection[str] = (),
) -> Any:
    """Read a table; columns of numbers as floats, NaN where missing, others as text."""
    content = list(_blocks(path, file, len(header), text_format))
    text = {i for i, name in enumerate(header) if name in text_columns}
    while True:
        try:
            return _to_frame(content, header, text, text_format.decimal, missing)
        except _TextFoundError as error:
            text |= error.columns
            if len(text) > MAX_TEXT_SHARE * len(header):
                text = set(range(len(header)))


def _blocks(
    path: Path, file: IO[bytes], n_columns: int, text_format: TextFormat
) -> Iterator[tuple[int, bytes]]:
    """Number of rows and cells, one a line, of each block of rows."""
    delimiter, n_read = text_format.delimiter.encode(), 0
    while lines := file.readlines(BLOCK_BYTES):
        if any(b'"' in line for line in lines):
            rows = _unquote(file, lines, text_format.delimiter)
        else:
            rows = [line.rstrip(b"\r\n") for line in lines]
            rows = [row.replace(delimiter, b"\n") for row in rows if row]
        for number, row in enumerate(rows, start=n_read + 1):
            n_cells = row.count(b"\n") + 1
            if n_cells != n_columns:
                raise TableError(
                    f"{path} cannot be read: row {number} has {n_cells} cells, but the header has "
                    f"{n_columns}"
                )
        n_read += len(rows)
        yield len(rows), b"\n".join(rows) + b"\n"


def _unquote(file: IO[bytes], lines: list[bytes], delimiter: str) -> list[bytes]:
    """Cells of lines with quotes, one a line; a quoted cell may go on in further lines."""
    while b"".join(lines).count(b'"') % 2 and (more := file.readline()):
        lines.append(more)
    rows = csv.reader((line.decode() for line in lines), delimiter=delimiter)
    clean = (["".join(" " if c in "\r\n" else c for c in cell) for cell in row] for row in rows)
    return ["\n".join(row).encode() for row in clean if row]


def _to_frame(
    blocks: Sequence[tuple[int, bytes]],
    header: Sequence[str],
    text: set[int],
    decimal: str,
    missing: Sequence[str],
) -> Any:
    pa = import_pyarrow()
    n_rows, n_columns = sum(n for n, _ in blocks), len(header)
    is_number = np.ones(n_columns, dtype=bool)
    is_number[sorted(text)] = False
    # one column after the other, since every one of them becomes an Arrow array without a copy
    numbers = np.empty((n_rows, n_columns), order="F")
    cells_of: dict[int, list[Any]] = {column: [] for column in text}
    start = 0
    for n, content in blocks:
        cells = _split_cells(content, missing)
        for column, parts in cells_of.items():
            parts.append(cells.take(pa.array(np.arange(column, len(cells), n_columns))))
        numbers[start : start + n] = _to_numbers(cells, is_number, decimal, is_first=start == 0)
        start += n
    columns = [
        pa.array(numbers[:, j]) if is_number[j] else pa.chunked_array(cells_of[j], pa.string())
        for j in range(n_columns)
    ]
    return pa.table(columns, names=list(header))


def _split_cells(content: bytes, missing: Sequence[str]) -> Any:
    """Cells of a block, row by row; null where missing."""
    pa = import_pyarrow()
    from pyarrow import csv as pacsv

    table = pacsv.read_csv(
        pa.py_buffer(content),
        read_options=pacsv.ReadOptions(column_names=["cell"], block_size=len(content) + 1),
        parse_options=pacsv.ParseOptions(
            delimiter=SEPARATOR, quote_char=False, ignore_empty_lines=False
        ),
        convert_options=pacsv.ConvertOptions(
            column_types={"cell": pa.string()}, null_values=missing, strings_can_be_null=True
        ),
    )
    return table["cell"].combine_chunks()


def _to_numbers(cells: Any, is_number: np.ndarray, decimal: str, is_first: bool) -> np.ndarray:
    """Numbers of a block, NaN in columns of text; an error names further columns of text."""
    pa = import_pyarrow()
    import pyarrow.compute as pc

    n_columns = len(is_number)
    is_text = np.tile(~is_number, len(cells) // n_columns)
    nothing = pa.nulls(int(is_text.sum()), pa.string())
    kept = pc.replace_with_mask(cells, pa.array(is_text), nothing) if len(nothing) else cells
    if is_first and pc.any(is_code := pc.match_substring_regex(kept, CODE)).as_py():
        raise _TextFoundError(_columns_of(is_code, n_columns))
    if decimal == ",":
        kept = pc.replace_substring(kept, ",", ".")
    if pc.any(pc.match_substring(kept, " ")).as_py():
        kept = pc.utf8_trim_whitespace(kept)
    try:
        values = kept.cast(pa.float64())
    except pa.ArrowInvalid:
        is_wrong = pc.invert(pc.match_substring_regex(kept, NUMBER))
        if not pc.any(is_wrong).as_py():
            is_wrong = pc.is_valid(kept)
        raise _TextFoundError(_columns_of(is_wrong, n_columns)) from None
    return values.to_numpy(zero_copy_only=False).reshape(-1, n_columns)


def _columns_of(mask: Any, n_columns: int) -> set[int]:
    flags = mask.fill_null(False).to_numpy(zero_copy_only=False)
    return set(np.flatnonzero(flags.reshape(-1, n_columns).any(axis=0)).tolist())
