"""Keys of samples: columns of different names, and spellings that differ only in form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from consilience._suggest import suggest
from consilience.tables._table import Table, TableError, import_pyarrow, text_column
from consilience.views._storage import format_list

__all__ = ["check_spelling", "gains_by_spelling", "normalise_keys", "rename_keys"]

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


def gains_by_spelling(tables: Mapping[str, Table], on: str) -> dict[str, tuple[int, int]]:
    """How many keys of each table are in another file: as they are spelled, and if normalised.

    Both are the same if normalisation would make two keys of a table equal.
    """
    keys = {name: {k for k in text_column(t, on) if k is not None} for name, t in tables.items()}
    others = {name: _keys_elsewhere(tables, keys, name) for name in tables}
    n_shared = {name: len(keys[name] & others[name]) for name in tables}
    if all(n == len(keys[name]) for name, n in n_shared.items()):
        return {name: (n, n) for name, n in n_shared.items()}
    normalised = {name: set(map(normalise_key, keys[name])) for name in tables}
    if any(len(normalised[name]) < len(keys[name]) for name in tables):
        return {name: (n, n) for name, n in n_shared.items()}
    others = {name: _keys_elsewhere(tables, normalised, name) for name in tables}
    return {name: (n, len(normalised[name] & others[name])) for name, n in n_shared.items()}


def _keys_elsewhere(
    tables: Mapping[str, Table], keys: Mapping[str, set[str]], name: str
) -> set[str]:
    paths = {other: table.path for other, table in tables.items()}
    return set().union(*(keys[other] for other in tables if paths[other] != paths[name]))


def check_spelling(tables: Mapping[str, Table], on: str) -> str | None:
    """Return a note if more keys of the files would match after normalisation.

    It is an error if fewer than half of the keys of a file match, but at least half would.
    """
    gains = gains_by_spelling(tables, on)
    name = max(gains, key=lambda each: gains[each][1] - gains[each][0])
    n_shared, n_normalised = gains[name]
    n_keys = tables[name].n_rows
    if n_normalised == n_shared:
        return None
    text = (
        f"{n_shared} of {n_keys} {on!r} of {tables[name].path} are in another file, but "
        f"{n_normalised} if case, blanks and leading zeros are ignored"
    )
    if 2 * n_shared < n_keys <= 2 * n_normalised:
        raise TableError(f"{text}; add --normalise-keys, or correct the keys")
    return f"{text}; add --normalise-keys if they are the same samples"


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
