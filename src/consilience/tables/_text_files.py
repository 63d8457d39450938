"""Text files of tables, such as csv and tsv.

The cells stay text until their purpose is known, since a key must not lose its leading zeros; only
in wide files are numbers converted at once.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from consilience.tables._content import file_kind, open_utf8, single_byte_encoding
from consilience.tables._numbers import clean_numbers
from consilience.tables._table import Table, TableError, import_pyarrow
from consilience.tables._text_format import DELIMITERS, ReadOptions, TextFormat, sniff_format
from consilience.tables._wide_files import MIN_WIDE_COLUMNS, read_wide

__all__ = ["MISSING_VALUES", "read_text"]

# common spellings of a missing value
MISSING_VALUES = ["", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "?", "#N/A"]
MISSING_VALUES += ["<NA>", "#NA", "NaT"]
USUAL_WORDS = frozenset(MISSING_VALUES) - {""}
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
    with open_utf8(path, text_format.encoding) as file:
        content = _plain_lines(file, text_format)
        header = _read_header(path, content, text_format)
        missing = [*MISSING_VALUES, *options.na]
        if len(header) >= MIN_WIDE_COLUMNS:
            frame = read_wide(path, content, header, text_format, missing, options.text_columns)
        else:
            frame = _read_narrow(content, header, text_format, missing)
    frame = _trim_cells(frame, missing)
    incomplete = [c for c in header if c in options.text_columns and frame[c].null_count]
    words = _count_missing_words(path, header, text_format, incomplete)
    frame, note = clean_numbers(str(path), frame, text_format.decimal, skip=options.text_columns)
    return Table(str(path), frame, note=note, missing_words=words)


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
    header = [name.strip() for name in header]
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
    path: Path, header: list[str], text_format: TextFormat, columns: list[str]
) -> dict[str, dict[str, int]]:
    """How often words such as "None" occur in columns in which they were read as missing."""
    if not columns:
        return {}
    with open_utf8(path, text_format.encoding) as file:
        content = _plain_lines(file, text_format)
        _read_header(path, content, text_format)
        frame = _read_narrow(content, header, text_format, [""], columns)
    counts = {
        c: Counter(cell.strip() for cell in frame[c].drop_null().to_pylist()) for c in columns
    }
    return {c: {word: n for word, n in counts[c].items() if word in USUAL_WORDS} for c in columns}


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
) -> Any:
    """Read all columns, or those named, as text."""
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
            ignore_empty_lines=not is_single,
        ),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(column_ids, pa.string()),
            null_values=missing,
            include_columns=[f"f{header.index(c)}" for c in columns or ()],
            strings_can_be_null=True,
        ),
    )
    return table.rename_columns(columns or header)
