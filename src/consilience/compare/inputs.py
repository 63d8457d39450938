"""Input of a comparison: a data set by name, or files, as a problem for the engine."""

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
    read_file,
)
from consilience.views import MultiViewData, ViewPreparer
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
    """The problem, the columns of its views, a summary, and the files it was read from."""

    problem: Problem
    views: dict[str, TableView]
    summary: DataSummary
    inputs: list[InputFile]
    single_file: bool = False


@dataclass(frozen=True)
class FileArgument:
    """A file given on the command line, with the name of its view if written ``view=path``."""

    path: Path
    view: str | None


def parse_files(arguments: Sequence[str]) -> list[FileArgument]:
    """Parse file arguments; ``view=path`` names the view, unless a file has that very name."""
    files = []
    for text in arguments:
        view, equals, path = text.partition("=")
        has_view = equals and view and "/" not in view and not Path(text).exists()
        file = FileArgument(Path(path), view) if has_view else FileArgument(Path(text), None)
        if file.path.name in DATASETS and not file.path.exists():
            raise TableError(f"{file.path.name} is a data set; give either that name or files")
        if not file.path.exists():
            known = f"; data sets are {', '.join(DATASETS)}" if not file.path.suffix else ""
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
) -> ComparisonInput:
    """Read and join the files."""
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
    joined = join_tables(
        tables, target=target, on=on, groups=groups, views=view_columns, categorical=categorical
    )
    summary = _summary(
        ", ".join(dict.fromkeys(file.path.name for file in files)),
        joined.data,
        joined.target,
        missing_cells=joined.missing_cells,
        views=joined.views,
        notes=joined.notes,
        groups=joined.groups,
    )
    problem = Problem(
        joined.data,
        joined.target,
        groups=joined.groups,
        preprocessor=ViewPreparer(scale=True),
    )
    summary.data_hash = problem.fingerprint()
    inputs = [InputFile(str(file.path), _sha256(file.path)) for file in files]
    return ComparisonInput(
        problem, joined.views, summary, inputs, single_file=view_columns is not None
    )


def _name_views(tables: dict[str, Table], view: str | None) -> dict[str, Table]:
    """Apply the given view name; if a file has several matrices, it becomes their prefix."""
    if view is None:
        return tables
    if len(tables) == 1:
        return {view: next(iter(tables.values()))}
    return {f"{view}.{name}": table for name, table in tables.items()}


def read_dataset(name: str) -> ComparisonInput:
    """Read a data set by its name in ``DATASETS``."""
    bunch = load_dataset(name)
    data, target = bunch.data, np.asarray(bunch.target)
    views = {}
    for view, values in data.items():
        columns = storage.column_names(values)
        is_sparse = sp.issparse(values)
        views[view] = TableView(columns, [], data.widths[view], is_sparse, data.kinds[view])
    summary = _summary(name, data, target, views=views)
    problem = Problem(data, target, splits=bunch.splits, preprocessor=ViewPreparer(scale=True))
    summary.data_hash = problem.fingerprint()
    return ComparisonInput(problem, views, summary, [])


def _sha256(path: Path) -> str:
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
            content=_describe_content(views[view]),
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


def _describe_content(view: TableView) -> str:
    if view.kind != "features":
        return f"{view.kind} matrix"
    if view.text_columns:
        return "text" if len(view.text_columns) == view.width else "numbers and text"
    return "sparse numbers" if view.sparse else "numbers"


def _patterns(data: MultiViewData) -> list[ViewPattern]:
    """The most frequent combinations of views that samples have."""
    counts = Counter(map(tuple, data.present.tolist()))
    return [
        ViewPattern(
            [n for n, is_present in zip(data.view_names, mask, strict=True) if is_present], count
        )
        for mask, count in counts.most_common(MAX_PATTERNS)
    ]
