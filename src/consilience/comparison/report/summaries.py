"""The numbers of the report: ranking with intervals and tests, importance of views, notes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from consilience.benchmark.predictions import Predictions
from consilience.benchmark.results import LOWER_IS_BETTER, CellKey, Results
from consilience.benchmark.statistics import holm, paired_t
from consilience.benchmark.store import Store
from consilience.benchmark.tasks import Condition
from consilience.comparison.record import Run
from consilience.comparison.study import StudyResults
from consilience.methods import METHODS

__all__ = [
    "Calibration",
    "LearningCurve",
    "RankingRow",
    "calibration",
    "confusion_matrix",
    "corrected_interval",
    "format_p_value",
    "importance",
    "learning_curves",
    "method_notes",
    "missing_view_accuracy",
    "out_of_fold_predictions",
    "ranking",
]

UNALTERED = Condition()
MIN_BIN_SAMPLES = 20  # the accuracy of fewer predictions is too noisy
N_BINS = 10


@dataclass(frozen=True)
class RankingRow:
    """A method in the ranking, with the p-value of its difference from the best."""

    method: str
    summary: str
    reference: str
    score: float
    low: float
    high: float
    p_value: float
    fit_seconds: float
    predict_seconds: float
    scores: np.ndarray

    @property
    def complete(self) -> bool:
        """Whether every fit has a score."""
        return not np.isnan(self.score)


def corrected_interval(scores: np.ndarray, test_share: float) -> tuple[float, float]:
    """95 % interval of the mean over folds with shared training rows (Nadeau & Bengio 2003)."""
    n = len(scores)
    if n < 2:
        return np.nan, np.nan
    error = np.sqrt(scores.var(ddof=1) * (1 / n + test_share / (1 - test_share)))
    half_width = stats.t.ppf(0.975, n - 1) * error
    return float(scores.mean() - half_width), float(scores.mean() + half_width)


def ranking(run: Run, main: Results) -> list[RankingRow]:
    """Rank the methods, best first; those without a score come last."""
    metric, test_share = run.options.metric, run.options.test_share
    sign, upper_bound = (-1.0, np.inf) if metric in LOWER_IS_BETTER else (1.0, 1.0)
    rows = []
    for method in main.methods:
        key = CellKey(run.data.name, UNALTERED, method)
        cell = main.cell(key, metric)
        complete = not np.isnan(cell.mean)
        interval = corrected_interval(cell.scores, test_share) if complete else (np.nan, np.nan)
        low, high = map(float, np.clip(interval, 0.0, upper_bound))
        rows.append(
            RankingRow(
                method=method,
                summary=run.own_methods[method].summary
                if method in run.own_methods
                else METHODS[method].summary,
                reference="own" if method in run.own_methods else METHODS[method].reference,
                score=cell.mean,
                low=low,
                high=high,
                p_value=np.nan,
                fit_seconds=_mean(main.cell(key, "fit_seconds").scores),
                predict_seconds=_mean(main.cell(key, "predict_seconds").scores),
                scores=cell.scores,
            )
        )
    rows.sort(key=lambda row: (not row.complete, -sign * np.nan_to_num(row.score), row.method))
    return _add_p_values(rows, test_share)


def _add_p_values(rows: list[RankingRow], test_share: float) -> list[RankingRow]:
    """Add p-values against the first row, adjusted for multiple comparisons."""
    others = [row for row in rows[1:] if row.complete]
    if not others or len(rows[0].scores) < 2:
        return rows
    best = rows[0].scores
    p_values = np.array([paired_t(best, row.scores, test_share).p_value for row in others])
    adjusted = dict(zip([row.method for row in others], holm(p_values), strict=True))
    return [replace(row, p_value=float(adjusted.get(row.method, np.nan))) for row in rows]


def format_p_value(value: float) -> str:
    """Format a p-value for a table; NaN becomes an empty string."""
    if np.isnan(value):
        return ""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


# -- views -----------------------------------------------------------------------------------


def importance(results: StudyResults, kind: str) -> dict[str, tuple[float, float]]:
    """Importance of each view for the best method: mean and standard deviation over folds."""
    by_view: dict[str, list[float]] = {}
    for record in results.importance.records:
        for view, value in record.outcome.diagnostics.get(kind, {}).items():
            by_view.setdefault(view, []).append(np.nan if value is None else value)
    return {
        view: (float(np.mean(v)), float(np.std(v, ddof=1)) if len(v) > 1 else 0.0)
        for view, v in by_view.items()
    }


def missing_view_accuracy(main: Results, methods: list[str]) -> dict[str, dict[str, float]]:
    """Accuracy of each method when a view is missing at prediction, by method and view."""
    accuracies: dict[str, dict[str, list[float]]] = {}
    for record in main.records:
        if record.task.method_name in methods and record.done:
            by_view = accuracies.setdefault(record.task.method_name, {})
            for view, value in record.outcome.diagnostics.get("missing_views", {}).items():
                by_view.setdefault(view, []).append(np.nan if value is None else value)
    return {
        method: {view: float(np.mean(values)) for view, values in accuracies[method].items()}
        for method in methods
        if method in accuracies
    }


# -- predictions -----------------------------------------------------------------------------


def out_of_fold_predictions(store: Store, main: Results, method: str) -> list[Predictions]:
    """Predictions of a method for every sample, from the first repeat of the cross-validation."""
    predictions = [
        store.predictions(record.task_hash)
        for record in main.records
        if record.task.method_name == method and record.done and record.task.repeat == 0
    ]
    return [fold for fold in predictions if fold is not None]


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
    """Learning curves, whose last points are the results of the comparison itself."""
    curves = []
    full_size = int(run.data.samples * (1 - run.options.test_share) + 1e-9)
    conditions = sorted(results.curve.conditions, key=lambda c: c.train_size or 0)
    for method in results.curve.methods:
        points = []
        for condition in conditions:
            cell = results.curve.cell(CellKey(run.data.name, condition, method), run.options.metric)
            points.append((condition.train_size, cell.mean, cell.deviation))
        cell = results.main.cell(CellKey(run.data.name, UNALTERED, method), run.options.metric)
        points.append((full_size, cell.mean, cell.deviation))
        known = [point for point in points if point[0] is not None and not np.isnan(point[1])]
        if len(known) > 1:
            curves.append(LearningCurve(method, *map(list, zip(*known, strict=True))))
    return curves


# -- notes -----------------------------------------------------------------------------------


def method_notes(main: Results) -> list[dict[str, Any]]:
    """Warnings and tuned parameters by method, with the number of fits in which they occurred."""
    entries = []
    for method in main.methods:
        records = [record for record in main.records if record.task.method_name == method]
        notes = Counter(note.splitlines()[0] for r in records for note in r.outcome.notes if note)
        best_params = Counter(
            ", ".join(f"{name} = {value}" for name, value in r.outcome.best_params.items())
            for r in records
            if r.outcome.best_params
        )
        if notes or best_params:
            entries.append(
                {
                    "method": method,
                    "notes": notes.most_common(),
                    "best_params": best_params.most_common(),
                }
            )
    return entries
