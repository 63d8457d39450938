"""What is compared: a data set by name, or files, as a problem of the engine."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from consilience.benchmark.problems import Problem
from consilience.compare.record import DataSummary, InputFile, ViewPattern, ViewSummary
from consilience.datasets import DATASETS, load_dataset
from consilience.tables import (
    Table,
    TableError,
    TableView,
    join_tables,
    make_preprocessor,
    read_file,
)
from consilience.views import MultiViewData
from consilience.views import _storage as storage

__all__ = [
    "ComparisonInput",
    "FileArgument",
    "parse_files",
    "parse_views",
    "read_dataset",
    "read_tables",
]

MAX_PATTERNS = 12


@dataclass(frozen=True)
class ComparisonInput:
    """The problem, the columns of its views, and its description."""

    problem: Problem
    views: dict[str, TableView]
    summary: DataSummary
    inputs: list[InputFile]
    single_file: bool = False


@dataclass(frozen=True)
class FileArgument:
    """A file on the command line; ``view`` if it was written ``view=path``."""

    path: Path
    view: str | None


def parse_files(arguments: Sequence[str]) -> list[FileArgument]:
    """Files of the command line; ``view=path`` names the view, unless there is such a file."""
    result = []
    for text in arguments:
        view, equals, path = text.partition("=")
        named = equals and view and "/" not in view and not Path(text).exists()
        choice = FileArgument(Path(path), view) if named else FileArgument(Path(text), None)
        if choice.path.name in DATASETS and not choice.path.exists():
            raise TableError(f"{choice.path.name} is a data set; give either that name or files")
        if not choice.path.exists():
            known = f"; data sets are {', '.join(DATASETS)}" if not choice.path.suffix else ""
            raise TableError(f"there is no file {str(choice.path)!r}{known}")
        result.append(choice)
    return result


def parse_views(text: str, columns: Sequence[str]) -> dict[str, list[str]]:
    """``a=c1:c3,c7,b=c4``: names of views and their columns; ``c1:c3`` is from c1 up to c3."""
    views: dict[str, list[str]] = {}
    own: list[str] | None = None
    place = {name: i for i, name in enumerate(columns)}
    for part in map(str.strip, text.split(",")):
        name, equals, piece = map(str.strip, part.partition("="))
        if equals and part not in place:
            if not name or name in views:
                raise TableError(f"--views: {name!r} is empty or given twice")
            own = views[name] = []
        else:
            piece = part
        if own is None:
            raise TableError(f"--views: {part!r} comes before the first name; write name=columns")
        own += _range(piece, place, columns)
    return views


def _range(piece: str, place: dict[str, int], columns: Sequence[str]) -> list[str]:
    if piece in place:
        return [piece]
    if not piece:
        raise TableError("--views: a name or a comma is followed by no column")
    cuts = [i for i, letter in enumerate(piece) if letter == ":"]
    for cut in cuts:  # names may have a colon themselves
        first, last = piece[:cut].strip(), piece[cut + 1 :].strip()
        if first in place and last in place:
            if place[first] > place[last]:
                raise TableError(f"--views: {first!r} comes after {last!r} in the file")
            return list(columns[place[first] : place[last] + 1])
    raise TableError(f"--views: there is no column or range {piece!r} in the file")


def read_tables(
    files: Sequence[FileArgument],
    *,
    target: str | None,
    on: str | None = None,
    groups: str | None = None,
    views: str | None = None,
    categorical: Collection[str] = (),
    delimiter: str | None = None,
) -> ComparisonInput:
    """Read and join the files."""
    if target is None:
        raise TableError("--target COLUMN is needed: the column with the labels")
    tables: dict[str, Table] = {}
    for choice in files:
        for name, table in _named(read_file(choice.path, delimiter=delimiter), choice.view).items():
            if name in tables:
                raise TableError(
                    f"two views are called {name!r} ({tables[name].path} and {table.path}); name "
                    "them with view=path"
                )
            tables[name] = table
    divided = None
    if views is not None:
        columns = [c for table in tables.values() for c in table.columns]
        divided = parse_views(views, columns)
    read = join_tables(
        tables, target=target, on=on, groups=groups, views=divided, categorical=categorical
    )
    summary = _summary(
        ", ".join(dict.fromkeys(choice.path.name for choice in files)),
        read.data,
        read.target,
        missing_cells=read.missing_cells,
        views=read.views,
        notes=read.notes,
        groups=read.groups,
    )
    problem = Problem(
        read.data, read.target, groups=read.groups, preprocessor=make_preprocessor(read.data)
    )
    summary.data_hash = problem.fingerprint()
    inputs = [InputFile(str(choice.path), _digest(choice.path)) for choice in files]
    return ComparisonInput(problem, read.views, summary, inputs, single_file=divided is not None)


def _named(tables: dict[str, Table], view: str | None) -> dict[str, Table]:
    """Under the name that was given; several matrices of one file keep theirs behind it."""
    if view is None:
        return tables
    if len(tables) == 1:
        return {view: next(iter(tables.values()))}
    return {f"{view}.{name}": table for name, table in tables.items()}


def read_dataset(name: str) -> ComparisonInput:
    """A data set that this package knows by name."""
    bunch = load_dataset(name)
    data, target = bunch.data, np.asarray(bunch.target)
    views = {}
    for view, values in data.items():
        columns = storage.column_names(values)
        stored = data.widths[view], sp.issparse(values), data.kinds[view]
        views[view] = TableView(columns, [], *stored)
    summary = _summary(name, data, target, views=views)
    problem = Problem(data, target, splits=bunch.splits, preprocessor=make_preprocessor(data))
    summary.data_hash = problem.fingerprint()
    return ComparisonInput(problem, views, summary, [])


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _summary(
    name: str,
    data: MultiViewData,
    target: np.ndarray,
    *,
    views: dict[str, TableView],
    missing_cells: dict[str, float] | None = None,
    notes: Sequence[str] = (),
    groups: np.ndarray | None = None,
) -> DataSummary:
    classes, counts = np.unique(target, return_counts=True)
    rows = [
        ViewSummary(
            name=view,
            columns=data.widths[view],
            stored=_stored(views[view]),
            text_columns=len(views[view].text_columns),
            missing_rows=int((~data.present[:, v]).sum()),
            missing_cells=round((missing_cells or {}).get(view, 0.0), 6),
            kind=views[view].kind,
        )
        for v, view in enumerate(data.view_names)
    ]
    return DataSummary(
        name=name,
        samples=len(data),
        data_hash="",
        classes=[str(c) for c in classes],
        counts=counts.tolist(),
        views=rows,
        patterns=_patterns(data),
        notes=list(notes),
        groups=0 if groups is None else len(np.unique(groups)),
    )


def _stored(columns: TableView) -> str:
    if columns.kind != "features":
        return f"{columns.kind} matrix"
    if columns.text_columns:
        return "text" if len(columns.text_columns) == columns.width else "numbers and text"
    return "sparse numbers" if columns.sparse else "numbers"


def _patterns(data: MultiViewData) -> list[ViewPattern]:
    """Which views samples have together, the most frequent first."""
    counts = Counter(map(tuple, data.present.tolist()))
    return [
        ViewPattern(
            [n for n, is_present in zip(data.view_names, mask, strict=True) if is_present], count
        )
        for mask, count in counts.most_common(MAX_PATTERNS)
    ]
