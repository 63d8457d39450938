"""The study: which fits are done, in which order, and what is read off them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from consilience.benchmark.problems import Problem
from consilience.benchmark.protocol import Folds
from consilience.benchmark.results import Results, collect_results, rank_methods
from consilience.benchmark.store import Record, Store
from consilience.benchmark.tasks import (
    Condition,
    Task,
    build_method,
    cross_validation,
    parameter_name,
    task_hash,
)
from consilience.benchmark.work import tuning_folds
from consilience.compare.defaults import TUNING_GRIDS, disable_scaling, incompatibility
from consilience.compare.record import DataSummary, Run

__all__ = [
    "StudyResults",
    "applicable",
    "check_cross_validation",
    "follow_up_tasks",
    "main_tasks",
    "refit",
    "run_study",
    "stages",
]

CURVE_METHODS = 3
CURVE_POINTS = 4
# importance of views and learning curves are read off whole folds: at least so many, and until
# they hold so many test samples
MIN_FOLLOW_UP_FOLDS = 3
MIN_FOLLOW_UP_SAMPLES = 500


@dataclass(frozen=True)
class StudyResults:
    """Results of the comparison, of the views' importance, and of growing training sets."""

    main: Results
    importance: Results
    curve: Results
    n_splits: int  # that every method was tried on
    n_planned: int
    best: str | None


def check_cross_validation(run: Run, problem: Problem) -> None:
    """Whether these samples can be split like that; an error says what could."""
    counts = dict(zip(run.data.classes, run.data.counts, strict=True))
    rare = min(counts, key=lambda name: counts[name])
    options = run.options
    if not 2 <= options.cv <= counts[rare]:
        raise ValueError(
            f"--cv must lie between 2 and {counts[rare]}, the number of samples of class {rare!r}, "
            f"got {options.cv}"
            if counts[rare] > 1
            else f"class {rare!r} has one sample only; leave it out"
        )
    if options.repeats < 1:
        raise ValueError(f"--repeats must be at least 1, got {options.repeats}")
    if problem.groups is not None:
        n_groups = len(np.unique(problem.groups))
        if n_groups < options.cv:
            raise ValueError(f"--cv {options.cv} needs as many groups, but there are {n_groups}")
        for label in np.unique(problem.target):
            if len(np.unique(problem.groups[problem.target == label])) < 2:
                raise ValueError(
                    f"class {str(label)!r} is in one group only, so it cannot be learned from "
                    "others; leave it out or group otherwise"
                )
    if options.metric == "roc_auc" and len(counts) > 2:
        raise ValueError("--metric roc_auc is for two classes; use log_loss or balanced_accuracy")


def applicable(
    methods: list[str], data: DataSummary, metric: str
) -> tuple[list[str], dict[str, str]]:
    """Methods that can be compared on these views, and the reasons against the others."""
    kinds = {view.name: view.kind for view in data.views}
    reasons = {method: incompatibility(method, kinds, metric) for method in methods}
    against = {method: reason for method, reason in reasons.items() if reason}
    fit = [method for method in methods if method not in against]
    if not fit:
        method = methods[0]
        raise ValueError(f"none of the methods can be compared here; {method}: {against[method]}")
    return fit, against


def main_tasks(run: Run) -> list[Task]:
    """Every method on every split; without each view in the first round, once for every sample."""
    options = run.options
    tasks = cross_validation(
        run.data.name,
        options.methods,
        Folds(options.cv, options.repeats),
        seed=options.seed,
        data_hash=run.data.data_hash,
        settings=disable_scaling(options.methods) if run.data.has_pairwise_views else None,
        grids=TUNING_GRIDS if options.tune else None,
        keep_predictions=True,
    )
    return [
        task if task.repeat else replace(task, diagnostics=("missing_views",)) for task in tasks
    ]


def stages(run: Run, records: Iterable[Record]) -> StudyResults:
    """Sort stored results; splits that not all methods were tried on are left out."""
    records = list(records)
    known = {record.task_hash for record in records}
    tasks = main_tasks(run)
    open_splits = {task.index for task in tasks if task_hash(task) not in known}
    main = collect_results([task for task in tasks if task.index not in open_splits], records)
    n_planned = run.options.cv * run.options.repeats
    importance, curve = follow_up_tasks(run, main)
    best = ranked(run, main)[0] if ranked(run, main) else None
    return StudyResults(
        main,
        collect_results(importance, records),
        collect_results([task for task in curve if task_hash(task) in known], records),
        n_planned - len(open_splits),
        n_planned,
        best,
    )


def ranked(run: Run, main: Results) -> list[str]:
    """Methods that did all splits, the best first."""
    if not main.methods:
        return []
    places = rank_methods(main, run.data.name, run.options.metric)
    return [place.method for place in places if not np.isnan(place.score)]


def follow_up_tasks(run: Run, main: Results) -> tuple[list[Task], list[Task]]:
    """What is done once the ranking is known: views of the best method, training sizes of three."""
    names = ranked(run, main)
    first = {task.method: task for task in main_tasks(run)[: len(run.options.methods)]}
    folds = range(n_follow_up_folds(run))
    importance = [
        replace(
            first[name], index=index, keep_predictions=False, diagnostics=("permutation", "shapley")
        )
        for name in names[:1]
        for index in folds
    ]
    curve = [
        replace(
            first[name],
            index=index,
            keep_predictions=False,
            diagnostics=(),
            condition=Condition(train_size=size),
        )
        for index in folds
        for size in curve_sizes(run)
        for name in names[:CURVE_METHODS]
    ]
    return importance, curve


def n_follow_up_folds(run: Run) -> int:
    """How many folds of the first round are done once more."""
    enough = -(-MIN_FOLLOW_UP_SAMPLES * run.options.cv // run.data.samples)
    return min(max(MIN_FOLLOW_UP_FOLDS, enough), run.options.cv)


def curve_sizes(run: Run) -> list[int]:
    """Training sizes, each twice the one before, up to what balanced classes allow."""
    counts, folds = run.data.counts, run.options.cv
    each = min(counts) * (folds - 1) // folds
    shares = [each / 2**k for k in range(1, CURVE_POINTS + 1)]
    least = 4 if run.options.tune else 2
    return sorted({len(counts) * int(share) for share in shares if share >= least})


def refit(run: Run, problem: Problem, method: str) -> Any:
    """The method on all samples, with its preparation; tuned if the study was."""
    task = next(task for task in main_tasks(run) if task.method == method)
    model = make_pipeline(clone(problem.preprocessor), build_method(task, run.options.seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the folds have said what there is to say
        if task.grid:
            grid = {parameter_name(model, name): values for name, values in task.grid.items()}
            search = GridSearchCV(model, grid, cv=tuning_folds(task, problem.groups))
            search.fit(problem.data, problem.target, groups=problem.groups)
            return search.best_estimator_
        return model.fit(problem.data, problem.target)


def run_study(
    run: Run,
    store: Store,
    run_batch: Callable[[list[Task]], None],
) -> StudyResults:
    """Do the comparison, then what depends on its ranking."""
    run_batch(main_tasks(run))
    result = stages(run, store.records())
    if result.best is not None and result.n_splits == result.n_planned:
        importance, curve = follow_up_tasks(run, result.main)
        run_batch(importance + curve)
        result = stages(run, store.records())
    return result
