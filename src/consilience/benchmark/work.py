"""The work of a task: rows, alterations, tuning, fit, prediction, metrics.

``execute(task, problem)`` always returns an ``Outcome``, which records any error of the method.
The timers cover fitting and predicting only.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from sklearn.model_selection import (
    PredefinedSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from sklearn.pipeline import Pipeline

from consilience._estimators import weight_params
from consilience.benchmark.memory import measure_peak
from consilience.benchmark.metrics import (
    PANEL_SIZE,
    QUALITY_METRICS,
    ModelOutput,
    compute_metrics,
    find_metric,
    panel_size,
    positive_label,
    predict_output,
)
from consilience.benchmark.predictions import Predictions
from consilience.benchmark.problems import Problem, append_rows
from consilience.benchmark.protocol import (
    SplitRows,
    add_feature_noise,
    add_noise_views,
    balanced_subset,
    ensure_two_groups,
    flip_labels,
    hide_views,
    make_rng,
    split_rows,
    stratified_subset,
    with_presence,
)
from consilience.benchmark.tasks import Task, build_method, parameter_name
from consilience.benchmark.tuning import search_grid
from consilience.datasets import make_multiview_classification
from consilience.inspection import view_permutation_importance, view_shapley
from consilience.methods import METHODS as ALL_METHODS
from consilience.methods import Method
from consilience.views import MultiViewData

__all__ = [
    "DIAGNOSTICS",
    "Outcome",
    "execute",
    "failure",
    "fit_all",
    "tuning_folds",
    "warm_up",
]

MAX_WARNINGS = 10
MAX_VIEW_PAIRS = 45
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
    model: bytes | None = None  # pickled, of a task that fits on all rows; never stored


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
            if task.refit:
                model = pickle.dumps(fit_all(task, problem, methods))
                outcome = Outcome(status="done", model=model)
            else:
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
    model = build_method(task, task.method_seed, methods)
    metrics: dict[str, float] = {}
    best_params = _tune(task, model, task_data, metrics) if task.grid else {}
    train, test = task_data.rows.train, task_data.rows.test
    X_train, y_train = task_data.data[train], task_data.train_labels
    fit_params = fit_parameters(model, task_data.sample_weight, train)
    X_train, y_train = with_unlabelled(model, X_train, y_train, problem.unlabelled)
    with measure_peak(metrics), _timed(metrics, "fit"):
        model.fit(X_train, y_train, **fit_params)
    X_test, y_true = task_data.data[test], task_data.target[test]
    with _timed(metrics, "predict"):
        y_pred = model.predict(X_test)
    output = (
        predict_output(model, X_test, y_pred)
        if task.needs_scores
        else ModelOutput(y_pred, None, "none", model.classes_)
    )
    weight = None if task_data.sample_weight is None else task_data.sample_weight[test]
    names, positive = (*QUALITY_METRICS, task.metric), task.positive
    metrics.update(compute_metrics(y_true, output, names=names, positive=positive, weight=weight))
    n_selected = panel_size(model)
    if n_selected is not None:
        metrics[PANEL_SIZE] = float(n_selected)
    measure = TestMetric(task.metric, positive)
    diagnostics = {
        name: _diagnose(name, model, TestRows(X_test, y_true, weight), measure)
        for name in task.diagnostics
    }
    outcome = Outcome(
        status="done", metrics=metrics, best_params=best_params, diagnostics=diagnostics
    )
    if task.keep_predictions:
        predictions = Predictions.from_labels(
            task_data.test_row_numbers, y_true, y_pred, output.scores, output.kind, model.classes_
        )
        outcome.predictions = predictions.to_bytes()
    return outcome


def fit_all(task: Task, problem: Problem, methods: Mapping[str, Method] = ALL_METHODS) -> Any:
    """Fit a method, with its preparation of views, to all rows; tune it if the task has a grid."""
    model = build_method(task, task.seed, methods)
    fit_params = fit_parameters(model, problem.sample_weight)
    if task.grid:
        grid = {parameter_name(model, name): list(values) for name, values in task.grid.items()}
        folds, rows = tuning_folds(task, problem.groups), (problem.data, problem.target)
        search = _tuning_score(task, problem.sample_weight)
        best = search_grid(model, grid, folds, *rows, problem.groups, fit_params, **search)
        model.set_params(**best)
    X, y = with_unlabelled(model, problem.data, problem.target, problem.unlabelled)
    return model.fit(X, y, **fit_params)


def with_unlabelled(
    model: Any, X: MultiViewData, y: np.ndarray, unlabelled: MultiViewData | None
) -> tuple[MultiViewData, np.ndarray]:
    """Training rows, followed by those without a label if the method can learn from them."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if unlabelled is None or "unlabelled" not in last.get_params(deep=False):
        return X, y
    labels = np.append(y.astype(object), [None] * len(unlabelled))
    return append_rows(X, unlabelled), labels


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
        draw = stratified_subset if task.stratified else balanced_subset
        train = draw(train, target[train], condition.train_size, rng)
        if groups is not None:
            train = ensure_two_groups(train, rows.train, target, groups)
    labels = target[train]
    if condition.label_noise:
        labels = flip_labels(
            labels, condition.label_noise, make_rng(task.seed, task.index, "labels")
        )
    if condition.feature_noise:
        rng = make_rng(task.seed, task.index, "features")
        data = add_feature_noise(data, condition.feature_noise, train, rng)
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
    fit_params = fit_parameters(model, task_data.sample_weight, rows)
    weight = None if task_data.sample_weight is None else task_data.sample_weight[rows]
    score = _tuning_score(task, weight)
    best_params = search_grid(model, grid, folds, data, labels, groups, fit_params, **score)
    metrics["tune_seconds"] = time.process_time() - start
    model.set_params(**best_params)
    short_names = dict(zip(grid, task.grid, strict=True))
    return {short_names[name]: value for name, value in best_params.items()}


def _tuning_score(task: Task, weight: np.ndarray | None) -> dict[str, Any]:
    """How a grid search scores models: by the metric of the task if it has one."""
    if not task.tuning_metric:
        return {}
    return {"measure": TestMetric(task.tuning_metric, task.positive), "weight": weight}


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


@dataclass(frozen=True)
class TestMetric:
    """The metric of a task on test rows of which views may be missing; NaN if it is undefined."""

    name: str
    positive: str = ""

    def value(
        self, model: Any, X: MultiViewData, y_true: np.ndarray, weight: np.ndarray | None = None
    ) -> float:
        """Compute the metric."""
        y_pred = model.predict(X)
        needs_scores = find_metric(self.name).needs != "labels"
        output = (
            predict_output(model, X, y_pred)
            if needs_scores
            else ModelOutput(y_pred, None, "none", model.classes_)
        )
        values = compute_metrics(
            y_true, output, names=[self.name], positive=self.positive, weight=weight
        )
        return values.get(self.name, np.nan)

    def __call__(
        self, model: Any, X: MultiViewData, y_true: np.ndarray, weight: np.ndarray | None = None
    ) -> float:
        """Return the metric with the sign that makes larger values better, as scorers do."""
        return find_metric(self.name).sign * self.value(model, X, y_true, weight)


class TestRows(NamedTuple):
    """Samples, labels and weights that diagnostics are computed on."""

    X: MultiViewData
    y_true: np.ndarray
    weight: np.ndarray | None

    def take(self, rows: np.ndarray) -> TestRows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return TestRows(self.X[rows], self.y_true[rows], weight)

    def with_views(self, present: np.ndarray) -> TestRows:
        """Return the rows with other views missing, those that have any."""
        rows = np.flatnonzero(present.any(axis=1))
        return self._replace(X=with_presence(self.X, present)).take(rows)


def _diagnose(name: str, model: Any, rows: TestRows, measure: TestMetric) -> dict[str, Any]:
    """Compute a diagnostic; a method of the user may not support it, and has its scores anyway."""
    try:
        return DIAGNOSTICS[name](model, rows, measure)
    except Exception as error:
        message = str(error).splitlines()[0] if str(error) else ""
        warnings.warn(
            f"no diagnostic {name!r}: {type(error).__name__}: {message}", UserWarning, stacklevel=2
        )
        return {}


def _missing_views(model: Any, rows: TestRows, measure: TestMetric) -> dict[str, float]:
    """Metric by view when it is missing at prediction; NaN if all rows have only that view."""
    values = {}
    for v, name in enumerate(rows.X.view_names):
        present = rows.X.present.copy()
        present[:, v] = False
        values[name] = _value(model, rows.with_views(present), measure)
    return values


def _value(model: Any, rows: TestRows, measure: TestMetric) -> float:
    """The metric on these rows; NaN if there are none."""
    return measure.value(model, *rows) if len(rows.y_true) else np.nan


def _permutation(model: Any, rows: TestRows, measure: TestMetric) -> dict[str, float]:
    """What shuffling each view among the test rows costs, in units of the metric."""
    X, y_true, weight = _importance_rows(rows)
    importance = view_permutation_importance(
        model, X, y_true, scoring=partial(measure, weight=weight), random_state=0
    )
    return dict(zip(importance.view_names, importance.importances_mean.tolist(), strict=True))


def _shapley(model: Any, rows: TestRows, measure: TestMetric) -> dict[str, float]:
    """Shapley values of the views with respect to the metric on the test rows."""
    X, y_true, weight = _importance_rows(rows)
    scoring = partial(measure, weight=weight)
    importance = view_shapley(model, X, y_true, scoring=scoring, n_orders=20, random_state=0)
    return dict(zip(importance.view_names, importance.shapley_values.tolist(), strict=True))


def _single_views(model: Any, rows: TestRows, measure: TestMetric) -> dict[str, Any]:
    """What the model predicts from one view or two, where all other views are missing.

    The metric of every view ("alone") and pair ("pairs", names in JSON), the share of rows
    for which two views alone lead to the same class ("agreement"), and for two classes the rows,
    labels and scores of every view.
    """
    rows = _importance_rows(rows)
    names = rows.X.view_names
    alone, scores, labels = {}, {}, {}
    for v, name in enumerate(names):
        part = _only_views(rows, [v])
        alone[name] = _value(model, part, measure)
        labels[name] = np.full(len(rows.y_true), -1)
        if len(part.y_true):
            y_pred = model.predict(part.X)
            labels[name][rows.X.present[:, v]] = np.searchsorted(model.classes_, y_pred)
            scores[name] = _positive_scores(model, part.X, y_pred, part.y_true, measure.positive)
    pairs, agreement = {}, {}
    for u, v in list(combinations(range(len(names)), 2))[:MAX_VIEW_PAIRS]:
        key = json.dumps([names[u], names[v]])
        pairs[key] = _value(model, _only_views(rows, [u, v]), measure)
        first, second = labels[names[u]], labels[names[v]]
        both = (first >= 0) & (second >= 0)
        agreement[key] = float((first == second)[both].mean()) if both.any() else np.nan
    known = {name: values for name, values in scores.items() if values is not None}
    return {"alone": alone, "pairs": pairs, "agreement": agreement, "scores": known}


def _only_views(rows: TestRows, views: list[int]) -> TestRows:
    """Rows that have any of these views, without the others."""
    present = np.zeros_like(rows.X.present)
    present[:, views] = rows.X.present[:, views]
    return rows.with_views(present)


def _positive_scores(
    model: Any, X: MultiViewData, y_pred: np.ndarray, y_true: np.ndarray, positive: str
) -> list[list[Any]] | None:
    """Row numbers, truth and scores of the positive one of two classes; None for several."""
    output = predict_output(model, X, y_pred)
    if len(output.classes) != 2 or output.scores is None:
        return None
    label = positive_label(output.classes, positive)
    values = np.round(output.positive_scores(label), 5)
    return [list(range(len(values))), (y_true == label).astype(int).tolist(), values.tolist()]


def _importance_rows(rows: TestRows) -> TestRows:
    return rows.take(np.random.default_rng(0).permutation(len(rows.y_true))[:MAX_IMPORTANCE_ROWS])


def _staged(model: Any, rows: TestRows, measure: TestMetric) -> dict[str, float]:
    """Accuracy after each round of boosting, by the number of rounds."""
    preparation, booster = (model[:-1], model[-1]) if isinstance(model, Pipeline) else (None, model)
    X = rows.X if preparation is None else preparation.transform(rows.X)
    return {
        str(n_rounds): float(np.average(y_pred == rows.y_true, weights=rows.weight))
        for n_rounds, y_pred in enumerate(booster.staged_predict(X), start=1)
    }


DIAGNOSTICS: dict[str, Callable[[Any, TestRows, TestMetric], Any]] = {
    "missing_views": _missing_views,
    "permutation": _permutation,
    "shapley": _shapley,
    "single_views": _single_views,
    "staged": _staged,
}
