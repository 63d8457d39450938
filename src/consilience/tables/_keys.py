"""Keys of samples: columns of different names, and spellings that differ only in form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from consilience._suggest import suggest
from consilience.tables._table import Table, TableError, import_pyarrow, text_column
from consilience.views._storage import format_list

__all__ = ["normalise_key", "normalise_keys", "rename_keys"]

LEADING_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")


def normalise_key(key: str) -> str:
    """Return a key without blanks, leading zeros and upper case: "p 007" and "P7" are the same."""
    return LEADING_ZEROS.sub("", "".join(key.split()).casefold())


def rename_keys(
    tables: Mapping[str, Table], keys: Mapping[str, str], on: str | None
) -> tuple[dict[str, Table], str | None]:
    """Give the key columns of all tables the same name, and return it."""
    unknown = [view for view in keys if view not in tables]
    if unknown:
        raise TableError(
            f"--key {unknown[0]}=…: there is no such view{suggest(unknown[0], tables)}; the views "
            f"are {format_list(tables)}"
        )
    own = {name: table.key for name, table in tables.items() if table.key}
    if on is None and not keys and (len(own) < len(tables) or len(tables) == 1):
        return dict(tables), None
    on = on or next(iter(keys.values()), None) or next(iter(own.values()))
    renamed = {}
    for name, table in tables.items():
        column = keys.get(name) or (on if on in table.columns else own.get(name, on))
        renamed[name] = _rename_column(table, column, on, name)
    return renamed, on


def _rename_column(table: Table, column: str, on: str, view: str) -> Table:
    if column == on:
        return table
    if column not in table.columns:
        raise TableError(
            f"--key {view}={column}: {table.path} has no such column"
            f"{suggest(column, table.columns)}; it has {format_list(table.columns, limit=12)}"
        )
    if on in table.columns:
        raise TableError(
            f"--key {view}={column}: {table.path} also has a column {on!r}, the key of other files"
        )
    names = [on if name == column else name for name in table.columns]
    return replace(table, frame=table.frame.rename_columns(names))


def normalise_keys(tables: Mapping[str, Table], on: str) -> tuple[dict[str, Table], list[str]]:
    """Spell the keys of all tables as the first one does; a note says how many rows that joins."""
    pa = import_pyarrow()
    before = {name: set(text_column(table, on)) for name, table in tables.items()}
    normalised, after = {}, {}
    spelling: dict[str, str] = {}  # of each normalised key in the first table that has it
    for name, table in tables.items():
        cells = text_column(table, on)
        _check_distinct(table, on, cells, [None if c is None else normalise_key(c) for c in cells])
        keys = [None if c is None else spelling.setdefault(normalise_key(c), c) for c in cells]
        position = table.columns.index(on)
        frame = table.frame.set_column(position, on, pa.array(keys, pa.string()))
        normalised[name], after[name] = replace(table, frame=frame), set(keys)
    n_gained = sum(len(_in_others(after, name)) - len(_in_others(before, name)) for name in tables)
    return normalised, [
        f"keys normalised (case, blanks, leading zeros): {n_gained} rows join that did not before"
    ]


def _in_others(keys: Mapping[str, set[str | None]], name: str) -> set[str | None]:
    others = set().union(*(values for other, values in keys.items() if other != name))
    return keys[name] & others


def _check_distinct(table: Table, on: str, cells: list[str | None], keys: list[str | None]) -> None:
    first: dict[str, str] = {}
    for cell, key in zip(cells, keys, strict=True):
        if key is None or cell is None:
            continue
        if first.setdefault(key, cell) != cell:
            raise TableError(
                f"{table.path}: {first[key]!r} and {cell!r} in {on!r} would be the same sample "
                "after normalisation; leave out --normalise-keys"
            )
