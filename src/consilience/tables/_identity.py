"""Identity of samples across files: which columns are features, and which join the files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from consilience.tables._roles import (
    CATEGORY,
    NUMBER,
    ColumnContent,
    ColumnRole,
    assign_role,
    inspect_column,
    measured_columns,
)
from consilience.tables._table import LABEL, QUERY, Table, TableError, text_column
from consilience.tables._words import name_text_views
from consilience.views._storage import format_list

__all__ = [
    "ViewSources",
    "check_key_is_given",
    "inspect_tables",
    "left_out_note",
    "other_roles",
    "select_features",
]

ViewSources = dict[str, tuple[str, list[str] | None]]  # view -> table and columns (None: matrix)
TableContents = dict[str, dict[str, ColumnContent]]  # table -> column -> content
MAX_NAMED_COLUMNS = 20


def inspect_tables(
    tables: Mapping[str, Table],
    sources: ViewSources,
    special: Collection[str],
    orders: Mapping[str, np.ndarray],
) -> TableContents:
    """Contents of all columns of views, and of those beside a matrix that may be keys.

    ``orders`` holds the rows of each table by key.
    """
    contents: TableContents = {}
    for name, columns in sources.values():
        of_table = contents.setdefault(name, {})
        if columns is None:
            columns = [c for c in tables[name].columns if c not in {*special, LABEL, QUERY}]
        frame = tables[name].frame
        measured = measured_columns(frame, columns)
        for column in columns:
            if column in tables[name].annotations:
                of_table[column] = ColumnContent("category", tables[name].annotations[column])
            elif column in measured:
                of_table[column] = NUMBER
            else:
                of_table[column] = inspect_column(frame[column], column, order=orders.get(name))
    return contents


def check_key_is_given(
    tables: Mapping[str, Table], contents: TableContents, keep: Collection[str]
) -> None:
    """Check that files without a key have no column that could join them."""
    if len(contents) < 2:
        return
    candidates = {
        name: [c for c, content in columns.items() if _could_be_key(content) and c not in keep]
        for name, columns in contents.items()
    }
    for one, other in combinations(contents, 2):
        if tables[one].path == tables[other].path:
            continue
        for column in candidates[one]:
            if column in candidates[other] and _is_shared_key(tables, contents, one, other, column):
                _check_row_order(tables, column, one, other)
        _check_other_name(tables, contents, candidates, one, other)


def _could_be_key(content: ColumnContent) -> bool:
    return content.is_identifier or not content.reason


def _is_shared_key(
    tables: Mapping[str, Table], contents: TableContents, one: str, other: str, column: str
) -> bool:
    """Whether a column of both files identifies samples, by its values or by being in both."""
    if contents[one][column].is_identifier or contents[other][column].is_identifier:
        return True
    if "." in str(tables[one].frame[column][0]):
        return False  # measured; most columns end here
    first, second = text_column(tables[one], column), text_column(tables[other], column)
    is_whole = all(cell is not None and "." not in cell for cell in first)
    return is_whole and len(first) == len(set(first)) > 1 and set(first) == set(second)


def _check_row_order(tables: Mapping[str, Table], column: str, one: str, other: str) -> None:
    lacking = [table.path for table in tables.values() if column not in table.columns]
    first, second = text_column(tables[one], column), text_column(tables[other], column)
    if lacking and first == second:
        return  # the order of the rows is right, and the key cannot be used
    advice = f" (and add that column to {format_list(lacking)})" if lacking else ""
    raise TableError(
        f"{tables[one].path} and {tables[other].path} both have the column {column!r}, which "
        f"identifies samples; join them with --on {column}{advice}"
    )


def _check_other_name(
    tables: Mapping[str, Table],
    contents: TableContents,
    candidates: Mapping[str, list[str]],
    one: str,
    other: str,
) -> None:
    """Check that no identifier has another name and another order in a second file."""
    for column in candidates[one]:
        if not contents[one][column].is_identifier:
            continue
        first = text_column(tables[one], column)
        for name in candidates[other]:
            if name == column or not contents[other][name].is_identifier:
                continue
            second = text_column(tables[other], name)
            if first == second or _is_running(first) or not set(first) & set(second):
                continue
            raise TableError(
                f"{column!r} of {tables[one].path} and {name!r} of {tables[other].path} have the "
                "same values in different rows; give both the same name and join the files with "
                "--on NAME"
            )


def _is_running(cells: list[str | None]) -> bool:
    """Whether the cells are the numbers of the rows, from 0 or 1, in any order."""
    texts = set(cells)
    return any(texts == {str(i + start) for i in range(len(cells))} for start in (0, 1))


def select_features(
    sources: ViewSources,
    contents: TableContents,
    keep: Collection[str],
    categorical: Collection[str] = (),
) -> tuple[ViewSources, dict[str, str], list[ColumnRole]]:
    """The columns of each view that are features, and the roles of all columns.

    A column of free text becomes a view; the second result names the view that it was part of.
    """
    numbers: ViewSources = {}
    roles: list[ColumnRole] = []
    for view, (name, columns) in sources.items():
        if columns is None:
            numbers[view] = name, None
            continue
        given = {c: CATEGORY if c in categorical else contents[name][c] for c in columns}
        of_view = [assign_role(view, column, content, keep) for column, content in given.items()]
        roles += of_view
        used = [r.column for r in of_view if not r.reason and r.role != "text"]
        if used:
            numbers[view] = name, used
    texts = name_text_views([(r.view, r.column) for r in roles if r.role == "text"], numbers)
    features: ViewSources = {}
    for view, (name, _) in sources.items():
        features |= {view: numbers[view]} if view in numbers else {}
        own = {title: column for (source, column), title in texts.items() if source == view}
        features |= {title: (name, [column]) for title, column in own.items()}
    roles = [
        replace(role, view=texts[role.view, role.column]) if role.role == "text" else role
        for role in roles
    ]
    return features, {title: view for (view, _), title in texts.items()}, roles


def other_roles(
    tables: Mapping[str, Table],
    sources: ViewSources,
    on: str | None,
    target: str,
    groups: str | None,
) -> list[ColumnRole]:
    """Roles of the columns of all tables that belong to no view."""
    named = {on: "key", target: "target", groups: "groups"}
    in_view = {(name, column) for name, columns in sources.values() for column in columns or []}
    return [
        ColumnRole(name, column, named[column])
        if column in named
        else ColumnRole(name, column, "left out", "in no view")
        for name, table in tables.items()
        for column in table.columns
        if (name, column) not in in_view
    ]


def left_out_note(roles: Collection[ColumnRole], option: str = "--keep") -> str | None:
    """Name the columns that are no features, and the option that keeps them."""
    left_out = list(dict.fromkeys((role.column, role.reason) for role in roles if role.reason))
    if not left_out:
        return None
    named = ", ".join(f"{column!r} ({reason})" for column, reason in left_out[:MAX_NAMED_COLUMNS])
    rest = len(left_out) - MAX_NAMED_COLUMNS
    more = f" and {rest} more" if rest > 0 else ""
    word = "column" if len(left_out) == 1 else "columns"
    return f"left out: {word} {named}{more}; to use one as a feature, name it in {option}"
