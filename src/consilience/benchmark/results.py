"""From stored results to tables of means over splits.

A failed task is never averaged away: the mean of its cell is NaN, and the failure is reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from consilience.benchmark.metrics import LOWER_IS_BETTER
from consilience.benchmark.statistics import (
    mean_and_deviation,
    paired_t,
    rank_sum,
    round_scores,
    signed_rank,
)
from consilience.benchmark.store import Record
from consilience.benchmark.tasks import Condition, Task, task_hash

if TYPE_CHECKING:
    from consilience.benchmark.suite import Suite

__all__ = [
    "Cell",
    "CellKey",
    "RankedMethod",
    "Results",
    "collect_results",
    "compare_with_best",
    "rank_methods",
]

TESTS = {"rank-sum": rank_sum, "signed-rank": signed_rank, "paired-t": paired_t}


class CellKey(NamedTuple):
    """One cell of the study: a method on a data set under a condition."""

    dataset: str
    condition: Condition
    method: str


@dataclass
class Cell:
    """Scores of a cell for one metric, one per split; NaN where a task failed."""

    scores: np.ndarray
    n_tasks: int
    n_failed: int
    n_missing: int

    @property
    def complete(self) -> bool:
        """Whether every task of the cell succeeded."""
        return self.n_tasks > 0 and not self.n_failed and not self.n_missing

    @property
    def mean(self) -> float:
        """Mean over splits; NaN unless the cell is complete."""
        return mean_and_deviation(self.scores)[0] if self.complete else np.nan

    @property
    def deviation(self) -> float:
        """Standard deviation over splits; NaN unless the cell is complete."""
        return mean_and_deviation(self.scores)[1] if self.complete else np.nan


@dataclass
class Results:
    """All cells of a study, in the order in which they were planned, and its failures."""

    datasets: list[str]
    conditions: list[Condition]
    methods: list[str]
    records: list[Record]
    n_tasks: int
    n_planned: int = 0  # tasks of the whole suite, of which these may be a part
    _tasks: dict[CellKey, list[tuple[Task, Record | None]]] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        """Whether every task of the whole suite has been run, even if some failed."""
        return len(self.records) == max(self.n_planned, self.n_tasks)

    @property
    def n_done(self) -> int:
        """Number of tasks that succeeded."""
        return sum(record.done for record in self.records)

    @property
    def failures(self) -> list[Record]:
        """Results of the tasks that failed."""
        return [record for record in self.records if not record.done]

    def failure_summary(self) -> list[tuple[str, str, str, str, int]]:
        """Data set, method, status, first line of the error, and number of fits it occurred in."""
        counts: Counter[tuple[str, str, str, str]] = Counter()
        for record in self.failures:
            task, outcome = record.task, record.outcome
            first_line = (outcome.error.splitlines() or [""])[0]
            counts[task.dataset_name, task.method_name, outcome.status, first_line] += 1
        return [(*failure, count) for failure, count in counts.items()]

    @property
    def cell_keys(self) -> list[CellKey]:
        """Keys of all cells that have tasks."""
        return list(self._tasks)

    def splits(self, key: CellKey) -> set[int]:
        """Numbers of the splits of a cell."""
        return {task.index for task, _ in self._tasks.get(key, [])}

    def cell(self, key: CellKey, metric: str, splits: Collection[int] | None = None) -> Cell:
        """Return the scores of a cell; one-vs-rest problems are averaged within each split.

        ``splits`` are the numbers of those that count, by default all.
        """
        tasks = self._tasks.get(key, [])
        if splits is not None:
            tasks = [(task, record) for task, record in tasks if task.index in splits]
        by_split: dict[int, list[float]] = {}
        for task, record in tasks:
            if record is not None:
                score = record.outcome.metrics.get(metric, np.nan)
                by_split.setdefault(task.index, []).append(score)
        scores = np.array([np.mean(by_split[split]) for split in sorted(by_split)])
        n_missing = sum(record is None for _, record in tasks)
        n_failed = sum(record is not None and not record.done for _, record in tasks)
        return Cell(scores, len(tasks), n_failed, n_missing)

    def seconds(self, key: CellKey) -> float:
        """Seconds that the tasks of a cell took."""
        records = (record for _, record in self._tasks.get(key, []))
        return sum(record.seconds for record in records if record is not None)


def collect_results(
    tasks: Iterable[Task], records: Iterable[Record], planned: Iterable[Task] | None = None
) -> Results:
    """Group the results of these tasks, a part of those ``planned``, into cells."""
    tasks = list(tasks)
    planned = tasks if planned is None else list(planned)
    by_hash = {record.task_hash: record for record in records}
    results = Results([], [], [], [], len(tasks), len(planned))
    for task in tasks:
        record = by_hash.get(task_hash(task))
        if record is not None:
            # labels are not part of the hash, and a stored task may have others
            record = replace(record, task=task)
            results.records.append(record)
        key = CellKey(task.dataset_name, task.condition, task.method_name)
        results._tasks.setdefault(key, []).append((task, record))
    keys = results.cell_keys
    results.datasets = list(dict.fromkeys(key.dataset for key in keys))
    results.conditions = list(dict.fromkeys(key.condition for key in keys))
    results.methods = list(dict.fromkeys(key.method for key in keys))
    return results


def compare_with_best(
    results: Results, suite: Suite, dataset: str, condition: Condition, metric: str
) -> dict[str, str]:
    """Mark each method with a complete cell as "best", "worse" (significantly) or "".

    All methods of the best mean are best.
    """
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    scores = {}
    for method in results.methods:
        cell = results.cell(CellKey(dataset, condition, method), metric)
        if not np.isnan(cell.mean):
            scores[method] = sign * cell.scores
    if not scores:
        return {}
    means = {method: round_scores(values.mean()) for method, values in scores.items()}
    best = max(means, key=lambda method: means[method])
    marks = {}
    for method, method_scores in scores.items():
        is_worse = len(scores[best]) == len(method_scores) > 1 and _is_significantly_better(
            suite, scores[best], method_scores
        )
        marks[method] = "best" if means[method] == means[best] else "worse" if is_worse else ""
    return marks


def _is_significantly_better(suite: Suite, a: np.ndarray, b: np.ndarray) -> bool:
    test = TESTS[suite.test](a, b)
    return test.p_value < suite.significance and test.direction > 0


@dataclass(frozen=True)
class RankedMethod:
    """A method in a ranking; ``failed`` if any of its fits failed or is missing."""

    method: str
    score: float
    deviation: float
    fit_seconds: float
    failed: bool


def rank_methods(results: Results, dataset: str, metric: str = "accuracy") -> list[RankedMethod]:
    """Rank methods on one data set by mean score, best first; those that failed come last."""
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    ranked = []
    for method in results.methods:
        key = CellKey(dataset, results.conditions[0], method)
        cell, times = results.cell(key, metric), results.cell(key, "fit_seconds")
        seconds = float(times.scores.sum())
        ranked.append(RankedMethod(method, cell.mean, cell.deviation, seconds, not cell.complete))
    return sorted(
        ranked, key=lambda r: (np.isnan(r.score), -sign * round_scores(r.score), r.method)
    )
