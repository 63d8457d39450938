"""The study: which fits are run, in which order, and how their results are grouped."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from msgspec.structs import replace
from sklearn.dummy import DummyClassifier

from consilience.benchmark.bounds import MAX_REPEATS, check_bounds, check_n_tasks
from consilience.benchmark.estimator_specs import estimator_spec
from consilience.benchmark.metrics import find_metric
from consilience.benchmark.problems import Problem
from consilience.benchmark.protocol import Folds, list_folds, n_splits, split_rows
from consilience.benchmark.results import Results, collect_results, rank_methods
from consilience.benchmark.store import Record, Store
from consilience.benchmark.tasks import (
    Condition,
    Task,
    cross_validation,
    task_hash,
)
from consilience.benchmark.work import fit_all
from consilience.comparison.budget import TimeBudget, choose_methods
from consilience.comparison.record import DataSummary, Run
from consilience.methods import Method

__all__ = [
    "CHANCE",
    "Failure",
    "StudyResults",
    "applicable",
    "chance_tasks",
    "check_cross_validation",
    "collect_study",
    "failures",
    "follow_up_tasks",
    "incompatibility",
    "main_tasks",
    "refit",
    "refit_task",
    "run_study",
]

CURVE_METHODS = 3
CURVE_POINTS = 4
# importance of views and learning curves use the first folds: at least this many, and as many as
# it takes to reach this number of test samples
MIN_FOLLOW_UP_FOLDS = 3
MIN_FOLLOW_UP_SAMPLES = 500


def _build_chance(_: int | None) -> DummyClassifier:
    return DummyClassifier(strategy="prior")


# a row of every ranking, but not a method that could be the best
CHANCE = Method(
    "Chance",
    "the most frequent class, with the class shares as probabilities, whatever the views say",
    "baseline",
    _build_chance,
    preparation="none",
)


@dataclass(frozen=True)
class StudyResults:
    """Results of the comparison, of the importance of views, and of the learning curves."""

    main: Results
    chance: Results
    importance: Results
    curve: Results
    n_splits: int  # splits on which all methods were run
    n_planned: int  # splits
    best: str | None  # None if no method completed all splits, or not all splits were run

    @property
    def is_complete(self) -> bool:
        """Whether all methods were run on all splits."""
        return self.n_splits == self.n_planned


@dataclass(frozen=True)
class Failure:
    """An error of a method, the stage it occurred in, and the number of fits concerned."""

    stage: str
    method: str
    status: str
    error: str
    n_fits: int


def failures(run: Run, results: StudyResults) -> list[Failure]:
    """List the failures of all stages."""
    stages = {
        "comparison": results.main,
        "chance level": results.chance,
        "importance of views": results.importance,
        "learning curve": results.curve,
    }
    listed = [
        Failure(stage, method, status, error, count)
        for stage, part in stages.items()
        for _, method, status, error, count in part.failure_summary()
    ]
    if run.refit_error:
        name = results.best or ""
        listed.append(Failure("fit on all samples", name, "failed", run.refit_error, 1))
    return listed


def check_cross_validation(run: Run, problem: Problem) -> None:
    """Check that the samples allow the requested folds and metric; an error suggests others."""
    counts = dict(zip(run.data.classes, run.data.counts, strict=True))
    options = run.options
    if find_metric(options.metric).two_classes_only and len(counts) > 2:
        raise ValueError(
            f"{options.metric} needs two classes, but there are {len(counts)}; use log_loss or "
            "balanced_accuracy"
        )
    if options.positive and len(counts) > 2:
        raise ValueError(f"a positive class needs two classes, but there are {len(counts)}")
    if options.positive and options.positive not in counts:
        names = " or ".join(repr(name) for name in counts)
        raise ValueError(f"the positive class must be {names}, got {options.positive!r}")
    if not options.splitter:
        _check_folds(run, problem, counts)
    _check_test_classes(run, problem)


def _check_folds(run: Run, problem: Problem, counts: Mapping[str, int]) -> None:
    options = run.options
    rare = min(counts, key=lambda name: counts[name])
    if not 2 <= options.cv <= counts[rare]:
        raise ValueError(
            f"cv must be between 2 and {counts[rare]}, the number of samples of class {rare!r}, "
            f"got {options.cv}"
            if counts[rare] > 1
            else f"class {rare!r} has only one sample; leave it out (--drop-rare 2)"
        )
    check_bounds("repeats", options.repeats, 1, MAX_REPEATS)
    check_n_tasks(options.cv * options.repeats * len(options.methods))
    if problem.groups is not None:
        n_groups = len(np.unique(problem.groups))
        if n_groups < options.cv:
            raise ValueError(
                f"cv = {options.cv} needs at least {options.cv} groups, but there are {n_groups}"
            )
        for label in np.unique(problem.target):
            if len(np.unique(problem.groups[problem.target == label])) < 2:
                raise ValueError(
                    f"class {str(label)!r} occurs in only one group, so it cannot be learned from "
                    "the others; leave it out or use other groups"
                )


def _check_test_classes(run: Run, problem: Problem) -> None:
    """Check that every test set has two classes if the metric needs them.

    Stratified folds have all classes, unless groups are kept together.
    """
    options, target = run.options, problem.target
    is_possible = bool(options.splitter) or problem.groups is not None
    if not is_possible or not find_metric(options.metric).needs_two_test_classes:
        return
    split: Any = options.split
    if isinstance(split, Folds):
        splits = [
            rows
            for repeat in range(split.repeats)
            for rows in list_folds(split, repeat, target, options.seed, problem.groups)
        ]
    else:
        splits = [
            split_rows(split, index, target, seed=options.seed, official=problem.splits)
            for index in range(n_splits(split))
        ]
    for index, rows in enumerate(splits):
        labels = target[rows.test]
        if (labels == labels[0]).all():
            raise ValueError(
                f"{options.metric} needs test sets of at least two classes, but that of split "
                f"{index} has class {str(labels[0])!r} only; use fewer folds (cv), or "
                "accuracy, log_loss or brier"
            )


def applicable(
    methods: Iterable[Method], data: DataSummary, metric: str
) -> tuple[list[Method], dict[str, str]]:
    """Split methods into those that can be compared on these views, and reasons for the others."""
    kinds = {view.name: view.kind for view in data.views}
    usable, not_applicable = [], {}
    for method in methods:
        reason = incompatibility(method, kinds, metric)
        if reason:
            not_applicable[method.name] = reason
        else:
            usable.append(method)
    if not usable:
        name, reason = next(iter(not_applicable.items()))
        raise ValueError(f"none of the methods is applicable; {name}: {reason}")
    return usable, not_applicable


def incompatibility(method: Method, kinds: Mapping[str, str], metric: str) -> str:
    """Reason why a method cannot handle views of these kinds or this metric; empty if it can."""
    for view, kind in kinds.items():
        if kind not in method.kinds:
            return f"the view {view!r} is a {kind} matrix, and only feature columns are supported"
    if find_metric(metric).needs == "probabilities" and not method.has_probabilities:
        return f"{metric} needs probabilities, which are not available"
    return ""


def main_tasks(run: Run) -> list[Task]:
    """Every method on every split; the first repeat also measures the effect of missing views."""
    tasks = _tasks(
        run,
        [method for method in run.options.methods if method not in run.left_out],
        {name: json.loads(own.spec) for name, own in run.own_methods.items()},
        keep_predictions=True,
    )
    return [
        task if task.repeat else replace(task, diagnostics=("missing_views",)) for task in tasks
    ]


def chance_tasks(run: Run) -> list[Task]:
    """Chance on every split."""
    return _tasks(run, [CHANCE.name], {CHANCE.name: estimator_spec(CHANCE.make_estimator(None))})


def _tasks(
    run: Run, methods: list[str], own_specs: dict[str, Any], keep_predictions: bool = False
) -> list[Task]:
    options = run.options
    return cross_validation(
        run.data.name,
        methods,
        options.split,
        seed=options.seed,
        data_hash=run.data.data_hash,
        tune=options.tune,
        own_specs=own_specs,
        keep_predictions=keep_predictions,
        metric=options.metric,
        tuning_metric=run.tuning_metric,
        positive=options.positive,
    )


def collect_study(run: Run, records: Iterable[Record]) -> StudyResults:
    """Group stored results; splits on which not all methods were run are left out."""
    records = list(records)
    known = {record.task_hash for record in records}
    tasks = main_tasks(run)
    incomplete_splits = {task.index for task in tasks if task_hash(task) not in known}
    main, chance = (
        collect_results([task for task in part if task.index not in incomplete_splits], records)
        for part in (tasks, chance_tasks(run))
    )
    n_planned = n_splits(run.options.split)
    importance, curve = follow_up_tasks(run, main)
    ranking = ranked_methods(run, main)
    if incomplete_splits and not run.options.allow_partial:
        ranking = []
    return StudyResults(
        main,
        chance,
        collect_results([task for task in importance if task_hash(task) in known], records),
        collect_results([task for task in curve if task_hash(task) in known], records),
        n_planned - len(incomplete_splits),
        n_planned,
        ranking[0] if ranking else None,
    )


def ranked_methods(run: Run, main: Results) -> list[str]:
    """Names of the methods that succeeded on all splits, best first."""
    if not main.methods:
        return []
    ranking = rank_methods(main, run.data.name, run.options.metric)
    return [entry.method for entry in ranking if not np.isnan(entry.score)]


def follow_up_tasks(run: Run, main: Results) -> tuple[list[Task], list[Task]]:
    """Tasks that depend on the ranking: view importance of the best method, learning curves."""
    names = ranked_methods(run, main)
    first = {task.method: task for task in main_tasks(run) if task.index == 0}
    folds = range(n_follow_up_folds(run))
    importance = [
        replace(
            first[name],
            index=index,
            keep_predictions=False,
            diagnostics=("permutation", "shapley", "single_views"),
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
            stratified=True,
        )
        for index in folds
        for size in curve_sizes(run)
        for name in names[:CURVE_METHODS]
    ]
    return importance, curve


def n_follow_up_folds(run: Run) -> int:
    """Number of folds of the first repeat that the follow-up tasks use."""
    n_sufficient = int(np.ceil(MIN_FOLLOW_UP_SAMPLES / max(1.0, run.test_rows)))
    return min(max(MIN_FOLLOW_UP_FOLDS, n_sufficient), run.options.cv)


def curve_sizes(run: Run) -> list[int]:
    """Training sizes, each twice the previous one, in which the rarest class still occurs."""
    counts = run.data.counts
    full_size = run.train_rows + 1e-9
    rarest_share = min(counts) / sum(counts)
    min_per_class = 4 if run.options.tune else 2
    sizes = [int(full_size / 2**k) for k in range(1, CURVE_POINTS + 1)]
    return sorted({size for size in sizes if size * rarest_share >= min_per_class})


def refit_task(run: Run, name: str) -> Task:
    """The task that fits a method, with its preparation of views, to all samples."""
    task = next(task for task in main_tasks(run) if task.method == name)
    return replace(task, refit=True, keep_predictions=False, diagnostics=())


def refit(run: Run, problem: Problem, name: str, methods: Mapping[str, Method]) -> Any:
    """Fit a method to all samples in this process; tune it if the study did."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the folds were recorded
        return fit_all(refit_task(run, name), problem, methods)


class RunBatch(Protocol):
    """Runs tasks until a time on the monotonic clock, each for at most ``fit_limit`` seconds."""

    def __call__(
        self,
        tasks: list[Task],
        *,
        stage: str = "",
        until: float | None = None,
        fit_limit: float | None = None,
    ) -> None:
        """Run the tasks."""


def run_study(
    run: Run,
    store: Store,
    run_batch: RunBatch,
    budget: TimeBudget | None = None,
    jobs: int = 1,
) -> StudyResults:
    """Run the comparison, then the tasks that depend on its ranking."""
    run.left_out = {}
    if budget is not None:
        _run_first_split(run, store, run_batch, budget, jobs)
    tasks = chance_tasks(run) + main_tasks(run)
    run_batch(tasks, stage="comparison", until=None if budget is None else budget.fits_end())
    results = collect_study(run, store.records())
    if results.best is not None and results.is_complete:
        importance, curve = follow_up_tasks(run, results.main)
        until = None if budget is None else budget.fits_end(_fit_seconds(results, results.best))
        run_batch(importance, stage="importance of views", until=until)
        run_batch(curve, stage="learning curves", until=until)
        results = collect_study(run, store.records())
    return results


def _run_first_split(
    run: Run, store: Store, run_batch: RunBatch, budget: TimeBudget, jobs: int
) -> None:
    """Measure all methods on the first split, and leave out those that would take too long."""
    n_planned = n_splits(run.options.split)
    first = [task for task in main_tasks(run) if task.index == 0]
    until, fit_limit = budget.first_split_limits(jobs, n_planned)
    run_batch(
        [task for task in chance_tasks(run) if task.index == 0] + first,
        stage="first split",
        until=until,
        fit_limit=fit_limit,
    )
    seconds = {r.task.method: r.seconds for r in collect_results(first, store.records()).records}
    if not seconds:
        return
    left = budget.fits_end() - time.monotonic()
    chosen = choose_methods(seconds, n_planned - 1, jobs, left)
    for task in first:
        if task.method not in seconds:
            run.left_out[task.method] = "too slow: its first fit did not end in time"
        elif task.method not in chosen:
            run.left_out[task.method] = (
                f"too slow: {seconds[task.method]:.1f} s for the first fit, too much for "
                f"{n_planned} splits"
            )


def _fit_seconds(results: StudyResults, method: str) -> float:
    seconds = [r.seconds for r in results.main.records if r.task.method_name == method]
    return float(np.mean(seconds)) if seconds else 0.0
