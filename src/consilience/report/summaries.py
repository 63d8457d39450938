"""What the page shows, as plain rows: ranking with intervals and tests, views, notes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from consilience.benchmark.predictions import Predictions
from consilience.benchmark.recipes import RECIPES
from consilience.benchmark.results import LOWER_IS_BETTER, CellKey, Results
from consilience.benchmark.statistics import holm, paired_t
from consilience.benchmark.store import Store
from consilience.benchmark.tasks import Condition
from consilience.compare.record import Run
from consilience.compare.study import StudyResults

__all__ = [
    "Calibration",
    "Curve",
    "Row",
    "calibration",
    "confusion",
    "corrected_interval",
    "curves",
    "format_p_value",
    "importance",
    "missing_views",
    "out_of_fold",
    "ranking",
    "remarks",
]

REST = Condition()
BIN_SAMPLES = 20  # fewer say nothing about how often predictions are right
N_BINS = 10


@dataclass(frozen=True)
class Row:
    """A method in the ranking; ``p_value`` is of no difference from the best."""

    method: str
    summary: str
    source: str
    score: float
    low: float
    high: float
    p_value: float
    fit_seconds: float
    predict_seconds: float
    scores: np.ndarray

    @property
    def complete(self) -> bool:
        """Whether every fit gave a score."""
        return not np.isnan(self.score)


def corrected_interval(scores: np.ndarray, test_share: float) -> tuple[float, float]:
    """95 % interval of the mean over folds that share training rows (Nadeau & Bengio 2003)."""
    n = len(scores)
    if n < 2:
        return np.nan, np.nan
    error = np.sqrt(scores.var(ddof=1) * (1 / n + test_share / (1 - test_share)))
    reach = stats.t.ppf(0.975, n - 1) * error
    return float(scores.mean() - reach), float(scores.mean() + reach)


def ranking(run: Run, main: Results) -> list[Row]:
    """Methods, the best first; those without a score last."""
    metric, share = run.options.metric, 1 / run.options.cv
    sign, most = (-1.0, np.inf) if metric in LOWER_IS_BETTER else (1.0, 1.0)
    rows = []
    for method in main.methods:
        key = CellKey(run.data.name, REST, method)
        cell = main.cell(key, metric)
        complete = not np.isnan(cell.mean)
        interval = corrected_interval(cell.scores, share) if complete else (np.nan, np.nan)
        low, high = map(float, np.clip(interval, 0.0, most))  # few folds may reach beyond
        rows.append(
            Row(
                method=method,
                summary=RECIPES[method].summary if method in RECIPES else "",
                source=RECIPES[method].source if method in RECIPES else "",
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
    return _with_tests(rows, share)


def _with_tests(rows: list[Row], share: float) -> list[Row]:
    """p-values against the first row, adjusted for their number."""
    others = [row for row in rows[1:] if row.complete]
    if not others or len(rows[0].scores) < 2:
        return rows
    raw = np.array([paired_t(rows[0].scores, row.scores, share).p_value for row in others])
    adjusted = dict(zip([row.method for row in others], holm(raw), strict=True))
    return [
        Row(**{**row.__dict__, "p_value": float(adjusted.get(row.method, np.nan))}) for row in rows
    ]


def format_p_value(value: float) -> str:
    """A p-value for a table; empty where there is none."""
    if np.isnan(value):
        return ""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


# -- views -----------------------------------------------------------------------------------


def importance(stages: StudyResults, probe: str) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation over folds of a probe of the best method, by view."""
    result: dict[str, list[float]] = {}
    for record in stages.importance.records:
        for view, value in record.outcome.diagnostics.get(probe, {}).items():
            result.setdefault(view, []).append(np.nan if value is None else value)
    return {
        view: (float(np.mean(v)), float(np.std(v, ddof=1)) if len(v) > 1 else 0.0)
        for view, v in result.items()
    }


def missing_views(main: Results, methods: list[str]) -> dict[str, dict[str, float]]:
    """Accuracy of each method when a view is missing at prediction, by method and view."""
    sums: dict[str, dict[str, list[float]]] = {}
    for record in main.records:
        if record.task.method_name in methods and record.done:
            own = sums.setdefault(record.task.method_name, {})
            for view, value in record.outcome.diagnostics.get("missing_views", {}).items():
                own.setdefault(view, []).append(np.nan if value is None else value)
    return {
        method: {view: float(np.mean(values)) for view, values in sums[method].items()}
        for method in methods
        if method in sums
    }


# -- predictions -----------------------------------------------------------------------------


def out_of_fold(run: Run, store: Store, main: Results, method: str) -> list[Predictions]:
    """Predictions of a method for every sample, from the first round of folds."""
    result = []
    for record in main.records:
        if record.task.method_name == method and record.done and record.task.repeat == 0:
            kept = store.predictions(record.task_hash)
            if kept is not None:
                result.append(kept)
    return result


def confusion(run: Run, parts: list[Predictions]) -> np.ndarray:
    """Samples by true (rows) and predicted class."""
    place = {name: i for i, name in enumerate(run.data.classes)}
    table = np.zeros((len(place), len(place)), dtype=int)
    for part in parts:
        codes = np.array([place[str(c)] for c in part.classes])
        known = part.y_true >= 0
        np.add.at(table, (codes[part.y_true[known]], codes[part.y_pred[known]]), 1)
    return table


@dataclass(frozen=True)
class Calibration:
    """Mean confidence and accuracy in bins of confidence, and how far they are apart on average."""

    confidence: np.ndarray
    accuracy: np.ndarray
    samples: np.ndarray
    error: float


def calibration(parts: list[Predictions]) -> Calibration | None:
    """Confidence of the predicted class against how often it is right; None without any."""
    if not parts or any(part.kind != "probability" for part in parts):
        return None
    confidence = np.concatenate([part.scores.max(axis=1) for part in parts])
    right = np.concatenate([part.y_true == part.y_pred for part in parts])
    bins = _filled_bins(np.minimum((confidence * N_BINS).astype(int), N_BINS - 1))
    size = np.bincount(bins)
    mean = np.bincount(bins, confidence) / size
    share = np.bincount(bins, right) / size
    return Calibration(mean, share, size, float((size * np.abs(mean - share)).sum() / size.sum()))


def _filled_bins(bins: np.ndarray) -> np.ndarray:
    """Bins of equal width, from 0 on, taken together with the next until they hold enough."""
    counts = np.bincount(bins, minlength=N_BINS)
    number, held, place = 0, 0, np.empty(N_BINS, dtype=int)
    for b, count in enumerate(counts):
        place[b] = number
        held += count
        if held >= BIN_SAMPLES and counts[b + 1 :].sum() >= BIN_SAMPLES:
            number, held = number + 1, 0
    return place[bins]


# -- learning curve --------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """Scores of a method by number of training samples."""

    method: str
    sizes: list[int]
    means: list[float]
    deviations: list[float]


def curves(run: Run, stages: StudyResults) -> list[Curve]:
    """Learning curves; their last point is the comparison itself."""
    result = []
    full = run.data.samples * (run.options.cv - 1) // run.options.cv
    conditions = sorted(stages.curve.conditions, key=lambda c: c.train_size or 0)
    for method in stages.curve.methods:
        points = []
        for condition in conditions:
            cell = stages.curve.cell(CellKey(run.data.name, condition, method), run.options.metric)
            points.append((condition.train_size, cell.mean, cell.deviation))
        cell = stages.main.cell(CellKey(run.data.name, REST, method), run.options.metric)
        points.append((full, cell.mean, cell.deviation))
        known = [point for point in points if point[0] is not None and not np.isnan(point[1])]
        if len(known) > 1:
            result.append(Curve(method, *map(list, zip(*known, strict=True))))
    return result


# -- remarks ---------------------------------------------------------------------------------


def remarks(main: Results) -> list[dict[str, Any]]:
    """Warnings and tuned settings by method, with the number of fits they were seen in."""
    result = []
    for method in main.methods:
        records = [record for record in main.records if record.task.method_name == method]
        notes = Counter(note.splitlines()[0] for r in records for note in r.outcome.notes if note)
        best_params = Counter(
            ", ".join(f"{name} = {value}" for name, value in r.outcome.best_params.items())
            for r in records
            if r.outcome.best_params
        )
        if notes or best_params:
            result.append(
                {
                    "method": method,
                    "notes": notes.most_common(),
                    "chosen": best_params.most_common(),
                }
            )
    return result
