"""Tables of the same samples, joined by a key into views."""

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
    """Outer join by ``on``; the samples stand in order of first appearance."""
    if not isinstance(tables, Mapping) or not tables:
        raise TypeError(
            "from_tables needs a dict of view name -> dataframe with at least one table"
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
        where = {key: row for row, key in enumerate(keys[name])}
        rows = np.array([where.get(key, -1) for key in ids])
        table = frame.drop(on).to_native()
        # row 0 stands in for absent samples: present says that nobody may read it
        views[name] = storage.take_rows(table, np.maximum(rows, 0))
        present[:, v] = (rows >= 0) & ~storage.missing_rows(views[name])
    return MultiViewData(views, present=present, sample_ids=ids)


def _type_name(key: Any) -> str:
    """Keys of one name can be equal; dates with and without a time zone never are."""
    if isinstance(key, datetime):
        return "datetime" if key.tzinfo is None else "datetime with time zone"
    return type(key).__name__


def _read_table(name: str, table: Any, on: str) -> nw.DataFrame:
    if not storage.is_dataframe(table):
        raise TypeError(f"table {name!r} must be a dataframe, got {type(table).__name__}")
    frame: nw.DataFrame = nw.from_native(table, eager_only=True)
    if on not in frame.columns:
        hint = " (it is the index: reset_index() makes a column of it)"
        raise ValueError(
            f"table {name!r} has no column {on!r}"
            + (hint if on in getattr(getattr(table, "index", None), "names", []) else "")
            + f"; its columns are {storage.format_list(frame.columns)}"
        )
    if frame.shape[1] == 1:
        raise ValueError(f"table {name!r} has no column besides the key {on!r}")
    return frame


def _keys(name: str, frame: nw.DataFrame, on: str) -> list[Any]:
    column = frame[on]
    if column.is_null().any():
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise ValueError(f"table {name!r} has no key {on!r} in row {row}")
    values = column.to_list()
    if not values:
        raise ValueError(f"table {name!r} has no rows")
    twice = [key for key, count in Counter(values).items() if count > 1]
    if twice:
        raise ValueError(
            f"table {name!r} has several rows with {on!r} = {storage.format_list(twice)}"
        )
    return values
