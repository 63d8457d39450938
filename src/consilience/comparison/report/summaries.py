"""The numbers of the report besides the ranking: views, predictions, learning curves, notes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from consilience.benchmark.predictions import Predictions
from consilience.benchmark.results import CellKey, Results
from consilience.benchmark.store import Store
from consilience.benchmark.tasks import Condition
from consilience.comparison.record import Run
from consilience.comparison.study import StudyResults

__all__ = [
    "Calibration",
    "Durations",
    "LearningCurve",
    "TunedParameter",
    "calibration",
    "confusion_matrix",
    "durations",
    "importance",
    "learning_curves",
    "method_notes",
    "missing_view_scores",
    "out_of_fold_predictions",
    "tuned_parameters",
]

UNALTERED = Condition()
MIN_BIN_SAMPLES = 20  # the accuracy of fewer predictions is too noisy
N_BINS = 10


# -- views -----------------------------------------------------------------------------------


def importance(results: StudyResults, kind: str) -> dict[str, tuple[float, float]]:
    """Importance of each view for the best method: mean and standard deviation over folds.

    The deviation of a single fold is NaN.
    """
    by_view: dict[str, list[float]] = {}
    for record in results.importance.records:
        for view, value in record.outcome.diagnostics.get(kind, {}).items():
            by_view.setdefault(view, []).append(np.nan if value is None else value)
    return {
        view: (float(np.mean(v)), float(np.std(v, ddof=1)) if len(v) > 1 else np.nan)
        for view, v in by_view.items()
    }


def missing_view_scores(main: Results, methods: list[str]) -> dict[str, dict[str, float]]:
    """Mean score of each method when a view is missing at prediction, by method and view."""
    scores: dict[str, dict[str, list[float]]] = {}
    for record in main.records:
        if record.task.method_name in methods and record.done:
            by_view = scores.setdefault(record.task.method_name, {})
            for view, value in record.outcome.diagnostics.get("missing_views", {}).items():
                by_view.setdefault(view, []).append(np.nan if value is None else value)
    return {
        method: {view: float(np.mean(values)) for view, values in scores[method].items()}
        for method in methods
        if method in scores
    }


# -- predictions -----------------------------------------------------------------------------


def out_of_fold_predictions(store: Store, main: Results, method: str) -> list[Predictions]:
    """Predictions of a method for every sample that is tested, each of them once.

    They are those of the first repeat of the cross-validation; splits of the user may test a sample
    several times, of which the first counts.
    """
    predictions = [
        store.predictions(record.task_hash)
        for record in main.records
        if record.task.method_name == method and record.done and record.task.repeat == 0
    ]
    folds: list[Predictions] = []
    seen = np.empty(0, dtype=np.intp)
    for fold in filter(None, predictions):
        is_first = np.zeros(len(fold.rows), dtype=bool)
        is_first[np.unique(fold.rows, return_index=True)[1]] = True
        new = _select_rows(fold, is_first & ~np.isin(fold.rows, seen))
        folds += [new] if len(new.rows) else []
        seen = np.append(seen, new.rows)
    return folds


def _select_rows(fold: Predictions, mask: np.ndarray) -> Predictions:
    return replace(
        fold,
        rows=fold.rows[mask],
        y_true=fold.y_true[mask],
        y_pred=fold.y_pred[mask],
        scores=fold.scores if fold.kind == "none" else fold.scores[mask],
    )


def confusion_matrix(run: Run, predictions: list[Predictions]) -> np.ndarray:
    """Count samples by true (rows) and predicted class (columns)."""
    index = {name: i for i, name in enumerate(run.data.classes)}
    matrix = np.zeros((len(index), len(index)), dtype=int)
    for fold in predictions:
        indices = np.array([index[str(c)] for c in fold.classes])
        known = fold.y_true >= 0
        np.add.at(matrix, (indices[fold.y_true[known]], indices[fold.y_pred[known]]), 1)
    return matrix


@dataclass(frozen=True)
class Calibration:
    """Mean confidence and accuracy by bin of confidence, and their mean absolute difference."""

    confidence: np.ndarray
    accuracy: np.ndarray
    samples: np.ndarray
    error: float


def calibration(predictions: list[Predictions]) -> Calibration | None:
    """Compare the confidence of predictions with their accuracy; None without probabilities."""
    if not predictions or any(fold.kind != "probability" for fold in predictions):
        return None
    confidence = np.concatenate([fold.scores.max(axis=1) for fold in predictions])
    correct = np.concatenate([fold.y_true == fold.y_pred for fold in predictions])
    bins = _merge_small_bins(np.minimum((confidence * N_BINS).astype(int), N_BINS - 1))
    size = np.bincount(bins)
    mean = np.bincount(bins, confidence) / size
    accuracy = np.bincount(bins, correct) / size
    error = float((size * np.abs(mean - accuracy)).sum() / size.sum())
    return Calibration(mean, accuracy, size, error)


def _merge_small_bins(bins: np.ndarray) -> np.ndarray:
    """Merge bins with their successors until each holds enough samples, and renumber from 0."""
    counts = np.bincount(bins, minlength=N_BINS)
    number, n_held, new_number = 0, 0, np.empty(N_BINS, dtype=int)
    for b, count in enumerate(counts):
        new_number[b] = number
        n_held += count
        if n_held >= MIN_BIN_SAMPLES and counts[b + 1 :].sum() >= MIN_BIN_SAMPLES:
            number, n_held = number + 1, 0
    return new_number[bins]


# -- learning curve --------------------------------------------------------------------------


@dataclass(frozen=True)
class LearningCurve:
    """Scores of a method by number of training samples."""

    method: str
    sizes: list[int]
    means: list[float]
    deviations: list[float]


def learning_curves(run: Run, results: StudyResults) -> list[LearningCurve]:
    """Learning curves, whose last points are of the comparison itself.

    All points of a method are means over the same splits, those of its smaller training sets.
    """
    curves = []
    metric, full_size = run.options.metric, int(run.train_rows + 1e-9)
    by_size = sorted(results.curve.cell_keys, key=lambda key: key.condition.train_size or 0)
    for method in results.curve.methods:
        keys = [key for key in by_size if key.method == method]
        splits = set.intersection(*(results.curve.splits(key) for key in keys))
        cells = [results.curve.cell(key, metric, splits) for key in keys]
        full_key = CellKey(run.data.name, UNALTERED, method)
        cells.append(results.main.cell(full_key, metric, splits))
        sizes = [key.condition.train_size for key in keys] + [full_size]
        points = [(size, c.mean, c.deviation) for size, c in zip(sizes, cells, strict=True)]
        known = [point for point in points if point[0] is not None and not np.isnan(point[1])]
        if len(known) > 1:
            curves.append(LearningCurve(method, *map(list, zip(*known, strict=True))))
    return curves


# -- notes -----------------------------------------------------------------------------------


def method_notes(main: Results) -> list[dict[str, Any]]:
    """Warnings by method, with the number of fits in which they occurred."""
    entries = []
    for method in main.methods:
        records = [record for record in main.records if record.task.method_name == method]
        notes = Counter(note.splitlines()[0] for r in records for note in r.outcome.notes if note)
        if notes:
            entries.append({"method": method, "notes": notes.most_common()})
    return entries


@dataclass(frozen=True)
class TunedParameter:
    """A parameter that was tuned: the grid, and in how many fits each value was chosen."""

    method: str
    name: str
    grid: str
    chosen: list[tuple[str, int]]


def tuned_parameters(main: Results) -> list[TunedParameter]:
    """Tuned parameters of all methods with their grids."""
    rows = []
    for method in main.methods:
        records = [
            r for r in main.records if r.task.method_name == method and r.outcome.best_params
        ]
        for name in dict.fromkeys(name for r in records for name in r.outcome.best_params):
            values = Counter(str(r.outcome.best_params[name]) for r in records)
            grid = ", ".join(str(value) for value in records[0].task.grid.get(name, []))
            rows.append(TunedParameter(method, name, grid, values.most_common()))
    return rows


@dataclass(frozen=True)
class Durations:
    """Mean seconds of processor time per fold; NaN where a step was not done."""

    method: str
    tune: float
    fit: float
    predict: float


def durations(main: Results, methods: list[str]) -> list[Durations]:
    """Time of tuning, fitting and predicting by method."""
    rows = []
    for method in methods:
        done = [r.outcome.metrics for r in main.records if r.task.method_name == method and r.done]
        means = [
            float(np.mean([m[key] for m in done if key in m] or [np.nan]))
            for key in ("tune_seconds", "fit_seconds", "predict_seconds")
        ]
        rows.append(Durations(method, *means))
    return rows
