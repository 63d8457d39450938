"""Outer join by key: of sequences of keys, and of dataframes that become views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from datetime import datetime
from typing import Any

import narwhals as nw
import numpy as np

from consilience.views import _storage as storage
from consilience.views._data import MultiViewData
from consilience.views._index import has_index, id_array, is_default

__all__ = ["check_keys", "join_dataframes", "outer_join"]


def outer_join(
    keys: Mapping[str, Sequence[Hashable]],
) -> tuple[list[Any], dict[str, np.ndarray]]:
    """Match the rows of tables by key.

    Parameters
    ----------
    keys : dict of table -> sequence
        The key of each row; unique within a table.

    Returns
    -------
    ids : list
        All keys, in order of first appearance.
    rows : dict of table -> int array of shape (n_ids,)
        The row of each key, −1 where the table does not have it.
    """
    ids = list(dict.fromkeys(key for table_keys in keys.values() for key in table_keys))
    rows = {}
    for name, table_keys in keys.items():
        row_of_key = {key: row for row, key in enumerate(table_keys)}
        rows[name] = np.array([row_of_key.get(key, -1) for key in ids], dtype=np.intp)
    return ids, rows


def check_keys(keys: Sequence[Hashable | None], *, table: str, on: str, first_row: int = 0) -> None:
    """Check that no key is empty (None) or occurs twice.

    ``table`` is how error messages refer to the table, ``on`` its key column, and ``first_row`` the
    number of its first row.
    """
    for row, key in enumerate(keys, start=first_row):
        if key is None:
            raise ValueError(f"{table} has no {on!r} in row {row}")
    duplicates = [key for key, count in Counter(keys).items() if count > 1]
    if duplicates:
        raise ValueError(
            f"{table} has several rows with {on!r} = {storage.format_list(duplicates)}"
        )


def join_dataframes(tables: Mapping[str, Any], on: str | None) -> MultiViewData:
    """Outer join on a column or the index; samples are in order of first appearance."""
    if not isinstance(tables, Mapping) or not tables:
        raise TypeError(
            "from_tables requires a dict of view name -> dataframe with at least one table"
        )
    keyed = {name: _split_key(name, table, on) for name, table in tables.items()}
    keys = {name: table_keys for name, (table_keys, _) in keyed.items()}
    types = {name: {_type_name(key) for key in values} for name, values in keys.items()}
    if len(set().union(*types.values())) > 1:
        listed = ", ".join(f"{name!r} has {' and '.join(sorted(k))}" for name, k in types.items())
        key = "index" if on is None else f"key {on!r}"
        raise TypeError(f"the {key} has different types in the tables: {listed}")
    ids, rows = outer_join(keys)
    views, present = {}, np.zeros((len(ids), len(keyed)), dtype=bool)
    for v, (name, (_, table)) in enumerate(keyed.items()):
        # row 0 is a placeholder for absent samples, whose values are never read
        view = storage.take_rows(table, np.maximum(rows[name], 0))
        views[name] = view.set_axis(ids) if has_index(view) else view
        present[:, v] = (rows[name] >= 0) & ~storage.missing_rows(views[name])
    return MultiViewData(views, present=present, sample_ids=ids)


def _type_name(key: Any) -> str:
    """Type name of a key; datetimes with and without a time zone are never equal."""
    if isinstance(key, datetime):
        return "datetime" if key.tzinfo is None else "datetime with time zone"
    return type(key).__name__


def _split_key(name: str, table: Any, on: str | None) -> tuple[list[Any], Any]:
    """Keys of the rows, and the table without its key column."""
    if not storage.is_dataframe(table):
        raise TypeError(f"table {name!r} must be a dataframe, got {type(table).__name__}")
    frame: nw.DataFrame = nw.from_native(table, eager_only=True)
    if len(frame) == 0:
        raise ValueError(f"table {name!r} has no rows")
    if on in frame.columns:
        if frame.shape[1] == 1:
            raise ValueError(f"table {name!r} has no column other than the key {on!r}")
        keys, is_empty = frame[on].to_list(), frame[on].is_null().to_list()
        table = frame.drop(on).to_native()
    else:
        keys = _index_keys(name, table, on, frame.columns)
        is_empty = [key is None or storage.is_nan(key) for key in keys]
    keys = [None if empty else key for key, empty in zip(keys, is_empty, strict=True)]
    check_keys(keys, table=f"table {name!r}", on="index" if on is None else on)
    return keys, table


def _index_keys(name: str, table: Any, on: str | None, columns: list[str]) -> list[Any]:
    """Keys in the index of a table: any but an unnamed default one, or the one called ``on``."""
    if on is not None:
        if has_index(table) and list(table.index.names) == [on]:
            return table.index.tolist()
        raise ValueError(
            f"table {name!r} has no column {on!r}; its columns are {storage.format_list(columns)}"
        )
    if not has_index(table):
        raise ValueError(
            f"table {name!r} has no index to join on; pass on= with the name of its key column"
        )
    if table.index.names == [None] and is_default(id_array(table.index.tolist())):
        raise ValueError(
            f"table {name!r} has a default index, which does not identify samples; pass on= with "
            "the name of its key column, or set the index"
        )
    return table.index.tolist()
