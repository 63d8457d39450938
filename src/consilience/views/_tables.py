"""Join of tables by a key column; each table becomes a view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import narwhals as nw
import numpy as np

from consilience.views import _storage as storage
from consilience.views._data import MultiViewData

__all__ = ["join_tables"]


def join_tables(tables: Mapping[str, Any], on: str) -> MultiViewData:
    """Outer join on the column ``on``; samples are in order of first appearance."""
    if not isinstance(tables, Mapping) or not tables:
        raise TypeError(
            "from_tables requires a dict of view name -> dataframe with at least one table"
        )
    frames = {name: _read_table(name, table, on) for name, table in tables.items()}
    keys = {name: _keys(name, frame, on) for name, frame in frames.items()}
    types = {name: {_type_name(key) for key in values} for name, values in keys.items()}
    if len(set().union(*types.values())) > 1:
        listed = ", ".join(f"{name!r} has {' and '.join(sorted(k))}" for name, k in types.items())
        raise TypeError(f"the key {on!r} has different types in the tables: {listed}")
    ids = list(dict.fromkeys(key for values in keys.values() for key in values))
    views, present = {}, np.zeros((len(ids), len(frames)), dtype=bool)
    for v, (name, frame) in enumerate(frames.items()):
        row_of = {key: row for row, key in enumerate(keys[name])}
        rows = np.array([row_of.get(key, -1) for key in ids])
        table = frame.drop(on).to_native()
        # row 0 is a placeholder for absent samples, whose values are never read
        views[name] = storage.take_rows(table, np.maximum(rows, 0))
        present[:, v] = (rows >= 0) & ~storage.missing_rows(views[name])
    return MultiViewData(views, present=present, sample_ids=ids)


def _type_name(key: Any) -> str:
    """Type name of a key; datetimes with and without a time zone are never equal."""
    if isinstance(key, datetime):
        return "datetime" if key.tzinfo is None else "datetime with time zone"
    return type(key).__name__


def _read_table(name: str, table: Any, on: str) -> nw.DataFrame:
    if not storage.is_dataframe(table):
        raise TypeError(f"table {name!r} must be a dataframe, got {type(table).__name__}")
    frame: nw.DataFrame = nw.from_native(table, eager_only=True)
    if on not in frame.columns:
        hint = " (it is the index: use reset_index() to convert it to a column)"
        raise ValueError(
            f"table {name!r} has no column {on!r}"
            + (hint if on in getattr(getattr(table, "index", None), "names", []) else "")
            + f"; its columns are {storage.format_list(frame.columns)}"
        )
    if frame.shape[1] == 1:
        raise ValueError(f"table {name!r} has no column other than the key {on!r}")
    return frame


def _keys(name: str, frame: nw.DataFrame, on: str) -> list[Any]:
    column = frame[on]
    if column.is_null().any():
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise ValueError(f"table {name!r} has no value of the key {on!r} in row {row}")
    values = column.to_list()
    if not values:
        raise ValueError(f"table {name!r} has no rows")
    duplicates = [key for key, count in Counter(values).items() if count > 1]
    if duplicates:
        raise ValueError(
            f"table {name!r} has several rows with {on!r} = {storage.format_list(duplicates)}"
        )
    return values
