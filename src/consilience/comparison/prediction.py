"""Apply a saved model to new files: identify the view of each file, join, predict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from consilience import io
from consilience.benchmark.publish import csv_text
from consilience.comparison.folder import MODEL_FILE_NAME
from consilience.comparison.record import RUN_FILE_NAME, read_run
from consilience.tables import FileArgument, Table, TableError, TableModel, read_file
from consilience.tables._join import check_order, sample_rows
from consilience.tables._model import align_rows
from consilience.views import MultiViewData
from consilience.views import _storage as storage
from consilience.views._storage import format_list

__all__ = ["PredictionTable", "load_model", "predict_files"]


@dataclass(frozen=True)
class PredictionTable:
    """Predicted labels by sample, probabilities if the model has them, and notes."""

    ids: list[str]
    labels: np.ndarray
    probabilities: np.ndarray | None
    classes: list[str]
    key: str  # title of the column of ids
    notes: list[str]

    def to_csv(self) -> str:
        """Format as csv, one row for each sample."""
        header = [self.key, "predicted"]
        rows: list[list[Any]] = [
            [sample, str(label)] for sample, label in zip(self.ids, self.labels, strict=True)
        ]
        if self.probabilities is not None:
            header += [f"p({name})" for name in self.classes]
            for row, probabilities in zip(rows, self.probabilities, strict=True):
                row += [f"{p:.6g}" for p in probabilities]
        return csv_text(header, rows)


def load_model(path: Path, trusted: Iterable[str] = (), key: bytes | None = None) -> TableModel:
    """Load a model written by ``consilience compare``, by its own path or that of its folder."""
    path = path / MODEL_FILE_NAME if path.is_dir() else path
    try:
        model = io.load(path, trusted=trusted, key=key)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    if not isinstance(model, TableModel):
        raise ValueError(
            f"{path} contains a {type(model).__name__} without the tables it was fitted on; load "
            "it with consilience.io.load"
        )
    _check_same_run(path, model)
    return model


def _check_same_run(path: Path, model: TableModel) -> None:
    """Check that a model belongs to the comparison in whose folder it is."""
    folder, fingerprint = path.parent, getattr(model, "fingerprint", "")
    if not fingerprint or not (folder / RUN_FILE_NAME).exists():
        return
    run = read_run(folder)
    if run.fingerprint != fingerprint or run.best != model.method:
        raise ValueError(
            f"{path} does not belong to the comparison in {folder}: the model is {model.method!r} "
            f"of run {fingerprint}, but {RUN_FILE_NAME} describes "
            f"{repr(run.best) if run.best else 'no model'} of run {run.fingerprint}; run the "
            "comparison again"
        )


def predict_files(
    model: TableModel,
    files: Sequence[FileArgument],
    *,
    on: str | None = None,
    delimiter: str | None = None,
) -> PredictionTable:
    """Predict the labels of the samples in the files; views without a file are missing."""
    note = getattr(model, "note", "")
    notes: list[str] = [f"the model is of a partial comparison: {note}"] if note else []
    tables: dict[str, Table] = {}
    for file in files:
        for view, table in _match_views(model, file, delimiter).items():
            if view in tables:
                raise TableError(f"{tables[view].path} and {table.path} are both view {view!r}")
            tables[view] = table
    on = _key_column(model, tables) if on is None else on
    if on is None:
        check_order(tables, {model.target})
    _note_unknown_columns(model, tables, on, notes)
    ids, rows = sample_rows(tables, on)
    views, present = {}, np.zeros((len(ids), len(tables)), dtype=bool)
    for v, (name, table) in enumerate(tables.items()):
        views[name] = align_rows(_values(model, name, table), rows[name])
        present[:, v] = (rows[name] >= 0) & ~storage.missing_rows(views[name])
    absent = [name for name in model.views if name not in tables]
    if absent:
        notes.append(f"missing for all samples: {format_list(absent)}")
    empty = int((~present.any(axis=1)).sum())
    if empty:
        notes.append(f"{empty} samples have no view at all; the most frequent class is predicted")
    data = MultiViewData(views, present=present)
    probabilities = model.predict_proba(data) if model.has_probabilities else None
    return PredictionTable(
        ids,
        model.predict(data),
        probabilities,
        [str(c) for c in model.classes_],
        "row" if on is None else on,
        notes,
    )


def _key_column(model: TableModel, tables: dict[str, Table]) -> str | None:
    """The key column of the comparison; None for a single file without it."""
    lacking = [table.path for table in tables.values() if model.key not in table.columns]
    if not model.key or (lacking and len(tables) == 1):
        return None
    if lacking:
        raise TableError(
            f"{lacking[0]} has no column {model.key!r}, by which the files of the comparison were "
            "joined; use --on COLUMN"
        )
    return model.key


def _values(model: TableModel, name: str, table: Table) -> Any:
    try:
        return model.views[name].values(table)
    except TableError as error:
        raise TableError(f"view {name!r}: {error}") from None


def _match_views(model: TableModel, file: FileArgument, delimiter: str | None) -> dict[str, Table]:
    """Views that a file contains, by the name given, by the file name, or by its columns."""
    name = file.view if file.view is not None else file.path.stem
    known = model.views.get(name)
    width = known.width if known is not None and known.columns is None else None
    tables = read_file(file.path, delimiter=delimiter, n_features=width)
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
        raise TableError(f"the model has no view {file.view!r}; it has {format_list(model.views)}")
    columns = set(table.columns)
    matching = [
        name
        for name, view in model.views.items()
        if view.columns is not None and columns >= set(view.columns)
    ]
    if len(matching) == 1 or (matching and model.single_file):
        return dict.fromkeys(matching, table)
    if matching:
        raise TableError(
            f"{file.path} has the columns of several views ({format_list(matching)}); "
            "write view=path"
        )
    raise TableError(
        f"{file.path} is none of the views {format_list(model.views)}"
        f"{_closest_view_hint(model, columns)}"
    )


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


def _note_unknown_columns(
    model: TableModel, tables: dict[str, Table], on: str | None, notes: list[str]
) -> None:
    used = {on, model.target}
    used |= {c for view in model.views.values() for c in [*(view.columns or []), *view.left_out]}
    for path in dict.fromkeys(table.path for table in tables.values()):
        table = next(t for t in tables.values() if t.path == path)
        unknown = [c for c in table.columns if c not in used and table.matrix is None]
        views = [model.views[view] for view, t in tables.items() if t.path == path]
        if unknown and all(view.columns is not None for view in views):
            notes.append(f"{path}: ignored columns, unknown to the model: {format_list(unknown)}")
