"""The work of a task: rows, alterations, tuning, fit, prediction, metrics.

``execute(task, problem)`` always returns an ``Outcome``; an error of the method is part of it.
Only fitting and predicting are inside the timers.
"""

from __future__ import annotations

import contextlib
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from sklearn.base import clone
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    log_loss,
    roc_auc_score,
)
from sklearn.model_selection import (
    GridSearchCV,
    PredefinedSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline

from consilience.benchmark import memory
from consilience.benchmark.predictions import Predictions
from consilience.benchmark.problems import Problem
from consilience.benchmark.protocol import (
    SplitRows,
    add_noise_views,
    balanced_subset,
    flip_labels,
    hide_views,
    make_rng,
    split_rows,
    with_presence,
)
from consilience.benchmark.tasks import Task, build_method, parameter_name
from consilience.datasets import make_multiview_classification
from consilience.inspection import view_permutation_importance, view_shapley
from consilience.views import MultiViewData

__all__ = [
    "COST_METRICS",
    "DIAGNOSTICS",
    "METRICS",
    "Outcome",
    "execute",
    "failure",
    "tuning_folds",
    "warm_up",
]

# the only values that differ between two runs of a task
COST_METRICS = (
    "fit_seconds",
    "fit_wall_seconds",
    "predict_seconds",
    "predict_wall_seconds",
    "tune_seconds",
    "peak_memory",
)
METRICS = ("accuracy", "balanced_accuracy", "f1", "log_loss", "roc_auc", *COST_METRICS)
MAX_NOTES = 10
PROBE_ROWS = 1000


class Outcome(Struct, kw_only=True):
    """What became of a task: metrics if it was done, otherwise what ended it."""

    status: str  # done, failed, timeout, memory, crashed
    metrics: dict[str, float] = {}
    best_params: dict[str, Any] = {}  # by tuning
    diagnostics: dict[str, Any] = {}
    notes: list[str] = []  # warnings
    error: str = ""
    trace: str = ""
    predictions: bytes | None = None


class _Parts(NamedTuple):
    """The data of a task with its alterations, and the rows of each part."""

    data: MultiViewData
    target: np.ndarray
    rows: SplitRows
    train_labels: np.ndarray
    numbers: np.ndarray  # of the test rows in the whole data set
    groups: np.ndarray | None


def execute(task: Task, problem: Problem) -> Outcome:
    """Do the work of a task; whatever the method raises becomes part of the outcome."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = _evaluate(task, problem)
        except MemoryError as error:
            outcome = failure("memory", error)
        except Exception as error:
            outcome = failure("failed", error)
    y_pred = dict.fromkeys(f"{type(w.message).__name__}: {w.message}" for w in caught)
    outcome.notes = list(y_pred)[:MAX_NOTES]
    return outcome


def failure(status: str, error: BaseException) -> Outcome:
    """An outcome that tells of an error."""
    y_pred = f"{type(error).__name__}: {error}".strip().rstrip(":")
    return Outcome(status=status, error=y_pred, trace="".join(traceback.format_exception(error)))


def _evaluate(task: Task, problem: Problem) -> Outcome:
    parts = prepare_task_data(task, problem)
    model = build_method(task, task.seed + task.index)
    if problem.preprocessor is not None:
        model = make_pipeline(clone(problem.preprocessor), model)
    metrics: dict[str, float] = {}
    best_params = _tune(task, model, parts, metrics) if task.grid else {}
    data, labels = parts.data[parts.rows.train], parts.train_labels
    with memory.peak(metrics), _timed(metrics, "fit"):
        model.fit(data, labels)
    test, y_true = parts.data[parts.rows.test], parts.target[parts.rows.test]
    with _timed(metrics, "predict"):
        y_pred = model.predict(test)
    scores, kind = _scores(model, test)
    metrics.update(_quality(y_true, y_pred, scores, kind, model.classes_))
    diagnostics = {name: DIAGNOSTICS[name](model, test, y_true) for name in task.diagnostics}
    outcome = Outcome(
        status="done", metrics=metrics, best_params=best_params, diagnostics=diagnostics
    )
    if task.keep_predictions:
        kept = Predictions.from_labels(parts.numbers, y_true, y_pred, scores, kind, model.classes_)
        outcome.predictions = kept.to_bytes()
    return outcome


def warm_up(task: Task) -> None:
    """Fit the method on a few rows, so that imports and first calls are in nobody's time."""
    data, labels = make_multiview_classification(30, n_views=2, n_features=3, random_state=0)
    # data of another kind may not suit it; then the first fit is as it is
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        build_method(task, 0).fit(data, labels).predict(data)


def prepare_task_data(task: Task, problem: Problem) -> _Parts:
    """Training, validation and test rows of a task, with its alterations."""
    data, target = problem.data, problem.target
    groups, condition = problem.groups, task.condition
    numbers = np.arange(len(target))
    if task.complete:
        numbers = np.flatnonzero(data.present.all(axis=1))
    if task.sample is not None:
        rng = make_rng(task.seed, task.repeat, "sample")
        numbers = np.sort(rng.permutation(numbers)[: task.sample])
    if len(numbers) < len(target):
        data, target = data[numbers], target[numbers]
        groups = None if groups is None else groups[numbers]
    rows = split_rows(
        task.split, task.index, target, seed=task.seed, groups=groups, official=problem.splits
    )
    if condition.junk_views:
        data = add_noise_views(data, condition.junk_views, make_rng(task.seed, task.repeat, "junk"))
    if condition.missing:
        data = hide_views(data, condition.missing, make_rng(task.seed, task.repeat, "views"))
    if task.positive_class is not None:
        target = (target == np.unique(problem.target)[task.positive_class]).astype(int)
    train = rows.train
    if condition.train_size is not None:
        rng = make_rng(task.seed, task.index, "subset")
        train = balanced_subset(train, target[train], condition.train_size, rng)
    labels = target[train]
    if condition.label_noise:
        labels = flip_labels(
            labels, condition.label_noise, make_rng(task.seed, task.index, "labels")
        )
    rows = rows._replace(train=train)
    return _Parts(data, target, rows, labels, numbers[rows.test], groups)


def _tune(task: Task, model: Any, parts: _Parts, metrics: dict[str, float]) -> dict[str, Any]:
    """Set the best of the grid: by the validation rows if there are any, else by folds."""
    grid = {parameter_name(model, name): list(values) for name, values in task.grid.items()}
    rows, labels = parts.rows.train, parts.train_labels
    groups = None if parts.groups is None else parts.groups[rows]
    folds: Any = tuning_folds(task, groups)
    if len(parts.rows.validation):
        other = parts.rows.validation
        folds = PredefinedSplit(np.repeat([-1, 0], [len(rows), len(other)]))
        rows, labels = np.r_[rows, other], np.r_[labels, parts.target[other]]
        groups = None
    data = parts.data[rows]
    start = time.process_time()
    search = GridSearchCV(model, grid, cv=folds, refit=False, error_score="raise")
    search.fit(data, labels, groups=groups)
    metrics["tune_seconds"] = time.process_time() - start
    model.set_params(**search.best_params_)
    short = dict(zip(grid, task.grid, strict=True))
    return {short[name]: value for name, value in search.best_params_.items()}


def tuning_folds(task: Task, groups: np.ndarray | None) -> Any:
    """Folds of the training rows, whole groups kept together."""
    if groups is None:
        return StratifiedKFold(task.tuning_folds, shuffle=True, random_state=task.seed)
    n = min(task.tuning_folds, len(np.unique(groups)))
    return StratifiedGroupKFold(n, shuffle=True, random_state=task.seed)


@contextlib.contextmanager
def _timed(metrics: dict[str, float], what: str) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    metrics[f"{what}_seconds"] = time.process_time() - cpu
    metrics[f"{what}_wall_seconds"] = time.perf_counter() - wall


def _scores(model: Any, test: MultiViewData) -> tuple[np.ndarray | None, str]:
    """Probabilities if the method has them, else decision values, else nothing."""
    for kind, method in (("probability", "predict_proba"), ("decision", "decision_function")):
        if hasattr(model, method):
            return getattr(model, method)(test), kind
    return None, "none"


def _quality(
    y_true: np.ndarray,
    y_pred: np.ndarray,
    scores: np.ndarray | None,
    kind: str,
    classes: np.ndarray,
) -> dict[str, float]:
    """Metrics that are defined for these answers; F1 is that of the second of two classes."""
    binary = len(classes) == 2
    average = {"pos_label": classes[1]} if binary else {"average": "macro"}
    result = {
        "accuracy": accuracy_score(y_true, y_pred),
        "balanced_accuracy": balanced_accuracy_score(y_true, y_pred),
        "f1": f1_score(y_true, y_pred, zero_division=0.0, **average),
    }
    if np.isin(y_true, classes).all():
        if kind == "probability":
            result["log_loss"] = log_loss(y_true, scores, labels=classes)
        if binary and scores is not None and len(np.unique(y_true)) == 2:
            column = scores[:, 1] if kind == "probability" else scores
            result["roc_auc"] = roc_auc_score(y_true == classes[1], column)
    return {name: float(value) for name, value in result.items()}


def _missing_views(model: Any, test: MultiViewData, y_true: np.ndarray) -> dict[str, float]:
    """Accuracy on the test rows when one view is missing at prediction; NaN if it is the only."""
    result = {}
    for name in test.view_names:
        present = test.present.copy()
        present[:, test.view_names.index(name)] = False
        rows = np.flatnonzero(present.any(axis=1))
        if len(rows) == 0:
            result[name] = np.nan
            continue
        less = with_presence(test, present)[rows]
        result[name] = float(accuracy_score(y_true[rows], model.predict(less)))
    return result


def _permutation(model: Any, test: MultiViewData, y_true: np.ndarray) -> dict[str, float]:
    """Accuracy lost when a view is shuffled among the test rows."""
    rows = _some_rows(y_true)
    result = view_permutation_importance(model, test[rows], y_true[rows], random_state=0)
    return dict(zip(result.view_names, result.importances_mean.tolist(), strict=True))


def _shapley(model: Any, test: MultiViewData, y_true: np.ndarray) -> dict[str, float]:
    """Shares of the views in the accuracy on the test rows."""
    rows = _some_rows(y_true)
    result = view_shapley(model, test[rows], y_true[rows], n_orders=20, random_state=0)
    return dict(zip(result.view_names, result.shapley_values.tolist(), strict=True))


def _some_rows(y_true: np.ndarray) -> np.ndarray:
    """At most so many test rows, since they are predicted for many sets of views."""
    return np.random.default_rng(0).permutation(len(y_true))[:PROBE_ROWS]


DIAGNOSTICS: dict[str, Callable[[Any, MultiViewData, np.ndarray], Any]] = {
    "missing_views": _missing_views,
    "permutation": _permutation,
    "shapley": _shapley,
}
