"""Text files of tables, such as csv and tsv.

The cells stay text until their purpose is known, since a key must not lose its leading zeros; only
in wide files are numbers converted at once.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from consilience.tables._content import file_kind, open_utf8, single_byte_encoding
from consilience.tables._numbers import clean_numbers
from consilience.tables._table import EXCEL_ERRORS, Table, TableError, import_pyarrow, plain_text
from consilience.tables._text_format import DELIMITERS, ReadOptions, TextFormat, sniff_format
from consilience.tables._wide_files import MIN_WIDE_COLUMNS, read_wide

__all__ = ["MISSING_VALUES", "count_missing_words", "read_text"]

# common spellings of a missing value
MISSING_VALUES = ["", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "?", "#N/A"]
MISSING_VALUES += ["<NA>", "#NA", "NaT", *EXCEL_ERRORS]
MISSING_WORDS = frozenset(MISSING_VALUES) - {""}
TRAILING = "\0"  # the empty column after the last delimiter
MAX_HEADER_CHARS = 64 * 2**20


def read_text(path: Path, options: ReadOptions) -> Table:
    """Read a text file whose first line names the columns."""
    text_format = sniff_format(path, options)
    try:
        table = _read_formatted(path, text_format, options)
    except (UnicodeDecodeError, ValueError) as error:
        is_encoding = isinstance(error, UnicodeDecodeError) or "invalid UTF8" in str(error)
        if not is_encoding or options.encoding or not text_format.encoding.startswith("utf-8"):
            raise
        # a letter beyond the first lines shows another encoding
        with open_utf8(path, "utf-8") as file:
            other = single_byte_encoding(file.read())
        text_format = replace(text_format, encoding=other)
        table = _read_formatted(path, text_format, options)
    if text_format.has_trailing_delimiter:
        if _is_empty(table.frame[TRAILING]):
            table = replace(table, frame=table.frame.drop_columns([TRAILING]))
        else:  # a row beyond the first lines ends with a value: all have a name
            text_format = replace(text_format, has_trailing_delimiter=False, has_row_names=True)
            table = _read_formatted(path, text_format, options)
    parts = [text_format.describe(DELIMITERS[file_kind(path)]), table.note]
    note = ", ".join(filter(None, parts))
    return replace(table, note=f"{path}: {note}" if note else "")


def _read_formatted(path: Path, text_format: TextFormat, options: ReadOptions) -> Table:
    missing = [*MISSING_VALUES, *options.na]
    separated = {name for name, meaning in options.points if meaning == "points"}
    blank_rows: tuple[int, ...] = ()
    with _open_rows(path, text_format) as (content, header):
        is_wide = len(header) >= MIN_WIDE_COLUMNS
        if is_wide:
            frame, blank_rows = read_wide(
                path, content, header, text_format, missing, options.text_columns | separated
            )
        else:
            frame = _read_narrow(content, header, text_format, missing, keeps_blank=True)
    if not is_wide:
        _check_quotes(path, text_format, frame)
        frame, blank_rows = _drop_blank_rows(path, text_format, missing, frame)
    frame = _trim_cells(frame, missing)
    words: dict[str, dict[str, int]] = {}
    if options.labels in header and frame[options.labels].null_count:
        words[options.labels] = _count_missing_words(path, header, text_format, options.labels)
    decimal = text_format.decimal
    clean = clean_numbers(
        str(path),
        frame,
        decimal,
        options.text_columns,
        dict(options.points),
        text_format.is_decimal_known or bool(options.default_decimal),
    )
    return Table(
        str(path),
        clean.frame,
        note=clean.describe(),
        missing_words=words,
        decimal=decimal if text_format.is_decimal_known else "",
        points=clean.points,
        percents=clean.percents,
        blank_rows=blank_rows,
    )


@contextmanager
def _open_rows(path: Path, text_format: TextFormat) -> Iterator[tuple[IO[bytes], list[str]]]:
    """The rows of a file below its header, and the names of the columns."""
    with open_utf8(path, text_format.encoding) as file:
        content = _plain_lines(file, text_format)
        yield content, _read_header(path, content, text_format)


def _check_quotes(path: Path, text_format: TextFormat, frame: Any) -> None:
    """Check that the last row is not the rest of the file behind a quotation mark."""
    last_row = frame.slice(max(0, frame.num_rows - 1)).to_pylist()
    if not any("\n" in (cell or "") for row in last_row for cell in row.values()):
        return
    with _open_rows(path, text_format) as (content, _):
        lines = content.read().decode().splitlines(keepends=True)
    try:
        for _ in csv.reader(lines, delimiter=text_format.delimiter, strict=True):
            pass
    except csv.Error:
        raise TableError(
            f"{path} cannot be read: a quotation mark in row {frame.num_rows} is never closed"
        ) from None


def _drop_blank_rows(
    path: Path, text_format: TextFormat, missing: list[str], frame: Any
) -> tuple[Any, tuple[int, ...]]:
    """The frame without blank lines, and the numbers of those above its last row.

    A line of delimiters stays: such a row is that of a sample without values.
    """
    is_empty = _empty_rows(frame)
    if frame.num_columns == 1 or not is_empty.any():
        return frame, ()
    with _open_rows(path, text_format) as (content, header):
        frame = _read_narrow(content, header, text_format, missing)
    kept = iter([*_empty_rows(frame), False])
    next_is_empty, blank, last = next(kept), [], -1
    for row, empty in enumerate(is_empty):
        if empty and not next_is_empty:
            blank.append(row)
        else:
            next_is_empty, last = next(kept), row
    return frame, tuple(row for row in blank if row < last)


def _empty_rows(frame: Any) -> np.ndarray:
    """Mask of the rows without a value."""
    is_empty = np.ones(frame.num_rows, dtype=bool)
    for column in frame.columns:
        if not is_empty.any():
            break
        is_empty &= column.is_null().to_numpy(zero_copy_only=False).astype(bool)
    return is_empty


def _plain_lines(file: IO[bytes], text_format: TextFormat) -> IO[bytes]:
    """Content without comments and titles, and with single delimiters; often as it is."""
    if text_format.is_plain:
        return file
    comment, n_titles = text_format.comment.encode(), text_format.n_title_lines
    is_blank_separated = text_format.delimiter == " "
    lines: list[bytes] = []
    for line in file.read().splitlines():
        if comment and line.startswith(comment):
            continue
        if not line.strip():
            lines += [b""] if lines else []  # below the header, it may be an empty cell
            continue
        if n_titles:
            n_titles -= 1
            continue
        lines.append(re.sub(rb" +", b" ", line.strip(b" ")) if is_blank_separated else line)
    return io.BytesIO(b"\n".join(lines))


def _read_header(path: Path, file: IO[bytes], text_format: TextFormat) -> list[str]:
    """Column names; the file is left at the first row."""
    header = next(csv.reader(_decoded_lines(path, file), delimiter=text_format.delimiter), [])
    header = [plain_text(name) for name in header]
    if text_format.has_row_names:
        header.insert(0, "")
    _check_header(path, header)
    return [*header, TRAILING] if text_format.has_trailing_delimiter else header


def _is_empty(column: Any) -> bool:
    import pyarrow.compute as pc

    return bool(pc.all(pc.is_null(column, nan_is_null=True)).as_py())


def _decoded_lines(path: Path, file: IO[bytes]) -> Iterator[str]:
    """Lines from a buffered file, one at a time and no more than are asked for."""
    total = 0
    while line := file.readline(MAX_HEADER_CHARS + 1):
        total += len(line)
        if total > MAX_HEADER_CHARS:
            raise TableError(f"{path} has a header of more than {MAX_HEADER_CHARS >> 20} MB")
        yield line.decode()


def _check_header(path: Path, header: list[str]) -> None:
    if not any(header):
        raise TableError(f"{path} has no header: its first line must name the columns")
    unnamed = [i for i, name in enumerate(header, start=1) if not name]
    if unnamed == [1]:
        # other tools leave the column of row names unnamed
        header[0] = "Unnamed: 0" if "index" in header else "index"
    elif unnamed:
        raise TableError(f"{path} has no name for column {unnamed[0]} in its first line")
    repeated = sorted(name for name, count in Counter(header).items() if count > 1)
    if repeated:
        raise TableError(f"{path} has several columns named {', '.join(map(repr, repeated[:5]))}")


def _trim_cells(frame: Any, missing: list[str]) -> Any:
    """Remove blanks around cells of text; what is left may mean missing."""
    pa = import_pyarrow()
    import pyarrow.compute as pc

    for i, name in enumerate(frame.column_names):
        column = frame.column(i)
        if not pa.types.is_string(column.type):
            continue
        trimmed = pc.utf8_trim_whitespace(column)
        if pc.any(pc.not_equal(trimmed, column)).as_py():
            is_missing = pc.is_in(trimmed, pa.array(missing))
            cells = pc.if_else(is_missing, pa.scalar(None, pa.string()), trimmed)
            frame = frame.set_column(i, name, cells)
    return frame


def _count_missing_words(
    path: Path, header: list[str], text_format: TextFormat, column: str
) -> dict[str, int]:
    """How often words such as "None" occur in a column in which they were read as missing."""
    with _open_rows(path, text_format) as (content, _):
        frame = _read_narrow(content, header, text_format, [""], [column])
    return count_missing_words(frame[column].drop_null().to_pylist())


def count_missing_words(cells: Iterable[str]) -> dict[str, int]:
    """How often words that mean missing occur."""
    return dict(Counter(word for cell in cells if (word := cell.strip()) in MISSING_WORDS))


def _is_at_end(file: Any) -> bool:
    if isinstance(file, io.BytesIO):
        return file.tell() == len(file.getbuffer())
    return not file.peek(1)


def _read_narrow(
    file: IO[bytes],
    header: list[str],
    text_format: TextFormat,
    missing: list[str],
    columns: list[str] | None = None,
    keeps_blank: bool = False,
) -> Any:
    """Read all columns, or those named, as text; blank lines, if they are kept, as empty cells."""
    pa = import_pyarrow()
    from pyarrow import csv as pacsv

    column_ids = [f"f{i}" for i in range(len(header))]
    is_single = len(header) == 1
    if is_single:  # an empty line is an empty cell, except at the end
        file = io.BytesIO(file.read().rstrip())
    if _is_at_end(file):
        return pa.table({name: pa.array([], pa.string()) for name in header})
    table = pacsv.read_csv(
        pa.PythonFile(file, mode="r"),
        read_options=pacsv.ReadOptions(
            column_names=column_ids,
            # a row must fit into a block
            block_size=min(2**31 - 1, max(2**24, 1000 * len(header))),
        ),
        parse_options=pacsv.ParseOptions(
            delimiter=text_format.delimiter,
            newlines_in_values=True,
            ignore_empty_lines=not is_single and not keeps_blank,
        ),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(column_ids, pa.string()),
            null_values=missing,
            include_columns=[f"f{header.index(c)}" for c in columns or ()],
            strings_can_be_null=True,
        ),
    )
    return table.rename_columns(columns or header)
