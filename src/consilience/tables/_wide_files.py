"""Text files with many columns, most of them numbers.

A reader of columns needs time and memory for every column and block. Here, a block of rows is read
as a single column of cells, one a line, and converted to numbers at once.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from consilience.tables._numbers import COMMA_NUMBER, NUMBER
from consilience.tables._table import TableError, import_pyarrow
from consilience.tables._text_format import TextFormat

__all__ = ["MIN_WIDE_COLUMNS", "read_wide"]

MIN_WIDE_COLUMNS = 1000
BLOCK_BYTES = 4 * 2**20
MAX_TEXT_SHARE = 0.5
# leading zeros and numbers of many digits may be codes, which stay text
CODE = r"^[+-]?0\d|^[+-]?\d{17,}$"
SEPARATOR = "\x1f"  # in no cell
LINE_END, ZERO = b"\n0"


@dataclass(frozen=True)
class _Block:
    n_rows: int
    cells: memoryview  # one a line


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
) -> tuple[Any, tuple[int, ...]]:
    """Read a table; columns of numbers as floats, NaN where missing, others as text.

    Returns the table and the numbers of the blank lines above its last row, which are left out.
    """
    blank: list[int] = []
    blocks = _read_blocks(path, file, len(header), text_format, blank)
    n_rows = sum(block.n_rows for block in blocks)
    # the i-th blank line is below blank[i] - i rows
    inner = tuple(line for i, line in enumerate(blank) if line - i < n_rows)
    return _read_columns(blocks, header, text_format.decimal, missing, text_columns), inner


def _read_columns(
    blocks: Sequence[_Block],
    header: Sequence[str],
    decimal: str,
    missing: Sequence[str],
    text_columns: Collection[str],
) -> Any:
    pa = import_pyarrow()
    n_columns = len(header)
    new_text = {i for i, name in enumerate(header) if name in text_columns}
    if blocks:
        new_text |= _text_columns(blocks[0].cells, n_columns, decimal, missing, with_codes=True)
    texts: dict[int, Any] = {}
    while True:
        if len(texts) + len(new_text) > MAX_TEXT_SHARE * n_columns:
            new_text = set(range(n_columns)) - set(texts)
        texts |= _take_text(blocks, n_columns, sorted(new_text), missing)
        if len(texts) == n_columns:
            return pa.table([texts[j] for j in range(n_columns)], names=list(header))
        try:
            columns = _number_columns(blocks, n_columns, decimal, missing)
        except _TextFoundError as error:
            new_text = error.columns
            continue
        return pa.table([texts.get(j, columns[j]) for j in range(n_columns)], names=list(header))


def _read_blocks(
    path: Path, file: IO[bytes], n_columns: int, text_format: TextFormat, blank: list[int]
) -> list[_Block]:
    """Blocks of rows in one piece of memory, which is given back as a whole.

    The numbers of blank lines are added to ``blank``.
    """
    content, ends = bytearray(), []
    for n_rows, cells in _split_rows(path, file, n_columns, text_format, blank):
        content += cells
        ends.append((n_rows, len(content)))
    view = memoryview(content)
    starts = [0, *(end for _, end in ends)]
    return [_Block(n, view[start:end]) for (n, end), start in zip(ends, starts, strict=False)]


def _split_rows(
    path: Path, file: IO[bytes], n_columns: int, text_format: TextFormat, blank: list[int]
) -> Iterator[tuple[int, bytes]]:
    """Number of rows and cells, one a line, of each block of rows."""
    delimiter, n_read = text_format.delimiter.encode(), 0
    while lines := file.readlines(BLOCK_BYTES):
        if any(b'"' in line for line in lines):
            rows = _unquote(file, lines, text_format.delimiter)
        else:
            rows = [line.rstrip(b"\r\n").replace(delimiter, b"\n") for line in lines]
        first_line = n_read + len(blank)
        blank += [line for line, row in enumerate(rows, start=first_line) if not row]
        rows = [row for row in rows if row]
        if not rows:
            continue
        for number, row in enumerate(rows, start=n_read + 1):
            n_cells = row.count(b"\n") + 1
            if n_cells != n_columns:
                raise TableError(
                    f"{path} cannot be read: row {number} has {n_cells} cells, but the header has "
                    f"{n_columns}"
                )
        n_read += len(rows)
        yield len(rows), b"\n".join([*rows, b""])


def _unquote(file: IO[bytes], lines: list[bytes], delimiter: str) -> list[bytes]:
    """Cells of lines with quotes, one a line; a quoted cell may go on in further lines."""
    while b"".join(lines).count(b'"') % 2 and (more := file.readline()):
        lines.append(more)
    rows = csv.reader((line.decode() for line in lines), delimiter=delimiter)
    clean = (["".join(" " if c in "\r\n" else c for c in cell) for cell in row] for row in rows)
    return ["\n".join(row).encode() for row in clean]


def _take_text(
    blocks: Sequence[_Block], n_columns: int, columns: list[int], missing: Sequence[str]
) -> dict[int, Any]:
    """Columns of text; zeros take their place in the blocks."""
    if not columns:
        return {}
    pa = import_pyarrow()
    chunks = []
    for block in blocks:
        content = np.frombuffer(block.cells, dtype=np.uint8)
        ends = np.flatnonzero(content == LINE_END) + 1
        starts = np.concatenate([[0], ends[:-1]]).reshape(-1, n_columns)[:, columns].ravel()
        lengths = ends.reshape(-1, n_columns)[:, columns].ravel() - starts
        offsets = np.cumsum(lengths) - lengths
        places = np.arange(lengths.sum()) + np.repeat(starts - offsets, lengths)
        cells = content[places]
        content[places[cells != LINE_END]] = ZERO
        chunks.append(_parse_cells(cells, missing, pa.string()))
    return {
        j: pa.chunked_array([cells[k :: len(columns)] for cells in chunks], pa.string())
        for k, j in enumerate(columns)
    }


def _number_columns(
    blocks: Sequence[_Block], n_columns: int, decimal: str, missing: Sequence[str]
) -> list[Any]:
    """All columns as numbers; those of text, which are zeros here, have no meaning."""
    pa = import_pyarrow()
    n_rows = sum(block.n_rows for block in blocks)
    # one column after the other, since every one of them becomes an Arrow array without a copy
    memory = pa.allocate_buffer(n_rows * n_columns * np.dtype(np.float64).itemsize)
    numbers = np.frombuffer(memory, dtype=np.float64).reshape(n_columns, n_rows).T
    start = 0
    for block in blocks:
        end = start + block.n_rows
        numbers[start:end] = _to_numbers(block.cells, n_columns, decimal, missing)
        start = end
    return [
        pa.Array.from_buffers(pa.float64(), n_rows, [None, memory], null_count=0, offset=j * n_rows)
        for j in range(n_columns)
    ]


def _parse_cells(content: Any, missing: Sequence[str], kind: Any) -> Any:
    """Cells, one a line, as an Arrow array; null where missing."""
    pa = import_pyarrow()
    from pyarrow import csv as pacsv

    table = pacsv.read_csv(
        pa.py_buffer(content),
        read_options=pacsv.ReadOptions(
            column_names=["cell"], block_size=len(content) + 1, use_threads=False
        ),
        parse_options=pacsv.ParseOptions(
            delimiter=SEPARATOR, quote_char=False, ignore_empty_lines=False
        ),
        convert_options=pacsv.ConvertOptions(
            column_types={"cell": kind}, null_values=missing, strings_can_be_null=True
        ),
    )
    return table["cell"].combine_chunks()


def _to_numbers(
    content: memoryview, n_columns: int, decimal: str, missing: Sequence[str]
) -> np.ndarray:
    """Numbers of a block, NaN where missing; an error names the columns of text."""
    pa = import_pyarrow()
    try:
        values = _parse_cells(_with_points(content, decimal), missing, pa.float64())
    except pa.ArrowInvalid:
        text = _text_columns(content, n_columns, decimal, missing)
        raise _TextFoundError(text or set(range(n_columns))) from None
    return values.to_numpy(zero_copy_only=False).reshape(-1, n_columns)


def _with_points(content: memoryview, decimal: str) -> Any:
    """Cells with decimal points; an ArrowInvalid if they have decimal commas and points as well."""
    if decimal == ".":
        return content
    cells = bytes(content)
    if b"." in cells:  # perhaps a separator of thousands
        raise import_pyarrow().ArrowInvalid
    return cells.replace(b",", b".")


def _text_columns(
    content: memoryview,
    n_columns: int,
    decimal: str,
    missing: Sequence[str],
    with_codes: bool = False,
) -> set[int]:
    """Columns of a block with cells that are no plain numbers, or that look like codes."""
    pa = import_pyarrow()
    import pyarrow.compute as pc

    cells = pc.utf8_trim_whitespace(_parse_cells(content, missing, pa.string()))
    pattern = NUMBER if decimal == "." else COMMA_NUMBER
    is_text = pc.invert(pc.match_substring_regex(cells, pattern))
    if with_codes:
        is_text = pc.or_(is_text, pc.match_substring_regex(cells, CODE))
    flags = is_text.fill_null(False).to_numpy(zero_copy_only=False)
    return set(np.flatnonzero(flags.reshape(-1, n_columns).any(axis=0)).tolist())
