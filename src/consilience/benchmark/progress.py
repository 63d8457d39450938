"""Estimate of the remaining time, and durations as text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from consilience.benchmark.tasks import Task

__all__ = ["Forecast", "format_duration"]


class Forecast:
    """Remaining time, estimated from finished tasks of the same cell, else method, else any."""

    def __init__(self, tasks: Iterable[Task], jobs: int) -> None:
        self._jobs = max(1, jobs)
        self._n_left = Counter(self._groups(task)[0] for task in tasks)
        self._sums: dict[tuple, float] = defaultdict(float)
        self._counts: Counter[tuple] = Counter()

    @staticmethod
    def _groups(task: Task) -> list[tuple]:
        return [(task.dataset_name, task.condition, task.method_name), (task.method_name,), ()]

    def add(self, task: Task, seconds: float) -> None:
        """Count a task that took this long."""
        groups = self._groups(task)
        self._n_left[groups[0]] -= 1
        for group in groups:
            self._sums[group] += seconds
            self._counts[group] += 1

    def seconds_left(self) -> float | None:
        """Return the seconds until all tasks are done, or None before the first has ended."""
        if not self._counts[()]:
            return None
        total = 0.0
        for cell, n_left in self._n_left.items():
            group = next(g for g in (cell, cell[2:], ()) if self._counts[g])
            total += max(0, n_left) * self._sums[group] / self._counts[group]
        return total / self._jobs


def format_duration(seconds: float | None) -> str:
    """Format a duration, such as 1:02:03."""
    if seconds is None:
        return "-:--:--"
    minutes, whole_seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole_seconds:02}"
