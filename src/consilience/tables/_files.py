"""Files of tables: csv, tsv, parquet, npz and svmlight, read as a frame, a matrix, or both.

Any problem with a file is reported in one sentence that names it. The cells of a csv file stay text
until their purpose is known, since a key must not lose its leading zeros.
"""

from __future__ import annotations

import csv
import math
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["Table", "TableError", "number_column", "read_file", "text_column"]

# common spellings of a missing value
MISSING_VALUES = ["", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "?", "#N/A"]
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
TAB_NAMES = ("\\t", "tab")  # accepted for a tab on the command line
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
MAX_HEADER_CHARS = 64 * 2**20
PANDAS_INDEX = "__index_level_0__"  # in parquet files
LABEL, QUERY = "label", "qid"  # columns of an svmlight file in addition to its features


class TableError(ValueError):
    """A table cannot be used; the message names it and suggests what to do."""


@dataclass(frozen=True)
class Table:
    """Content of a file: named columns (an Arrow table) and optionally a feature matrix."""

    path: str
    frame: Any
    matrix: Any = None

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
    except (ValueError, KeyError, EOFError, csv.Error, zipfile.BadZipFile) as error:
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
        ".npz": lambda: _read_npz(path),
        **dict.fromkeys((".svm", ".svmlight", ".libsvm"), lambda: _read_svmlight(path, n_features)),
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


def _read_parquet(path: Path) -> Table:
    pa = import_pyarrow()
    from pyarrow import parquet

    frame = parquet.read_table(path)
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


def _read_npz(path: Path) -> Table | dict[str, Table]:
    pa = import_pyarrow()
    # opened here, since np.load does not close a broken file
    with open(path, "rb") as content, np.load(content, allow_pickle=False) as file:
        sparse = "format" in file.files and "shape" in file.files
        arrays = {} if sparse else {name: file[name] for name in file.files}
    if sparse:
        return Table(str(path), pa.table({}), sp.csr_array(sp.load_npz(path)))
    matrices = {name: array for name, array in arrays.items() if array.ndim == 2}
    columns = {name: array for name, array in arrays.items() if array.ndim == 1}
    if len(matrices) + len(columns) < len(arrays):
        wrong = next(n for n in arrays if n not in matrices and n not in columns)
        raise TableError(f"{path}: array {wrong!r} has {arrays[wrong].ndim} dimensions, not 1 or 2")
    if len({len(array) for array in arrays.values()}) > 1:
        raise TableError(f"the arrays of {path} have different numbers of rows")
    frame = pa.table({name: pa.array(array.tolist()) for name, array in columns.items()})
    if not matrices:
        return Table(str(path), frame)
    tables = {}
    for name, array in matrices.items():
        if array.dtype.kind not in "biuf":
            raise TableError(f"{path}: array {name!r} contains {array.dtype}, not numbers")
        tables[name] = Table(str(path), frame, array.astype(np.float64))
    return tables if len(tables) > 1 else next(iter(tables.values()))


def _read_svmlight(path: Path, n_features: int | None) -> Table:
    from sklearn.datasets import load_svmlight_file

    pa = import_pyarrow()
    # n_features is applied afterwards, since indices start at 1 unless the file contains a 0
    loaded = load_svmlight_file(str(path), query_id=True)
    matrix, labels, queries = loaded
    if n_features is not None:
        if matrix.shape[1] > n_features:
            raise TableError(
                f"{path} has {matrix.shape[1]} features, but the model has {n_features}"
            )
        matrix = sp.csr_array(
            (matrix.data, matrix.indices, matrix.indptr), (len(labels), n_features)
        )
    columns = {LABEL: labels, **({QUERY: queries} if np.any(queries) else {})}
    return Table(str(path), pa.table(columns), sp.csr_array(matrix))


# -- columns ---------------------------------------------------------------------------------


def text_column(table: Table, name: str) -> list[str | None]:
    """Cells as text, None where missing; integers are written without a decimal point."""
    column = table.frame[name]
    if str(column.type) in ("string", "large_string"):
        return [None if v is None else v.strip() for v in column.to_pylist()]
    return [_to_text(value) for value in column.to_pylist()]


def _to_text(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def number_column(table: Table, name: str, *, required: bool = False) -> np.ndarray | None:
    """Cells as floats, NaN where missing; None if the column is text.

    A column that consists mostly of numbers is an error rather than text, since the other cells
    are probably typos.
    """
    pa = import_pyarrow()
    import pyarrow.compute as pc

    column = table.frame[name]
    kind = column.type
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
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        raise TableError(f"{table.path}: column {name!r} is infinite in row {row + 1}")
    return numbers


def _check_not_mixed(table: Table, name: str, cells: list[str | None], required: bool) -> None:
    known = [(row, cell) for row, cell in enumerate(cells, start=1) if cell is not None]
    texts = [(row, cell) for row, cell in known if not _is_number(cell)]
    if texts and all(DECIMAL_COMMA.fullmatch(cell) for _, cell in texts):
        raise TableError(
            f"{table.path}: column {name!r} has numbers with a decimal comma, such as "
            f"{texts[0][1]!r} in row {texts[0][0]}; use a decimal point"
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
    return True
