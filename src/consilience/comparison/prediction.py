"""Apply a saved model to new files: identify the view of each file, join, predict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from consilience import io
from consilience.benchmark.metrics import (
    QUALITY_METRICS,
    ModelOutput,
    compute_metrics,
    positive_label,
    predict_output,
)
from consilience.benchmark.publish import csv_text
from consilience.comparison._matching import match_files
from consilience.comparison.folder import MODEL_FILE_NAME
from consilience.comparison.record import RUN_FILE_NAME, read_run
from consilience.comparison.trust_columns import TrustColumns, trust_columns
from consilience.tables import FileArgument, ReadOptions, Table, TableError, TableModel
from consilience.tables._join import check_order, sample_rows
from consilience.tables._keys import check_spelling, normalise_keys, rename_keys
from consilience.tables._labels import merge_column
from consilience.tables._table import text_column
from consilience.views import MultiViewData
from consilience.views._layout import MATCHED
from consilience.views._storage import format_list

__all__ = [
    "NewSamples",
    "PredictionScores",
    "PredictionTable",
    "load_model",
    "predict_files",
    "predict_samples",
    "read_samples",
]


@dataclass(frozen=True)
class PredictionScores:
    """Metrics of predictions, and the number of samples with a label that they refer to."""

    samples: int
    metrics: dict[str, float]
    positive: str = ""  # name of the positive class; empty if there are not two classes


@dataclass(frozen=True)
class PredictionTable:
    """Predicted labels by sample, probabilities if the model has them, and notes."""

    ids: list[str]
    labels: np.ndarray
    probabilities: np.ndarray | None
    classes: list[str]
    key: str  # title of the column of ids
    notes: list[str]
    y_true: list[str | None] | None = None  # labels, if the files have them
    scores: PredictionScores | None = None
    more: dict[str, list[str]] = field(default_factory=dict)  # further columns, by title

    def to_csv(self) -> str:
        """Format as csv, one row for each sample."""
        header = [self.key, "predicted"]
        rows: list[list[Any]] = [
            [sample, str(label)] for sample, label in zip(self.ids, self.labels, strict=True)
        ]
        if self.y_true is not None:
            header.append("true")
            for row, label in zip(rows, self.y_true, strict=True):
                row.append("" if label is None else label)
        if self.probabilities is not None:
            header += [f"p({name})" for name in self.classes]
            for row, probabilities in zip(rows, self.probabilities, strict=True):
                row += [f"{p:.6g}" for p in probabilities]
        for title, cells in self.more.items():
            header.append(title)
            for row, cell in zip(rows, cells, strict=True):
                row.append(cell)
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


@dataclass(frozen=True)
class NewSamples:
    """Samples of new files as the views of a model, their labels if there are any, and notes."""

    data: MultiViewData
    ids: list[str]
    labels: list[str | None] | None
    key: str  # title of the column of ids
    notes: list[str]


def read_samples(
    model: TableModel,
    files: Sequence[FileArgument],
    *,
    on: str | None = None,
    reading: ReadOptions | None = None,
    keys: Mapping[str, str] | None = None,
    transpose: Collection[str] = (),
    normalised_keys: bool = False,
) -> NewSamples:
    """Read new files as the views of a model; views without a file are missing.

    A file that is no view but has the target is a file of labels.
    """
    note = getattr(model, "note", "")
    notes: list[str] = [f"the model is of a partial comparison: {note}"] if note else []
    own_key = on or model.key
    text = {name for name in (model.target, own_key, *(keys or {}).values()) if name}
    text |= _category_names(model)
    reading = reading or ReadOptions()
    na = tuple(dict.fromkeys((*model.na, *reading.na)))
    marks = {view.decimal for view in model.views.values()} - {""}
    reading = replace(
        reading,
        na=na,
        text_columns=frozenset(text),
        default_decimal=marks.pop() if len(marks) == 1 else "",
        points=_points(model),
    )
    matched = match_files(model, files, reading, transpose, own_key or "sample", notes)
    tables, named_key = rename_keys(matched, keys or {}, on or (model.key if keys else None))
    on = named_key if named_key is not None else on
    on = _key_column(model, tables) if on is None else on
    if on is None:
        check_order(tables, {model.target})
    elif normalised_keys or model.normalised_keys:
        tables, key_notes = normalise_keys(tables, on)
        notes += key_notes
    _note_unknown_columns(model, tables, on, notes)
    ids, rows = sample_rows(tables, on)
    _note_separate_files(tables, rows, on, notes)
    spelling = None if on is None else check_spelling(tables, on)
    notes += [] if spelling is None else [spelling]
    views, given = {}, {name: table for name, table in tables.items() if name in model.views}
    present = np.zeros((len(ids), len(given)), dtype=bool)
    for v, (name, table) in enumerate(given.items()):
        views[name], present[:, v] = _align(model, name, table, rows[name])
        notes += _unseen_notes(model, name, table)
    absent = [name for name in model.views if name not in given]
    if absent:
        notes.append(f"missing for all samples: {format_list(absent)}")
    empty = int((~present.any(axis=1)).sum())
    if empty:
        notes.append(f"{empty} samples have no view at all; the most frequent class is predicted")
    is_feature = any(model.target in (view.columns or []) for view in model.views.values())
    has_target = bool(model.target) and not is_feature
    classes = [str(label) for label in model.classes_]
    labels = merge_column(tables, rows, model.target, "--target", classes) if has_target else []
    return NewSamples(
        MultiViewData(views, present=present)._with_column_names(dict.fromkeys(views, MATCHED)),
        ids,
        labels if any(label is not None for label in labels) else None,
        "row" if on is None else on,
        notes,
    )


def predict_files(
    model: TableModel,
    files: Sequence[FileArgument],
    *,
    trust: TrustColumns | None = None,
    **options: Any,
) -> PredictionTable:
    """Predict the labels of the samples in the files; the options are those of ``read_samples``.

    If the files have the labels, the predictions are scored as well. ``trust`` asks for columns
    with prediction sets, conflicts and advice.
    """
    return predict_samples(model, read_samples(model, files, **options), trust)


def predict_samples(
    model: TableModel, samples: NewSamples, trust: TrustColumns | None = None
) -> PredictionTable:
    """Predict the labels of samples, and score the predictions if these have labels."""
    output = predict_output(model.estimator, samples.data, model.predict(samples.data))
    return PredictionTable(
        samples.ids,
        output.y_pred,
        output.scores if output.kind == "probability" else None,
        [str(c) for c in model.classes_],
        samples.key,
        samples.notes,
        samples.labels,
        None if samples.labels is None else _score(model, samples, output),
        {} if trust is None else trust_columns(model, samples.data, trust, samples.notes),
    )


def _score(model: TableModel, samples: NewSamples, output: ModelOutput) -> PredictionScores:
    """Metrics on the samples whose label is one of the classes of the model."""
    assert samples.labels is not None
    by_name = {str(label): label for label in model.classes_}
    unknown = sorted({c for c in samples.labels if c is not None and c not in by_name})
    if unknown:
        samples.notes.append(f"not scored: samples of classes unknown to the model, {unknown[0]!r}")
    rows = [i for i, label in enumerate(samples.labels) if label in by_name]
    if not rows:
        return PredictionScores(0, {})
    y_true = np.array([by_name[str(samples.labels[i])] for i in rows], dtype=model.classes_.dtype)
    scores = None if output.scores is None else output.scores[rows]
    labelled = replace(output, y_pred=output.y_pred[rows], scores=scores)
    names = [name for name in (*QUALITY_METRICS, model.metric) if name]
    metrics = compute_metrics(y_true, labelled, names=names, positive=model.positive)
    is_binary = len(model.classes_) == 2
    positive = str(positive_label(model.classes_, model.positive)) if is_binary else ""
    return PredictionScores(len(rows), metrics, positive)


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


def _align(model: TableModel, name: str, table: Table, rows: np.ndarray) -> tuple[Any, np.ndarray]:
    try:
        return model.views[name].align(table, rows)
    except TableError as error:
        raise TableError(f"view {name!r}: {error}") from None


def _points(model: TableModel) -> tuple[tuple[str, str], ...]:
    """What points mean in columns of files with decimal commas, if all views agree."""
    points = dict.fromkeys(pair for view in model.views.values() for pair in view.points)
    counts = Counter(name for name, _ in points)
    return tuple((name, meaning) for name, meaning in points if counts[name] == 1)


def _category_names(model: TableModel) -> set[str]:
    """Columns that are text in every view which has them, however they look in a new file."""
    text, others = set(), set()
    for view in model.views.values():
        text |= set(view.text_columns)
        others |= set(view.columns or ()) - set(view.text_columns)
    return text - others


def _unseen_notes(model: TableModel, name: str, table: Table) -> list[str]:
    return [
        f"column {column!r} of view {name!r}: {n_unseen} of {n_cells} cells are categories that "
        "the model has not seen"
        for column, (n_unseen, n_cells) in model.views[name].unseen_categories(table).items()
    ]


def _note_separate_files(
    tables: dict[str, Table], rows: dict[str, np.ndarray], on: str | None, notes: list[str]
) -> None:
    """Name a file none of whose samples is in another one, which is hardly ever meant."""
    for name, table in tables.items():
        others = [rows[n] >= 0 for n, other in tables.items() if other.path != table.path]
        if others and not ((rows[name] >= 0) & np.any(others, axis=0)).any():
            first = text_column(table, on or "")[0]
            note = f"no {on!r} of {table.path} is in another file; its first is {first!r}"
            notes += [note] if note not in notes else []


def _note_unknown_columns(
    model: TableModel, tables: dict[str, Table], on: str | None, notes: list[str]
) -> None:
    used = {on, model.target}
    used |= {c for view in model.views.values() for c in [*(view.columns or []), *view.left_out]}
    for path in dict.fromkeys(table.path for table in tables.values()):
        table = next(t for t in tables.values() if t.path == path)
        unknown = [c for c in table.columns if c not in used and table.matrix is None]
        unknown = [c for c in unknown if c not in table.annotations]
        views = [model.views[v] for v, t in tables.items() if t.path == path and v in model.views]
        if unknown and all(view.columns is not None for view in views):
            notes.append(f"{path}: ignored columns, unknown to the model: {format_list(unknown)}")
