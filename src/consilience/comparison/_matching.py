"""Which view of a model a new file is: by the name given, the file name, or the columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from consilience._suggest import suggest
from consilience.tables import FileArgument, ReadOptions, Table, TableError, TableModel, read_file
from consilience.tables._arguments import ALL_VIEWS, table_of
from consilience.tables._content import file_stem
from consilience.tables._transpose import transpose_table
from consilience.views._storage import format_list

__all__ = ["LABEL_FILE", "match_files"]

LABEL_FILE = "\0labels"  # the name of no view


def match_files(
    model: TableModel,
    files: Sequence[FileArgument],
    reading: ReadOptions,
    transpose: Collection[str],
    key: str,
    notes: list[str],
) -> dict[str, Table]:
    """Tables by view; files that were given for the same view are stacked."""
    parts: dict[str, list[tuple[str, Table]]] = {}
    named = {file.view for file in files}
    for file in files:
        matched = _match_views(model, file, reading, transpose, key)
        texts = _text_views(model, matched)
        matched |= {view: table for view, table in texts.items() if view not in named}
        for view, table in matched.items():
            if view in parts and (file.view is None or view == LABEL_FILE):
                other = parts[view][0][1].path
                what = "labels" if view == LABEL_FILE else f"view {view!r}"
                raise TableError(f"{other} and {table.path} are both {what}")
            parts.setdefault(view, []).append((file_stem(file.path), table))
    if list(parts) == [LABEL_FILE]:
        raise TableError(f"{files[0].path} has the labels, but there is no file of a view")
    return {view: table_of(view, tables, notes) for view, tables in parts.items()}


def _match_views(
    model: TableModel,
    file: FileArgument,
    reading: ReadOptions,
    transpose: Collection[str],
    key: str,
) -> dict[str, Table]:
    """Views that a file contains, by the name given, by the file name, or by its columns."""
    name = file.view if file.view is not None else file_stem(file.path)
    known = model.views.get(name)
    width = known.width if known is not None and known.columns is None else None
    first_index = None if known is None else known.first_index
    tables = read_file(
        file.path, part=file.part, options=reading, n_features=width, first_index=first_index
    )
    if ALL_VIEWS in transpose or name in transpose or _is_transposed(model, name, tables):
        tables = {array: transpose_table(table, key) for array, table in tables.items()}
    if len(tables) > 1:
        prefix = "" if file.view is None else f"{file.view}."
        by_view = {f"{prefix}{array}": table for array, table in tables.items()}
        unknown = [view for view in by_view if view not in model.views]
        if unknown:
            raise TableError(
                f"{file.path} has the arrays {format_list(unknown)}, but the model has the views "
                f"{format_list(model.views)}"
            )
        return by_view
    table = next(iter(tables.values()))
    if name in model.views and not (model.single_file and file.view is None):
        return {name: table}
    if file.view is not None:
        hint = suggest(file.view, model.views)
        raise TableError(
            f"the model has no view {file.view!r}{hint}; it has {format_list(model.views)}"
        )
    columns = set(table.columns) | set(table.matrix_columns or [])
    matching = [
        name
        for name, view in model.views.items()
        if view.columns is not None and columns >= set(view.columns)
    ]
    if not model.single_file:  # free text goes with the view whose table it is in
        matching = [name for name in matching if model.views[name].source not in matching]
    if matching and model.single_file:
        _check_whole_views(model, matching, columns, file)
        return dict.fromkeys(matching, table)
    if len(matching) == 1:
        return {matching[0]: table}
    if matching:
        raise TableError(
            f"{file.path} has the columns of several views ({format_list(matching)}); "
            "write view=path"
        )
    if model.target in columns and not _shares_columns(model, columns):
        return {LABEL_FILE: table}
    raise TableError(
        f"{file.path} is none of the views {format_list(model.views)}"
        f"{_closest_view_hint(model, columns)}"
    )


def _check_whole_views(
    model: TableModel, matching: Sequence[str], columns: set[str], file: FileArgument
) -> None:
    """Check that a file has all columns of a view or none."""
    for name, view in model.views.items():
        missing = [column for column in view.columns or [] if column not in columns]
        if name not in matching and len(missing) < view.width:
            raise TableError(
                f"{file.path} has only some of the columns of view {name!r}: it lacks "
                f"{format_list(missing)}; add them, or leave out the whole view"
            )


def _is_transposed(model: TableModel, name: str, tables: dict[str, Table]) -> bool:
    """Whether a file has a column for each sample, as the one of the comparison had."""
    if name not in model.transposed or len(tables) > 1:
        return False
    (table,) = tables.values()
    return not set(table.columns) & set(model.views[name].columns or [])


def _text_views(model: TableModel, matched: dict[str, Table]) -> dict[str, Table]:
    """Views of the free text in the tables of other views."""
    return {
        name: matched[view.source]
        for name, view in model.views.items()
        if name not in matched and view.source in matched
    }


def _shares_columns(model: TableModel, columns: set[str]) -> bool:
    return any(columns & set(view.columns or []) for view in model.views.values())


def _closest_view_hint(model: TableModel, columns: set[str]) -> str:
    """Name the columns that are missing for the view that matches best."""
    missing = {
        name: [c for c in view.columns if c not in columns]
        for name, view in model.views.items()
        if view.columns is not None and columns & set(view.columns)
    }
    if not missing:
        return "; write view=path"
    closest = min(missing, key=lambda name: len(missing[name]))
    return f"; for {closest!r} it lacks the columns {format_list(missing[closest])}"
