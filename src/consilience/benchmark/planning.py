"""From a suite to its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np
from msgspec.structs import replace

from consilience.benchmark.problems import GENERATORS, ProblemCache
from consilience.benchmark.protocol import Official, n_splits
from consilience.benchmark.suite import DatasetEntry, Suite, check_known_names
from consilience.benchmark.tasks import Task, with_estimator_spec
from consilience.datasets import DATASETS, DatasetError

__all__ = ["plan", "select_tasks"]


def plan(suite: Suite) -> tuple[list[Task], list[str]]:
    """All tasks, those of one split together, and a note for every data set that is left out."""
    tasks, notes, problems = [], [], ProblemCache()
    for choice in suite.datasets:
        if not _is_available(choice):
            if not choice.optional:
                raise DatasetError(
                    f"the data set {choice.name!r} is not on this machine; "
                    f"get it by 'consilience fetch {choice.name}'"
                )
            notes.append(f"{choice.title} is left out: it is not on this machine")
            continue
        tasks += _tasks_on(suite, choice, problems)
    return tasks, notes


def _is_available(choice: DatasetEntry) -> bool:
    return choice.name in GENERATORS or DATASETS[choice.name].is_available()


def _tasks_on(suite: Suite, choice: DatasetEntry, problems: ProblemCache) -> list[Task]:
    protocol, split = suite.protocol, choice.split or suite.protocol.split
    official = 1
    positives: list[int | None] = [None]
    if isinstance(split, Official) or protocol.targets == "one-vs-rest":
        problem = problems.get(choice.name, _parameters(choice, suite.seed, 0))
        official = max(1, len(problem.splits))
        if protocol.targets == "one-vs-rest":
            positives = list(range(len(np.unique(problem.target))))
    patterns = [
        with_estimator_spec(
            Task(
                data=choice.name,
                method=method.recipe,
                split=split,
                index=0,
                seed=suite.seed,
                complete=choice.complete,
                sample=choice.sample,
                settings=method.settings,
                grid=method.grid,
                tuning_folds=protocol.tuning_folds,
                dataset_label=choice.label,
                method_label=method.label,
            )
        )
        for method in suite.methods
        if method.applies(choice.title)
    ]
    tasks = []
    for index in range(n_splits(split, official)):
        for condition, positive_class in product(protocol.conditions_for_split(index), positives):
            for pattern in patterns:
                task = replace(
                    pattern, index=index, condition=condition, positive_class=positive_class
                )
                drawn = _parameters(choice, suite.seed, task.repeat)
                tasks.append(replace(task, data_parameters=drawn))
    return tasks


def _parameters(choice: DatasetEntry, seed: int, repeat: int) -> dict[str, Any]:
    """Parameters of the loader; a seeded one draws anew for every repeat."""
    drawn: Mapping[str, Any] = {"random_state": seed + repeat} if choice.seeded else {}
    return {**choice.parameters, **drawn}


def select_tasks(tasks: list[Task], only: Iterable[str]) -> list[Task]:
    """The tasks that agree with every key=value; values of the same key are alternatives."""
    wanted: dict[str, set[str]] = {}
    for text in only:
        key, sign, value = text.partition("=")
        if not sign or key not in SELECTORS:
            raise ValueError(f"expected one of {', '.join(SELECTORS)} = value, got {text!r}")
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
    "split": lambda task: f"{task.index}",
}
