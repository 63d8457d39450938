"""From a suite to its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np
from msgspec.structs import replace

from consilience.benchmark.bounds import check_n_tasks
from consilience.benchmark.problems import GENERATORS, ProblemCache
from consilience.benchmark.protocol import Holdout, Official, n_splits
from consilience.benchmark.suite import DatasetEntry, Suite, check_known_names
from consilience.benchmark.tasks import Task, with_estimator_spec
from consilience.datasets import DATASETS, DatasetError

__all__ = ["first_splits", "plan", "select_tasks"]


def plan(suite: Suite) -> tuple[list[Task], list[str]]:
    """Return all tasks, grouped by split, and notes on data sets, such as what is left out.

    Examples
    --------
    >>> from consilience.benchmark import load_suite, plan
    >>> tasks, notes = plan(load_suite("mumbo-synthetic"))
    >>> tasks[0].seed
    0
    """
    tasks: list[Task] = []
    notes: list[str] = []
    problems = ProblemCache()
    for entry in suite.datasets:
        if not _is_available(entry):
            if not entry.optional:
                raise DatasetError(
                    f"the data set {entry.name!r} is not on this machine; "
                    f"download it with 'consilience fetch {entry.name}'"
                )
            notes.append(f"{entry.title} is left out: it is not on this machine")
            continue
        tasks += _dataset_tasks(suite, entry, problems, notes)
    return tasks, notes


def _is_available(entry: DatasetEntry) -> bool:
    return entry.is_own or entry.name in GENERATORS or DATASETS[entry.name].is_available()


def _dataset_tasks(
    suite: Suite, entry: DatasetEntry, problems: ProblemCache, notes: list[str]
) -> list[Task]:
    protocol, split = suite.protocol, entry.split or suite.protocol.split
    n_official, data_hash, whole_groups = 1, None, False
    source = entry.source(suite.folder)
    positive_classes: list[int | None] = [None]
    if entry.is_own or isinstance(split, Official) or protocol.targets == "one-vs-rest":
        problem = problems.get(entry.name, _loader_parameters(entry, suite.seed, 0), source)
        notes += [f"{entry.title}: {note}" for note in problem.notes]
        data_hash = problem.fingerprint() if entry.is_own else None
        whole_groups = isinstance(split, Holdout) and problem.groups is not None
        n_official = max(1, len(problem.splits))
        if protocol.targets == "one-vs-rest":
            positive_classes = list(range(len(np.unique(problem.target))))
    templates = [
        with_estimator_spec(
            Task(
                data=entry.name,
                method=method.recipe,
                split=split,
                index=0,
                seed=suite.seed,
                data_hash=data_hash,
                data_source=source,
                complete=entry.complete,
                sample=entry.sample,
                stratified=entry.class_shares == "natural",
                settings=method.settings,
                grid=method.grid,
                whole_groups=whole_groups,
                tuning_folds=protocol.tuning_folds,
                tuning_metric=protocol.tuning_metric if method.grid else "",
                diagnostics=method.diagnostics,
                needs_scores=suite.scores,
                dataset_label=entry.label,
                method_label=method.label,
            )
        )
        for method in suite.methods
        if method.applies_to(entry.title)
    ]
    n_conditions = len(protocol.conditions()) * len(positive_classes)
    check_n_tasks(n_splits(split, n_official) * n_conditions * len(templates))
    tasks = []
    for index in range(n_splits(split, n_official)):
        conditions = protocol.conditions_for_split(index)
        for condition, positive_class, template in product(conditions, positive_classes, templates):
            task = replace(
                template, index=index, condition=condition, positive_class=positive_class
            )
            parameters = _loader_parameters(entry, suite.seed, task.repeat)
            tasks.append(replace(task, data_parameters=parameters))
    return tasks


def _loader_parameters(entry: DatasetEntry, seed: int, repeat: int) -> dict[str, Any]:
    """Parameters of the loader; a seeded one draws new data for every repeat."""
    seeded: Mapping[str, Any] = {"random_state": seed + repeat} if entry.seeded else {}
    return {**entry.parameters, **seeded}


def first_splits(tasks: list[Task], n_splits: int | None) -> list[Task]:
    """Return the tasks of the first ``n_splits`` splits; all if it is None."""
    return [task for task in tasks if n_splits is None or task.index < n_splits]


def select_tasks(tasks: list[Task], only: Iterable[str]) -> list[Task]:
    """Return the tasks that match every key=value; values of the same key are alternatives."""
    wanted: dict[str, set[str]] = {}
    for text in only:
        key, sign, value = text.partition("=")
        if not sign or key not in SELECTORS:
            raise ValueError(
                f"--only must be KEY=VALUE with KEY one of {', '.join(SELECTORS)}, got {text!r}"
            )
        wanted.setdefault(key, set()).add(value)
    for key, values in wanted.items():
        known = {SELECTORS[key](task) for task in tasks}
        check_known_names(key, sorted(values), sorted(known))
    return [t for t in tasks if all(SELECTORS[k](t) in values for k, values in wanted.items())]


SELECTORS: dict[str, Callable[[Task], str]] = {
    "dataset": lambda task: task.dataset_name,
    "method": lambda task: task.method_name,
    "train_size": lambda task: f"{task.condition.train_size}",
    "label_noise": lambda task: f"{task.condition.label_noise:g}",
    "missing": lambda task: f"{task.condition.missing:g}",
    "junk_views": lambda task: f"{task.condition.junk_views}",
    "feature_noise": lambda task: f"{task.condition.feature_noise:g}",
    "split": lambda task: f"{task.index}",
}
