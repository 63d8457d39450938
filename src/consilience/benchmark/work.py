"""The work of a task: rows, alterations, tuning, fit, prediction, metrics.

``execute(task, problem)`` always returns an ``Outcome``, which records any error of the method.
The timers cover fitting and predicting only.
"""

from __future__ import annotations

import contextlib
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
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

from consilience._estimators import weight_params
from consilience.benchmark.memory import measure_peak
from consilience.benchmark.predictions import Predictions
from consilience.benchmark.problems import Problem
from consilience.benchmark.protocol import (
    SplitRows,
    add_noise_views,
    balanced_subset,
    ensure_two_groups,
    flip_labels,
    hide_views,
    make_rng,
    split_rows,
    with_presence,
)
from consilience.benchmark.tasks import Task, build_method, parameter_name
from consilience.datasets import make_multiview_classification
from consilience.inspection import view_permutation_importance, view_shapley
from consilience.methods import METHODS as ALL_METHODS
from consilience.methods import Method
from consilience.views import MultiViewData

__all__ = [
    "COST_METRICS",
    "DIAGNOSTICS",
    "METRICS",
    "QUALITY_METRICS",
    "Outcome",
    "execute",
    "failure",
    "tuning_folds",
    "warm_up",
]

# the only metrics that differ between two runs of a task
COST_METRICS = (
    "fit_seconds",
    "fit_wall_seconds",
    "predict_seconds",
    "predict_wall_seconds",
    "tune_seconds",
    "peak_memory",
)
QUALITY_METRICS = ("accuracy", "balanced_accuracy", "f1", "log_loss", "roc_auc")
METRICS = (*QUALITY_METRICS, *COST_METRICS)
MAX_WARNINGS = 10
MAX_IMPORTANCE_ROWS = 1000  # test rows, since they are predicted for many subsets of the views


class Outcome(Struct, kw_only=True):
    """The result of a task: metrics if it succeeded, otherwise the error."""

    status: str  # done, failed, timeout, memory, crashed
    metrics: dict[str, float] = {}
    best_params: dict[str, Any] = {}  # chosen by tuning
    diagnostics: dict[str, Any] = {}
    notes: list[str] = []  # warnings
    error: str = ""
    trace: str = ""
    predictions: bytes | None = None


class _TaskData(NamedTuple):
    """The altered data of a task, and the rows of its split."""

    data: MultiViewData
    target: np.ndarray
    rows: SplitRows
    train_labels: np.ndarray
    test_row_numbers: np.ndarray  # in the whole data set
    groups: np.ndarray | None
    sample_weight: np.ndarray | None


def execute(task: Task, problem: Problem, methods: Mapping[str, Method] = ALL_METHODS) -> Outcome:
    """Run a task; whatever the method raises becomes part of the outcome."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = _evaluate(task, problem, methods)
        except MemoryError as error:
            outcome = failure("memory", error)
        except Exception as error:
            outcome = failure("failed", error)
    messages = dict.fromkeys(f"{type(w.message).__name__}: {w.message}" for w in caught)
    outcome.notes = list(messages)[:MAX_WARNINGS]
    return outcome


def failure(status: str, error: BaseException) -> Outcome:
    """Return the outcome of a task that raised an error."""
    message = f"{type(error).__name__}: {error}".strip().rstrip(":")
    return Outcome(status=status, error=message, trace="".join(traceback.format_exception(error)))


def _evaluate(task: Task, problem: Problem, methods: Mapping[str, Method]) -> Outcome:
    task_data = prepare_task_data(task, problem)
    # every split has the same random_state, as in scikit-learn's cross_val_score
    model = build_method(task, task.seed, methods)
    metrics: dict[str, float] = {}
    best_params = _tune(task, model, task_data, metrics) if task.grid else {}
    train, test = task_data.rows.train, task_data.rows.test
    X_train, y_train = task_data.data[train], task_data.train_labels
    fit_params = fit_parameters(model, task_data.sample_weight, train)
    with measure_peak(metrics), _timed(metrics, "fit"):
        model.fit(X_train, y_train, **fit_params)
    X_test, y_true = task_data.data[test], task_data.target[test]
    with _timed(metrics, "predict"):
        y_pred = model.predict(X_test)
    scores, kind = _predict_scores(model, X_test)
    weight = None if task_data.sample_weight is None else task_data.sample_weight[test]
    metrics.update(_quality_metrics(y_true, y_pred, scores, kind, model.classes_, weight))
    diagnostics = {name: _diagnose(name, model, X_test, y_true) for name in task.diagnostics}
    outcome = Outcome(
        status="done", metrics=metrics, best_params=best_params, diagnostics=diagnostics
    )
    if task.keep_predictions:
        predictions = Predictions.from_labels(
            task_data.test_row_numbers, y_true, y_pred, scores, kind, model.classes_
        )
        outcome.predictions = predictions.to_bytes()
    return outcome


def fit_parameters(
    model: Any, sample_weight: np.ndarray | None, rows: np.ndarray | slice = slice(None)
) -> dict[str, np.ndarray]:
    """Return the arguments of ``fit`` for sample weights; none without weights."""
    if sample_weight is None:
        return {}
    return weight_params(model, sample_weight[rows], "these data")


def warm_up(task: Task, methods: Mapping[str, Method] = ALL_METHODS) -> None:
    """Fit the method on a few rows, so that times do not include imports and other first calls."""
    X, y = make_multiview_classification(30, n_views=2, n_features=3, random_state=0)
    # the method may not accept such data; then the first fit includes them after all
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        build_method(task, 0, methods).fit(X, y).predict(X)


def prepare_task_data(task: Task, problem: Problem) -> _TaskData:
    """Split and alter the data as the task says."""
    data, target = problem.data, problem.target
    groups, weight, condition = problem.groups, problem.sample_weight, task.condition
    row_numbers = np.arange(len(target))
    if task.complete:
        row_numbers = np.flatnonzero(data.present.all(axis=1))
    if task.sample is not None:
        rng = make_rng(task.seed, task.repeat, "sample")
        row_numbers = np.sort(rng.permutation(row_numbers)[: task.sample])
    if len(row_numbers) < len(target):
        data, target = data[row_numbers], target[row_numbers]
        groups = None if groups is None else groups[row_numbers]
        weight = None if weight is None else weight[row_numbers]
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
        if groups is not None:
            train = ensure_two_groups(train, rows.train, target, groups)
    labels = target[train]
    if condition.label_noise:
        labels = flip_labels(
            labels, condition.label_noise, make_rng(task.seed, task.index, "labels")
        )
    rows = rows._replace(train=train)
    return _TaskData(data, target, rows, labels, row_numbers[rows.test], groups, weight)


def _tune(
    task: Task, model: Any, task_data: _TaskData, metrics: dict[str, float]
) -> dict[str, Any]:
    """Set the best parameters of the grid, by validation rows if there are any, else by folds."""
    grid = {parameter_name(model, name): list(values) for name, values in task.grid.items()}
    rows, labels = task_data.rows.train, task_data.train_labels
    groups = None if task_data.groups is None else task_data.groups[rows]
    folds: Any = tuning_folds(task, groups)
    if len(task_data.rows.validation):
        validation = task_data.rows.validation
        folds = PredefinedSplit(np.repeat([-1, 0], [len(rows), len(validation)]))
        rows, labels = np.r_[rows, validation], np.r_[labels, task_data.target[validation]]
        groups = None
    data = task_data.data[rows]
    start = time.process_time()
    search = GridSearchCV(model, grid, cv=folds, refit=False, error_score="raise")
    search.fit(data, labels, groups=groups, **fit_parameters(model, task_data.sample_weight, rows))
    metrics["tune_seconds"] = time.process_time() - start
    model.set_params(**search.best_params_)
    short_names = dict(zip(grid, task.grid, strict=True))
    return {short_names[name]: value for name, value in search.best_params_.items()}


def tuning_folds(task: Task, groups: np.ndarray | None) -> Any:
    """Return the splitter of the training rows for tuning; groups are never split."""
    if groups is None:
        return StratifiedKFold(task.tuning_folds, shuffle=True, random_state=task.seed)
    n_folds = min(task.tuning_folds, len(np.unique(groups)))
    return StratifiedGroupKFold(n_folds, shuffle=True, random_state=task.seed)


@contextlib.contextmanager
def _timed(metrics: dict[str, float], step: str) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    metrics[f"{step}_seconds"] = time.process_time() - cpu
    metrics[f"{step}_wall_seconds"] = time.perf_counter() - wall


def _predict_scores(model: Any, X: MultiViewData) -> tuple[np.ndarray | None, str]:
    """Return probabilities if the method has them, else decision values, else None."""
    for kind, method in (("probability", "predict_proba"), ("decision", "decision_function")):
        if hasattr(model, method):
            return getattr(model, method)(X), kind
    return None, "none"


def _quality_metrics(
    y_true: np.ndarray,
    y_pred: np.ndarray,
    scores: np.ndarray | None,
    kind: str,
    classes: np.ndarray,
    weight: np.ndarray | None,
) -> dict[str, float]:
    """Compute the metrics that are defined; with two classes, F1 is that of the second."""
    binary, weighted = len(classes) == 2, {"sample_weight": weight}
    average = {"pos_label": classes[1]} if binary else {"average": "macro"}
    metrics = {
        "accuracy": accuracy_score(y_true, y_pred, **weighted),
        "balanced_accuracy": balanced_accuracy_score(y_true, y_pred, **weighted),
        "f1": f1_score(y_true, y_pred, zero_division=0.0, **average, **weighted),
    }
    if np.isin(y_true, classes).all():
        if kind == "probability":
            metrics["log_loss"] = log_loss(y_true, scores, labels=classes, **weighted)
        if binary and scores is not None and len(np.unique(y_true)) == 2:
            column = scores[:, 1] if kind == "probability" else scores
            metrics["roc_auc"] = roc_auc_score(y_true == classes[1], column, **weighted)
    return {name: float(value) for name, value in metrics.items()}


def _diagnose(name: str, model: Any, X: MultiViewData, y_true: np.ndarray) -> dict[str, float]:
    """Compute a diagnostic; a method of the user may not support it, and has its scores anyway."""
    try:
        return DIAGNOSTICS[name](model, X, y_true)
    except Exception as error:
        message = str(error).splitlines()[0] if str(error) else ""
        warnings.warn(
            f"no diagnostic {name!r}: {type(error).__name__}: {message}", UserWarning, stacklevel=2
        )
        return {}


def _missing_views(model: Any, X: MultiViewData, y_true: np.ndarray) -> dict[str, float]:
    """Accuracy by view when it is missing at prediction; NaN if all rows have only that view."""
    accuracy = {}
    for v, name in enumerate(X.view_names):
        present = X.present.copy()
        present[:, v] = False
        rows = np.flatnonzero(present.any(axis=1))
        if len(rows) == 0:
            accuracy[name] = np.nan
            continue
        y_pred = model.predict(with_presence(X, present)[rows])
        accuracy[name] = float(accuracy_score(y_true[rows], y_pred))
    return accuracy


def _permutation(model: Any, X: MultiViewData, y_true: np.ndarray) -> dict[str, float]:
    """Accuracy lost by shuffling each view among the test rows."""
    rows = _importance_rows(y_true)
    importance = view_permutation_importance(model, X[rows], y_true[rows], random_state=0)
    return dict(zip(importance.view_names, importance.importances_mean.tolist(), strict=True))


def _shapley(model: Any, X: MultiViewData, y_true: np.ndarray) -> dict[str, float]:
    """Shapley values of the views with respect to the accuracy on the test rows."""
    rows = _importance_rows(y_true)
    importance = view_shapley(model, X[rows], y_true[rows], n_orders=20, random_state=0)
    return dict(zip(importance.view_names, importance.shapley_values.tolist(), strict=True))


def _importance_rows(y_true: np.ndarray) -> np.ndarray:
    return np.random.default_rng(0).permutation(len(y_true))[:MAX_IMPORTANCE_ROWS]


DIAGNOSTICS: dict[str, Callable[[Any, MultiViewData, np.ndarray], Any]] = {
    "missing_views": _missing_views,
    "permutation": _permutation,
    "shapley": _shapley,
}
