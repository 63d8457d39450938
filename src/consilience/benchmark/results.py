"""From stored results to tables: means over splits, beside the paper's numbers where it has any.

A failed task is never averaged away: the mean of its cell is NaN, and the failure is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from consilience.benchmark.statistics import (
    mean_and_deviation,
    paired_t,
    rank_sum,
    signed_rank,
)
from consilience.benchmark.store import Record
from consilience.benchmark.suite import Suite
from consilience.benchmark.tasks import Condition, Task, task_hash
from consilience.benchmark.work import COST_METRICS

__all__ = [
    "LOWER_IS_BETTER",
    "Cell",
    "CellKey",
    "RankedMethod",
    "Results",
    "collect_results",
    "compare_with_best",
    "rank_methods",
]

LOWER_IS_BETTER = ("log_loss", *COST_METRICS)
TESTS = {"rank-sum": rank_sum, "signed-rank": signed_rank, "paired-t": paired_t}


class CellKey(NamedTuple):
    """One cell of the study: a method on a data set under a condition."""

    dataset: str
    condition: Condition
    method: str


@dataclass
class Cell:
    """Scores of a cell for one metric, one for each split; NaN where a task failed."""

    scores: np.ndarray
    n_tasks: int
    n_failed: int
    n_missing: int

    @property
    def complete(self) -> bool:
        """Whether every task of the cell was done."""
        return self.n_tasks > 0 and not self.n_failed and not self.n_missing

    @property
    def mean(self) -> float:
        """Mean over splits; NaN if anything is missing from it."""
        return mean_and_deviation(self.scores)[0] if self.complete else np.nan

    @property
    def deviation(self) -> float:
        """Standard deviation over splits."""
        return mean_and_deviation(self.scores)[1] if self.complete else np.nan


@dataclass
class Results:
    """All cells of a study, in the order of its plan, and its failures."""

    datasets: list[str]
    conditions: list[Condition]
    methods: list[str]
    records: list[Record]
    n_tasks: int
    _tasks: dict[CellKey, list[tuple[Task, Record | None]]] = field(default_factory=dict)

    @property
    def failures(self) -> list[Record]:
        """Tasks that did not end well."""
        return [record for record in self.records if not record.done]

    def failure_summary(self) -> list[tuple[str, str, str, str, int]]:
        """Data set, method, how it ended, first line of the error, and how many fits ended so."""
        kinds: Counter[tuple[str, str, str, str]] = Counter()
        for record in self.failures:
            first = (record.outcome.error.splitlines() or [""])[0]
            kinds[
                record.task.dataset_name, record.task.method_name, record.outcome.status, first
            ] += 1
        return [(*kind, count) for kind, count in kinds.items()]

    @property
    def cells(self) -> list[CellKey]:
        """All cells that have tasks."""
        return list(self._tasks)

    def cell(self, key: CellKey, metric: str) -> Cell:
        """Scores of a cell: the mean over one-vs-rest problems for every split."""
        tasks = self._tasks.get(key, [])
        by_split: dict[int, list[float]] = {}
        for task, record in tasks:
            if record is not None:
                score = record.outcome.metrics.get(metric, np.nan)
                by_split.setdefault(task.index, []).append(score)
        scores = np.array([np.mean(by_split[split]) for split in sorted(by_split)])
        missing = sum(record is None for _, record in tasks)
        failed = sum(record is not None and not record.done for _, record in tasks)
        return Cell(scores, len(tasks), failed, missing)


def collect_results(tasks: Iterable[Task], records: Iterable[Record]) -> Results:
    """Sort the results of these tasks into cells."""
    tasks = list(tasks)
    result = {record.task_hash: record for record in records}
    results = Results([], [], [], [], len(tasks))
    for task in tasks:
        record = result.get(task_hash(task))
        if record is not None:
            results.records.append(record)
        key = CellKey(task.dataset_name, task.condition, task.method_name)
        results._tasks.setdefault(key, []).append((task, record))
    keys = results.cells
    results.datasets = list(dict.fromkeys(key.dataset for key in keys))
    results.conditions = list(dict.fromkeys(key.condition for key in keys))
    results.methods = list(dict.fromkeys(key.method for key in keys))
    return results


def compare_with_best(
    results: Results, suite: Suite, dataset: str, condition: Condition, metric: str
) -> dict[str, str]:
    """For every method "best", "worse" (significantly) or "" (not so), where it has all results."""
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    scores = {}
    for method in results.methods:
        cell = results.cell(CellKey(dataset, condition, method), metric)
        if not np.isnan(cell.mean):
            scores[method] = sign * cell.scores
    if not scores:
        return {}
    best = max(scores, key=lambda method: scores[method].mean())
    test = TESTS[suite.test]
    marks = {}
    for method, own in scores.items():
        comparable = len(own) == len(scores[best]) and len(own) > 1
        significant = comparable and test(scores[best], own).p_value < suite.significance
        marks[method] = "best" if method == best else "worse" if significant else ""
    return marks


@dataclass(frozen=True)
class RankedMethod:
    """A method in a ranking; ``failed`` if any of its fits did."""

    method: str
    score: float
    deviation: float
    fit_seconds: float
    failed: bool


def rank_methods(results: Results, dataset: str, metric: str = "accuracy") -> list[RankedMethod]:
    """Methods on one data set by their mean, the best first; those that failed last."""
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    places = []
    for method in results.methods:
        key = CellKey(dataset, results.conditions[0], method)
        cell, times = results.cell(key, metric), results.cell(key, "fit_seconds")
        seconds = float(times.scores.sum())
        places.append(RankedMethod(method, cell.mean, cell.deviation, seconds, not cell.complete))
    return sorted(places, key=lambda p: (np.isnan(p.score), -sign * p.score, p.method))
