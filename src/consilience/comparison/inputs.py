"""Input of a comparison: views in memory, a data set by name, or files, as a problem to study."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from consilience._targets import check_labels, check_weights
from consilience._warnings import warn_user
from consilience.benchmark.problems import Problem, ProblemFiles
from consilience.comparison._copies import copy_notes
from consilience.comparison._row_weights import RowWeights, sum_weights
from consilience.comparison.record import (
    ColumnGroup,
    DataSummary,
    InputFile,
    ViewPattern,
    ViewSummary,
)
from consilience.datasets import load_dataset
from consilience.tables import ColumnRole, FileArgument, ReadOptions, TableView, read_tables
from consilience.tables._arguments import ALL_VIEWS
from consilience.tables._categories import find_categories
from consilience.tables._frames import frame_roles, select_frame_features, text_view_names
from consilience.tables._identity import left_out_note
from consilience.tables._leakage import is_grave, leakage_notes
from consilience.tables._table import plain_text
from consilience.tables._units import text_number_notes
from consilience.views import MultiViewData, as_multiview
from consilience.views import _storage as storage
from consilience.views._encode import MAX_CATEGORIES
from consilience.views._index import check_aligned, is_default
from consilience.views._pairwise import check_ids, number_ids

__all__ = ["ComparisonInput", "read_dataset", "read_files", "read_views"]

MAX_PATTERNS = 12
MAX_NAMED_COLUMNS = 5
CATEGORICAL_TYPES = (nw.String, nw.Categorical, nw.Enum)
MAX_NAMED_SAMPLES = 5000  # whose keys are recorded
ROLES = (
    "number",
    "category",
    "date",
    "text",
    "key",
    "target",
    "groups",
    "left out",
)  # in this order


@dataclass(frozen=True)
class ComparisonInput:
    """The problem, the columns of its views, a summary, and the files it was read from."""

    problem: Problem
    views: dict[str, TableView]
    summary: DataSummary
    inputs: list[InputFile]
    target: str = ""
    key: str = ""  # column on which files were joined
    single_file: bool = False
    transposed: tuple[str, ...] = ()  # views whose files have a column for each sample
    normalised_keys: bool = False
    na: tuple[str, ...] = ()  # cells that mean missing besides the usual ones
    roles: tuple[ColumnRole, ...] = ()  # of the columns of dataframes in memory
    source: ProblemFiles | None = None  # from which workers elsewhere can read the same


def read_views(
    X: Any, y: Any, groups: Any = None, sample_weight: Any = None, keep: Sequence[str] = ()
) -> ComparisonInput:
    """Read views in memory with their labels; ``keep`` are columns to use in any case."""
    data = as_multiview(X)
    check_aligned(data, y=y, groups=groups, sample_weight=sample_weight)
    _check_views(data)
    roles = frame_roles(data, keep)
    unread = text_number_notes(data, roles)
    data = select_frame_features(data, roles)
    target = check_labels(y, len(data), "compare")
    if len(np.unique(target)) < 2:
        raise ValueError(f"y has only one class, {str(target[0])!r}; at least two are needed")
    if groups is not None:
        groups = check_ids("groups", groups, len(data))
        # groups of several types have no order
        groups = number_ids(groups)[1] if len(set(map(type, groups.tolist()))) > 1 else groups
    weight = None if sample_weight is None else check_weights(sample_weight, len(data))
    problem = Problem(data, target, groups=groups, sample_weight=weight)
    notes = [note for note in (left_out_note(roles, option="keep"),) if note is not None]
    notes += unread
    texts = _text_roles(roles)
    notes += [
        f"{role.column!r} is free text; its {len(role.words)} words are a view"
        for role in texts.values()
    ]
    names = {name: role.words for name, role in texts.items()}
    grouped = _with_groups(data, groups)
    leaks = [*leakage_notes(grouped, target, names), *copy_notes(grouped)]
    for leak in filter(is_grave, leaks):
        warn_user(leak)
    return _from_problem("data", problem, roles, [*notes, *leaks])


def _with_groups(data: MultiViewData, groups: np.ndarray | None) -> MultiViewData:
    return data if groups is None else data.with_groups(groups)


def _check_views(data: MultiViewData) -> None:
    """Check what no method could be fitted on; single empty cells and categories are fine."""
    if data.is_lazy:
        raise TypeError("compare needs data in memory; load dask arrays with .compute()")
    has_view = data.present.any(axis=1)
    if not has_view.all():
        rows = storage.format_list(np.flatnonzero(~has_view))
        raise ValueError(f"{(~has_view).sum()} samples have no view at all: rows {rows}; drop them")
    for v, (name, view) in enumerate(data.items()):
        storage.check_two_dimensional(view, name)
        if not storage.n_columns(view):
            raise ValueError(f"view {name!r} has no columns")
        if data.kinds[name] != "features" or storage.is_dataframe(view) or view.dtype.kind != "f":
            continue
        cell = storage.first_non_finite(view, data.present[:, v], allow_nan=True)
        if cell is not None:
            raise ValueError(f"view {name!r} contains infinity: row {cell[0]}, column {cell[1]}")


def read_files(files: Sequence[FileArgument], **options: Any) -> ComparisonInput:
    """Read and join files; the options are those of ``read_tables``."""
    joined = read_tables(files, **options)
    problem = Problem(
        joined.data, joined.target, groups=joined.groups, unlabelled=joined.unlabelled
    )
    names = {name: view.feature_names for name, view in joined.views.items()}
    grouped = _with_groups(joined.data, joined.groups)
    summary = _summary(
        ", ".join(dict.fromkeys(file.path.name for file in files)),
        problem,
        views=joined.views,
        notes=[
            *joined.notes,
            *_many_categories(joined.data, joined.views),
            *leakage_notes(grouped, joined.target, names),
            *copy_notes(grouped),
        ],
        roles=joined.roles,
    )
    absolute = tuple(replace(file, path=file.path.absolute()) for file in files)
    return ComparisonInput(
        problem,
        joined.views,
        summary,
        [InputFile(str(file.path), file_digest(file.path)) for file in files],
        source=ProblemFiles(absolute, options, summary.data_hash),
        target=plain_text(options["target"]),
        key=joined.key,
        single_file=options.get("views") is not None,
        transposed=_transposed_views(joined.views, options.get("transpose", ())),
        normalised_keys=options.get("normalised_keys", False),
        na=(options.get("reading") or ReadOptions()).na,
    )


def _transposed_views(views: dict[str, TableView], names: Collection[str]) -> tuple[str, ...]:
    return tuple(view for view in views if view in names or ALL_VIEWS in names)


def read_dataset(name: str) -> ComparisonInput:
    """Read a data set by its name in ``DATASETS``."""
    bunch = load_dataset(name)
    problem = Problem(bunch.data, np.asarray(bunch.target), splits=bunch.splits)
    return _from_problem(name, problem)


def _from_problem(
    name: str, problem: Problem, roles: Sequence[ColumnRole] = (), notes: Sequence[str] = ()
) -> ComparisonInput:
    data = problem.data
    views = {view: _describe_columns(data, view, roles) for view in data.view_names}
    notes = [*_many_categories(data, views), *notes]
    summary = _summary(name, problem, views=views, notes=notes, roles=roles)
    return ComparisonInput(problem, views, summary, [], roles=tuple(roles))


def _many_categories(data: MultiViewData, views: dict[str, TableView]) -> list[str]:
    """Name columns with more categories than methods are given."""
    many: list[str] = []
    for name, view in views.items():
        if not view.text_columns or view.words:
            continue
        frame = nw.from_native(data[name], eager_only=True)
        columns = {str(frame.columns[j]): frame[:, j] for j in range(frame.shape[1])}
        texts = [c for c in view.text_columns if columns[c].dtype in CATEGORICAL_TYPES]
        counts = {c: columns[c].drop_nulls().n_unique() for c in texts}
        many += [f"{c!r} ({n})" for c, n in counts.items() if n > MAX_CATEGORIES]
    if not many:
        return []
    named = ", ".join(many[:MAX_NAMED_COLUMNS]) + (", ..." if many[MAX_NAMED_COLUMNS:] else "")
    return [
        f"more than {MAX_CATEGORIES} categories: {named}; only the {MAX_CATEGORIES} most frequent "
        "of the training rows are told apart"
    ]


def _describe_columns(data: MultiViewData, name: str, roles: Sequence[ColumnRole]) -> TableView:
    view, width = data[name], data.widths[name]
    text = _text_roles(roles).get(name)
    if text is not None:
        column = [text.column]
        return TableView(column, column, width, True, words=text.words, source=text.view)
    text_columns = _text_columns(view) if storage.is_dataframe(view) else []
    columns = storage.column_names(view) if data.kinds[name] == "features" else None
    columns = None if columns is None else [str(column) for column in columns]
    of_view = [role for role in roles if role.view == name]
    return TableView(
        columns,
        text_columns,
        width,
        sp.issparse(view),
        data.kinds[name],
        date_columns=tuple(role.column for role in of_view if role.role == "date"),
        left_out=tuple(role.column for role in of_view if role.reason),
        date_formats=tuple((r.column, r.date_format) for r in of_view if r.role == "date"),
        categories=find_categories(view, text_columns),
    )


def _text_roles(roles: Sequence[ColumnRole]) -> dict[str, ColumnRole]:
    """Roles of the columns of free text in dataframes, by the names of their views."""
    by_column = {(role.view, role.column): role for role in roles}
    return {title: by_column[key] for key, title in text_view_names(roles).items()}


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _summary(
    name: str,
    problem: Problem,
    *,
    views: dict[str, TableView],
    notes: Sequence[str] = (),
    roles: Sequence[ColumnRole] = (),
) -> DataSummary:
    data, groups = problem.data, problem.groups
    classes, counts = np.unique(problem.target, return_counts=True)
    rows = [
        ViewSummary(
            name=view,
            columns=data.widths[view],
            content=_describe_content(views[view]),
            text_columns=0 if views[view].words else len(views[view].text_columns),
            missing_rows=int((~data.present[:, v]).sum()),
            missing_cells=float(f"{_share_of_empty_cells(data, v):.6g}"),
            kind=views[view].kind,
        )
        for v, view in enumerate(data.view_names)
    ]
    return DataSummary(
        name=name,
        samples=len(data),
        data_hash=problem.fingerprint(),
        classes=[str(c) for c in classes],
        counts=counts.tolist(),
        views=rows,
        patterns=_patterns(data),
        notes=list(notes),
        groups=0 if groups is None else len(np.unique(groups)),
        columns=_group_columns(roles),
        sample_ids=[] if len(data) > MAX_NAMED_SAMPLES else _sample_names(data),
        class_weights=[] if problem.sample_weight is None else sum_weights(problem).sums,
        tested=RowWeights() if problem.sample_weight is None else sum_weights(problem),
    )


def _sample_names(data: MultiViewData) -> list[str]:
    """Keys of the samples; none if they are only counted."""
    ids = data.sample_ids
    return [] if ids is None or is_default(ids) else [str(name) for name in ids]


def _group_columns(roles: Sequence[ColumnRole]) -> list[ColumnGroup]:
    """Group columns of the same view, role and reason."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for role in roles:
        groups.setdefault((role.view, role.role, role.reason), []).append(role.column)
    by_role = sorted(groups, key=lambda key: ROLES.index(key[1]))
    return [
        ColumnGroup(view, role, groups[view, role, reason], reason)
        for view, role, reason in by_role
    ]


def _text_columns(view: Any) -> list[str]:
    frame = nw.from_native(view, eager_only=True)
    # names may be numbers, which would select rows
    columns = [frame[:, j] for j in range(frame.shape[1])]
    return [str(c.name) for c in columns if storage.column_to_numeric(c, c.dtype) is None]


def _share_of_empty_cells(data: MultiViewData, v: int) -> float:
    """Share of empty cells in the rows that have a view."""
    view, is_present = data[data.view_names[v]], data.present[:, v]
    if sp.issparse(view) or not is_present.any():
        return 0.0
    if storage.is_dataframe(view):
        rows = storage.take_rows(view, np.flatnonzero(is_present))
        frame = nw.from_native(rows, eager_only=True)
        n_empty = sum(_count_empty(column) for column in frame.iter_columns())
        return n_empty / (frame.shape[0] * frame.shape[1])
    values = view if is_present.all() else view[is_present]
    return float(np.isnan(values).mean()) if values.dtype.kind == "f" else 0.0


def _count_empty(column: nw.Series) -> int:
    """Number of empty cells; NaN in a column of numbers is one, which polars tells from null."""
    values = storage.column_to_numeric(column, column.dtype)
    return int(column.null_count() if values is None else np.isnan(values).sum())


def _describe_content(view: TableView) -> str:
    if view.kind != "features":
        return f"{view.kind} matrix"
    if view.words:
        return "words of a text"
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
