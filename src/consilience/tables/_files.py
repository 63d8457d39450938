"""Files of tables: csv, tsv, parquet, npz and svmlight, read as a frame, a matrix, or both.

Any problem with a file is reported in one sentence that names it. The cells of a csv file stay text
until their purpose is known, since a key must not lose its leading zeros.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from consilience.tables._matrix_files import read_npz, read_svmlight
from consilience.tables._table import Table, TableError, check_memory, import_pyarrow

__all__ = ["read_file"]

# common spellings of a missing value
MISSING_VALUES = ["", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "?", "#N/A"]
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
TAB_NAMES = ("\\t", "tab")  # accepted for a tab on the command line
MAX_HEADER_CHARS = 64 * 2**20
PARQUET_CELL_BYTES = 8
PANDAS_INDEX = "__index_level_0__"  # in parquet files


@contextmanager
def _reading_errors(path: Path) -> Iterator[None]:
    """Turn any error of a reader into one sentence that names the file."""
    try:
        yield
    except TableError:
        raise
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise TableError(
            f"{path} is not encoded in UTF-8 (byte {byte:#04x} at {error.start}); save it as UTF-8"
        ) from None
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise TableError(f"{path} cannot be read: {reason}") from None
    except MemoryError:
        raise TableError(f"{path} cannot be read: it needs more memory than there is") from None
    except OverflowError:
        raise TableError(f"{path} cannot be read: it contains a number that is too large") from None
    except Exception as error:  # readers raise all kinds of errors for damaged content
        message = (str(error).splitlines() or [type(error).__name__])[0][:300]
        if "invalid UTF8" in message:
            raise TableError(f"{path} is not encoded in UTF-8; save it as UTF-8") from None
        raise TableError(f"{path} cannot be read: {message}") from None


def read_file(
    path: str | Path, *, delimiter: str | None = None, n_features: int | None = None
) -> dict[str, Table]:
    """Read the tables of a file, named after the file or after the matrices of an npz file.

    Parameters
    ----------
    path : str or path
        A file whose name ends in .csv, .tsv, .tab, .parquet, .npz, .svm, .svmlight or .libsvm.
    delimiter : str, optional
        Delimiter of a csv file; by default it depends on the file extension.
    n_features : int, optional
        Number of columns of an svmlight file, which does not record it.

    Returns
    -------
    dict of str -> Table
    """
    path = Path(path)
    kind = path.suffix.lower()
    if path.is_dir():
        raise TableError(f"{path} is a folder, not a file")
    readers: dict[str, Callable[[], Table | dict[str, Table]]] = {
        **dict.fromkeys(DELIMITERS, lambda: _read_csv(path, delimiter or DELIMITERS[kind])),
        **dict.fromkeys((".parquet", ".pq"), lambda: _read_parquet(path)),
        ".npz": lambda: read_npz(path),
        **dict.fromkeys((".svm", ".svmlight", ".libsvm"), lambda: read_svmlight(path, n_features)),
    }
    if kind not in readers:
        raise TableError(
            f"{path} has an unknown format; the name must end in {', '.join(sorted(readers))}"
        )
    with _reading_errors(path):
        if path.stat().st_size == 0:
            raise TableError(f"{path} is empty")
        content = readers[kind]()
    tables = content if isinstance(content, dict) else {path.stem: content}
    for table in tables.values():
        if table.n_rows == 0:
            raise TableError(f"{path} has no rows")
    return tables


# -- csv -------------------------------------------------------------------------------------


def _read_csv(path: Path, delimiter: str) -> Table:
    pa = import_pyarrow()
    from pyarrow import csv as pacsv

    delimiter = "\t" if delimiter in TAB_NAMES else delimiter
    if len(delimiter) != 1 or delimiter in '"\n\r':
        raise TableError(f"the delimiter must be one character, got {delimiter!r}")
    header, n_header_lines = _read_header(path, delimiter)
    _check_header(path, header, delimiter)
    column_ids = [f"f{i}" for i in range(len(header))]
    table = pacsv.read_csv(
        path,
        read_options=pacsv.ReadOptions(
            column_names=column_ids,
            skip_rows=n_header_lines,
            # a row must fit into a block
            block_size=min(2**31 - 1, max(2**24, 1000 * len(header))),
        ),
        parse_options=pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(column_ids, pa.string()),
            null_values=MISSING_VALUES,
            strings_can_be_null=True,
        ),
    )
    return Table(str(path), table.rename_columns(header))


def _read_header(path: Path, delimiter: str) -> tuple[list[str], int]:
    """Column names, and the number of lines they occupy."""
    with open(path, encoding="utf-8-sig", newline="") as file:

        def lines() -> Iterator[str]:
            total = 0
            while line := file.readline(MAX_HEADER_CHARS + 1):
                total += len(line)
                if total > MAX_HEADER_CHARS:
                    raise TableError(
                        f"{path} has a header of more than {MAX_HEADER_CHARS >> 20} MB"
                    )
                yield line

        reader = csv.reader(lines(), delimiter=delimiter)
        header = next(reader, [])
        return [name.strip() for name in header], reader.line_num


def _check_header(path: Path, header: list[str], delimiter: str) -> None:
    if not any(header):
        raise TableError(f"{path} has no header: its first line must name the columns")
    if len(header) == 1:
        other = next((d for d in ";\t,|" if d != delimiter and d in header[0]), None)
        if other is not None:
            raise TableError(
                f"{path} has only one column, {header[0][:60]!r}; if it is separated by "
                f"{other!r}, use --delimiter {other!r}"
            )
    unnamed = [i for i, name in enumerate(header, start=1) if not name]
    if unnamed == [1]:
        # other tools leave the column of row names unnamed
        header[0] = "Unnamed: 0" if "index" in header else "index"
    elif unnamed:
        raise TableError(f"{path} has no name for column {unnamed[0]} in its first line")
    repeated = sorted(name for name, count in Counter(header).items() if count > 1)
    if repeated:
        raise TableError(f"{path} has several columns named {', '.join(map(repr, repeated[:5]))}")


# -- other formats ---------------------------------------------------------------------------


def _text_bytes(column: Any) -> int:
    """Size of the cells of a column of encoded text; 0 for other columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not pa.types.is_dictionary(kind) or not pa.types.is_string(kind.value_type):
        return 0
    sizes = (pc.binary_length(c.dictionary).cast(pa.int64()).take(c.indices) for c in column.chunks)
    return sum(pc.sum(part).as_py() or 0 for part in sizes)


def _read_parquet(path: Path) -> Table:
    pa = import_pyarrow()
    from pyarrow import parquet

    schema = parquet.read_schema(path)
    text_columns = [f.name for f in schema if pa.types.is_string(f.type)]
    with parquet.ParquetFile(path, read_dictionary=text_columns) as file:
        check_memory(path, file.metadata.num_rows * len(schema) * PARQUET_CELL_BYTES)
        frame = file.read()
    # a long text that is stored once may be the content of millions of cells
    check_memory(path, sum(map(_text_bytes, frame.columns)))
    frame = frame.cast(schema)
    for name, kind in zip(frame.column_names, frame.schema.types, strict=True):
        if pa.types.is_nested(kind) or pa.types.is_binary(kind):
            raise TableError(f"{path}: column {name!r} contains {kind}, neither numbers nor text")
    names = [str(name).strip() for name in frame.column_names]
    if len(set(names)) < len(names):
        raise TableError(f"{path} has several columns of the same name")
    frame = frame.rename_columns(names)
    if PANDAS_INDEX in names:
        index = frame[PANDAS_INDEX]
        if "index" in names or len(index.unique()) < len(index):
            frame = frame.drop_columns([PANDAS_INDEX])
        else:  # it identifies the rows
            frame = frame.rename_columns([n if n != PANDAS_INDEX else "index" for n in names])
    return Table(str(path), frame)
