"""Files as they are given by the user, on the command line or in a suite."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from consilience.tables._files import read_file
from consilience.tables._join import JoinedTables, join_tables
from consilience.tables._table import Table, TableError

__all__ = ["FileArgument", "parse_files", "parse_views", "read_tables"]


@dataclass(frozen=True)
class FileArgument:
    """A file given on the command line, with the name of its view if written ``view=path``."""

    path: Path
    view: str | None


def parse_files(arguments: Sequence[str], datasets: Collection[str] = ()) -> list[FileArgument]:
    """Parse file arguments; ``view=path`` names the view, unless a file has that very name.

    ``datasets`` are names that the user may have meant instead of a file.
    """
    files = []
    for text in arguments:
        view, equals, path = text.partition("=")
        has_view = equals and view and "/" not in view and not Path(text).exists()
        file = FileArgument(Path(path), view) if has_view else FileArgument(Path(text), None)
        if file.path.name in datasets and not file.path.exists():
            raise TableError(f"{file.path.name} is a data set; give either that name or files")
        if not file.path.exists():
            known = (
                f"; data sets are {', '.join(datasets)}"
                if datasets and not file.path.suffix
                else ""
            )
            raise TableError(f"there is no file {str(file.path)!r}{known}")
        files.append(file)
    return files


def parse_views(text: str, columns: Sequence[str]) -> dict[str, list[str]]:
    """Parse ``a=c1:c3,c7,b=c4`` into the columns of each view; ``c1:c3`` includes both ends."""
    views: dict[str, list[str]] = {}
    current_view: list[str] | None = None
    position = {name: i for i, name in enumerate(columns)}
    for part in map(str.strip, text.split(",")):
        name, equals, column_range = map(str.strip, part.partition("="))
        if equals and part not in position:
            if not name or name in views:
                raise TableError(f"--views: the view name {name!r} is empty or given twice")
            current_view = views[name] = []
        else:
            column_range = part
        if current_view is None:
            raise TableError(f"--views: {part!r} comes before the first name; write name=columns")
        current_view += _expand_range(column_range, position, columns)
    return views


def _expand_range(text: str, position: dict[str, int], columns: Sequence[str]) -> list[str]:
    if text in position:
        return [text]
    if not text:
        raise TableError("--views: a name or a comma is not followed by a column")
    colons = [i for i, letter in enumerate(text) if letter == ":"]
    for colon in colons:  # column names may contain colons themselves
        first, last = text[:colon].strip(), text[colon + 1 :].strip()
        if first in position and last in position:
            if position[first] > position[last]:
                raise TableError(f"--views: {first!r} comes after {last!r} in the file")
            return list(columns[position[first] : position[last] + 1])
    raise TableError(f"--views: there is no column or range {text!r} in the file")


def read_tables(
    files: Sequence[FileArgument],
    *,
    target: str | None,
    on: str | None = None,
    groups: str | None = None,
    views: str | None = None,
    categorical: Collection[str] = (),
    delimiter: str | None = None,
    keep: Collection[str] = (),
) -> JoinedTables:
    """Read and join the files; the options are those of ``join_tables``, with ``views`` as text."""
    if target is None:
        raise TableError("--target COLUMN is required: the column with the labels")
    tables: dict[str, Table] = {}
    for file in files:
        file_tables = read_file(file.path, delimiter=delimiter)
        for name, table in _name_views(file_tables, file.view).items():
            if name in tables:
                raise TableError(
                    f"two views are called {name!r} ({tables[name].path} and {table.path}); name "
                    "them with view=path"
                )
            tables[name] = table
    view_columns = None
    if views is not None:
        columns = [c for table in tables.values() for c in table.columns]
        view_columns = parse_views(views, columns)
    return join_tables(
        tables,
        target=target,
        on=on,
        groups=groups,
        views=view_columns,
        categorical=categorical,
        keep=keep,
    )


def _name_views(tables: dict[str, Table], view: str | None) -> dict[str, Table]:
    """Apply the given view name; if a file has several matrices, it becomes their prefix."""
    if view is None:
        return tables
    if len(tables) == 1:
        return {view: next(iter(tables.values()))}
    return {f"{view}.{name}": table for name, table in tables.items()}
