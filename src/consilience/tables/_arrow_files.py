"""Files in Arrow's own formats: parquet and feather."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from consilience.tables._numbers import clean_numbers
from consilience.tables._table import Table, TableError, check_memory, import_pyarrow, plain_text
from consilience.tables._text_format import ReadOptions

__all__ = ["read_feather", "read_parquet"]

PARQUET_CELL_BYTES = 8
PANDAS_INDEX = "__index_level_0__"


def read_parquet(path: Path, options: ReadOptions) -> Table:
    """Read a parquet file."""
    pa = import_pyarrow()
    from pyarrow import parquet

    schema = parquet.read_schema(path)
    text_columns = [f.name for f in schema if pa.types.is_string(f.type)]
    with parquet.ParquetFile(path, read_dictionary=text_columns) as file:
        check_memory(path, file.metadata.num_rows * len(schema) * PARQUET_CELL_BYTES)
        frame = file.read()
    # a long text that is stored once may be the content of millions of cells
    check_memory(path, sum(map(_text_bytes, frame.columns)))
    return _to_table(path, frame.cast(schema), options)


def read_feather(path: Path, options: ReadOptions) -> Table:
    """Read a feather file, of the second version or Arrow's own stream."""
    pa = import_pyarrow()
    with pa.OSFile(str(path), "rb") as source:
        if source.read(6) == b"ARROW1":
            source.seek(0)
            frame = pa.ipc.open_file(source).read_all()
        else:
            source.seek(0)
            frame = pa.ipc.open_stream(source).read_all()
    frame.validate(full=True)  # offsets of damaged files may lead anywhere
    return _to_table(path, frame, options)


def _text_bytes(column: Any) -> int:
    """Size of the cells of a column of encoded text; 0 for other columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not pa.types.is_dictionary(kind) or not pa.types.is_string(kind.value_type):
        return 0
    sizes = (pc.binary_length(c.dictionary).cast(pa.int64()).take(c.indices) for c in column.chunks)
    return sum(pc.sum(part).as_py() or 0 for part in sizes)


def _to_seconds(column: Any) -> Any:
    """Durations as numbers, as those of workbooks are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    nanoseconds = column.cast(pa.duration("ns"), safe=False).cast(pa.int64()).cast(pa.float64())
    return pc.divide(nanoseconds, 1e9)


def _pandas_categories(schema: Any) -> set[str]:
    """Columns that pandas wrote as categories; parquet itself keeps only those that are text."""
    try:
        content = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        columns = [(c["name"], c["pandas_type"]) for c in content.get("columns", [])]
    except (ValueError, KeyError, TypeError, AttributeError):  # not written by pandas
        return set()
    return {str(name) for name, kind in columns if kind == "categorical"}


def _to_table(path: Path, frame: Any, options: ReadOptions) -> Table:
    """Check the columns, and name the index of pandas if it identifies the rows."""
    pa = import_pyarrow()
    categorical = _pandas_categories(frame.schema)
    for i, field in enumerate(frame.schema):
        kind = field.type
        if pa.types.is_nested(kind) or "binary" in str(kind):
            raise TableError(
                f"{path}: column {field.name!r} contains {kind}, neither numbers nor text"
            )
        if str(kind) in ("string_view", "null"):  # polars' texts, and a column without a cell
            frame = frame.set_column(i, field.name, frame.column(i).cast(pa.string()))
        elif pa.types.is_duration(kind):
            frame = frame.set_column(i, field.name, _to_seconds(frame.column(i)))
        elif field.name in categorical and not pa.types.is_dictionary(kind):
            frame = frame.set_column(i, field.name, frame.column(i).dictionary_encode())
    names = [plain_text(str(name)) for name in frame.column_names]
    if len(set(names)) < len(names):
        raise TableError(f"{path} has several columns of the same name")
    frame = frame.rename_columns(names)
    if PANDAS_INDEX in names:
        index = frame[PANDAS_INDEX]
        if "index" in names or len(index.unique()) < len(index):
            frame = frame.drop_columns([PANDAS_INDEX])
        else:  # it identifies the rows
            frame = frame.rename_columns([n if n != PANDAS_INDEX else "index" for n in names])
    decimal = options.decimal or options.default_decimal
    clean = clean_numbers(
        str(path),
        frame,
        decimal or ".",
        options.text_columns,
        dict(options.points),
        bool(decimal),
    )
    note = clean.describe()
    return Table(
        str(path),
        clean.frame,
        note=f"{path}: {note}" if note else "",
        points=clean.points,
        percents=clean.percents,
    )
