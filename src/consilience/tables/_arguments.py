"""Files as they are given by the user, on the command line or in a suite."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from consilience._suggest import suggest
from consilience.tables._content import file_kind, file_stem
from consilience.tables._files import READABLE, read_file
from consilience.tables._join import JoinedTables, join_tables
from consilience.tables._keys import normalise_keys, rename_keys
from consilience.tables._numbers import unify_points
from consilience.tables._stack import stack_tables
from consilience.tables._table import Table, TableError, plain_text
from consilience.tables._text_format import ReadOptions
from consilience.tables._transpose import transpose_table
from consilience.views._storage import format_list

__all__ = ["FileArgument", "parse_files", "parse_keys", "parse_views", "read_tables", "table_of"]

ALL_VIEWS = "all"
DEFAULT_KEY = "sample"  # column of the header of a transposed table


@dataclass(frozen=True)
class FileArgument:
    """A file given on the command line, with the name of its view if written ``view=path``.

    ``part`` is what follows ``#``: a sheet, layer or modality. ``skipped`` are other files of the
    same folder, which are no tables.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from consilience.tables import parse_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "blood.csv")
    ...     _ = path.write_text("a,b")
    ...     parse_files([f"lab={path}"])[0].view
    'lab'
    """

    path: Path
    view: str | None
    part: str | None = None
    skipped: tuple[str, ...] = ()


def parse_files(arguments: Sequence[str], datasets: Collection[str] = ()) -> list[FileArgument]:
    """Parse file arguments; ``view=path`` names the view, unless a file has that very name.

    A folder stands for all tables in it. ``datasets`` are names that the user may have meant
    instead of a file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from consilience.tables import parse_files
    >>> table = pd.DataFrame({"hb": [13.1, 12.2] * 4, "crp": [2, 9] * 4, "ill": ["no", "yes"] * 4})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "blood.csv")
    ...     table.to_csv(path, index=False)
    ...     parse_files([f"lab={path}"])[0].view
    'lab'
    """
    files: list[FileArgument] = []
    for text in arguments:
        view, equals, path = text.partition("=")
        has_view = equals and view and "/" not in view and not Path(text).exists()
        file = _split_part(path, view) if has_view else _split_part(text, None)
        if file.path.name in datasets and not file.path.exists():
            raise TableError(f"{file.path.name} is a data set; give either that name or files")
        if not file.path.exists():
            raise TableError(_describe_absent(file.path, datasets))
        files += _list_folder(file) if file.path.is_dir() else [file]
    return files


def _split_part(text: str, view: str | None) -> FileArgument:
    path, _, part = text.partition("#")
    is_path = not part or Path(text).exists()
    return FileArgument(Path(text), view) if is_path else FileArgument(Path(path), view, part)


def _describe_absent(path: Path, datasets: Collection[str]) -> str:
    folder = path.parent
    nearby = [str(f) for f in folder.iterdir()] if folder.is_dir() else []
    hint = suggest(str(path), nearby)
    known = f"; data sets are {', '.join(datasets)}" if datasets and not path.suffix else ""
    return f"there is no file {str(path)!r}{hint}{known}"


def _list_folder(folder: FileArgument) -> list[FileArgument]:
    """Tables of a folder: views, or batches of one view if it is named or a folder within one."""
    files, skipped = [], []
    for path in sorted(folder.path.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir() and (path / "run.toml").exists():
            skipped.append(path.name)  # the results of a comparison
        elif path.is_dir() and folder.view is None:
            files += _list_folder(FileArgument(path, path.name))
        elif file_kind(path) in READABLE:
            files.append(FileArgument(path, folder.view))
        else:
            skipped.append(path.name)
    if not files and folder.view is None:
        raise TableError(f"the folder {folder.path} contains no table")
    return [replace(files[0], skipped=tuple(skipped)), *files[1:]] if files else []


def parse_keys(texts: Sequence[str]) -> dict[str, str]:
    """Parse ``view=COLUMN``, the key column of each view.

    Examples
    --------
    >>> from consilience.tables import parse_keys
    >>> parse_keys(["blood=patient"])
    {'blood': 'patient'}
    """
    keys = {}
    for text in texts:
        view, equals, column = map(str.strip, text.partition("="))
        if not equals or not view or not column:
            raise TableError(f"--key must be VIEW=COLUMN, got {text!r}")
        if view in keys:
            raise TableError(f"--key {view} is given twice")
        keys[view] = column
    return keys


def parse_views(text: str, columns: Sequence[str]) -> dict[str, list[str]]:
    """Parse ``a=c1:c3,c7,b=mean_*`` into the columns of each view; ``c1:c3`` includes both ends.

    Examples
    --------
    >>> from consilience.tables import parse_views
    >>> parse_views("a=c1:c2,b=mean_*", ["c1", "c2", "mean_x"])
    {'a': ['c1', 'c2'], 'b': ['mean_x']}
    """
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
    if any(letter in text for letter in "*?["):
        matching = [name for name in columns if fnmatchcase(name, text)]
        if matching:
            return matching
        raise TableError(f"--views: no column matches {text!r}")
    hint = suggest(text, columns)
    raise TableError(f"--views: there is no column or range {text!r} in the file{hint}")


def table_of(
    view: str, files: Sequence[tuple[str, Table]], notes: list[str], key: str | None = None
) -> Table:
    """One table of a view from one or several files, each with its name.

    ``key`` is the name of the key column of a table to transpose; None leaves it as it is.
    """
    tables = [table if key is None else transpose_table(table, key) for _, table in files]
    tables = unify_points(tables)
    notes += [table.note for table in tables if table.note and table.note not in notes]
    if len(tables) == 1:
        return tables[0]
    stacked, note = stack_tables(view, tables, [name for name, _ in files])
    notes.append(note)
    return stacked


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
    drop: Collection[str] = (),
    reading: ReadOptions | None = None,
    keys: Mapping[str, str] | None = None,
    transpose: Collection[str] = (),
    normalised_keys: bool = False,
    drop_rare: int = 0,
    unlabelled: str = "drop",
) -> JoinedTables:
    """Read and join the files; the options are those of ``join_tables``, with ``views`` as text.

    ``keys`` are key columns of other names than ``on`` by view, and ``transpose`` the views whose
    files have one column for each sample.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from consilience.tables import parse_files, read_tables
    >>> table = pd.DataFrame({"hb": [13.1, 12.2] * 4, "crp": [2, 9] * 4, "ill": ["no", "yes"] * 4})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "blood.csv")
    ...     table.to_csv(path, index=False)
    ...     joined = read_tables(parse_files([str(path)]), target="ill")
    >>> joined.data.view_names, len(joined.target)
    (('blood',), 8)
    """
    target, on, groups = (None if n is None else plain_text(n) for n in (target, on, groups))
    categorical, keep, drop = (list(map(plain_text, names)) for names in (categorical, keep, drop))
    keys = {view: plain_text(column) for view, column in (keys or {}).items()}
    notes = _skipped_notes(files)
    if target is None:
        raise TableError("--target COLUMN is required: the column with the labels")
    reading = reading or ReadOptions(delimiter=delimiter)
    text = {name for name in (target, on, groups, *keys.values(), *categorical) if name}
    reading = replace(reading, text_columns=frozenset(text), labels=target)
    tables = _read_views(files, reading, transpose, on or DEFAULT_KEY, notes)
    tables, on = rename_keys(tables, keys, on)
    if normalised_keys:
        if on is None:
            raise TableError("--normalise-keys needs a key: add --on COLUMN")
        _check_have_key(tables, on)
        tables, key_notes = normalise_keys(tables, on)
        notes += key_notes
    view_columns = None
    if views is not None:
        columns = [c for table in tables.values() for c in table.columns]
        view_columns = parse_views(views, columns)
    joined = join_tables(
        tables,
        target=target,
        on=on,
        groups=groups,
        views=view_columns,
        categorical=categorical,
        keep=keep,
        drop=drop,
        drop_rare=drop_rare,
        unlabelled=unlabelled,
    )
    return replace(joined, notes=[*notes, *joined.notes], key=on or "")


def _skipped_notes(files: Sequence[FileArgument]) -> list[str]:
    return [
        f"{file.path.parent}: not read, because they are no tables: {format_list(file.skipped)}"
        for file in files
        if file.skipped
    ]


def _check_have_key(tables: Mapping[str, Table], on: str) -> None:
    for table in tables.values():
        if on not in table.columns:
            raise TableError(f"{table.path} has no column {on!r}{suggest(on, table.columns)}")


def _read_views(
    files: Sequence[FileArgument],
    reading: ReadOptions,
    transpose: Collection[str],
    key: str,
    notes: list[str],
) -> dict[str, Table]:
    """Tables by view; files that were given for the same view are stacked."""
    parts: dict[str, list[tuple[str, Table]]] = {}
    for file in files:
        file_tables = read_file(file.path, part=file.part, options=reading)
        for name, table in _name_views(file_tables, file).items():
            if name in parts and file.view is None:
                raise TableError(
                    f"two views are called {name!r} ({parts[name][0][1].path} and {table.path}); "
                    "name them with view=path, or give both the same name to stack their rows"
                )
            parts.setdefault(name, []).append((file_stem(file.path), table))
    turned = set(parts) if ALL_VIEWS in transpose else set(transpose)
    unknown = sorted(turned - set(parts))
    if unknown:
        raise TableError(
            f"--transpose {unknown[0]}: there is no such view{suggest(unknown[0], parts)}; the "
            f"views are {format_list(parts)}"
        )
    return {
        view: table_of(view, tables, notes, key if view in turned else None)
        for view, tables in parts.items()
    }


def _name_views(tables: dict[str, Table], file: FileArgument) -> dict[str, Table]:
    """Apply the given view name; if a file has several tables, it becomes their prefix."""
    if file.view is None:
        return tables
    if len(tables) == 1:
        return {file.view: next(iter(tables.values()))}
    return {f"{file.view}.{name}": table for name, table in tables.items()}
