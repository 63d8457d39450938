"""How long the rest will take, and one line of text about it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from consilience.benchmark.tasks import Task

__all__ = ["Forecast", "format_duration"]


class Forecast:
    """Time left, from the tasks done so far: like tasks first, then the method, then all."""

    def __init__(self, tasks: Iterable[Task], jobs: int) -> None:
        self._jobs = max(1, jobs)
        self._left = Counter(self._kinds(task)[0] for task in tasks)
        self._sums: dict[tuple, float] = defaultdict(float)
        self._counts: Counter[tuple] = Counter()

    @staticmethod
    def _kinds(task: Task) -> list[tuple]:
        return [(task.dataset_name, task.condition, task.method_name), (task.method_name,), ()]

    def add(self, task: Task, seconds: float) -> None:
        """A task was done in this time."""
        kinds = self._kinds(task)
        self._left[kinds[0]] -= 1
        for kind in kinds:
            self._sums[kind] += seconds
            self._counts[kind] += 1

    def seconds_left(self) -> float | None:
        """Seconds until all is done; None before the first task."""
        if not self._counts[()]:
            return None
        total = 0.0
        for kind, left in self._left.items():
            known = next(k for k in (kind, kind[2:], ()) if self._counts[k])
            total += max(0, left) * self._sums[known] / self._counts[known]
        return total / self._jobs


def format_duration(seconds: float | None) -> str:
    """Time for a reader, such as 1:02:03."""
    if seconds is None:
        return "-:--:--"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
