"""Progress of a run: a bar in a terminal or notebook, plain lines elsewhere, and failures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from consilience.benchmark.progress import Forecast, format_duration
from consilience.benchmark.results import Results
from consilience.benchmark.store import Record
from consilience.benchmark.tasks import Task

__all__ = ["is_interactive", "print_failures", "run_silently", "run_with_progress"]

LOG_INTERVAL_SECONDS = 30.0


def is_interactive() -> bool:
    """Return whether a progress bar can be shown: in a terminal or a notebook."""
    console = Console(stderr=True)
    return console.is_terminal or console.is_jupyter


def run_silently(records: Iterator[Record | None], *_: Any, **__: Any) -> None:
    """Run all tasks without a word."""
    for _record in records:
        pass


def run_with_progress(
    records: Iterator[Record | None],
    tasks: list[Task],
    jobs: int,
    quiet: bool = False,
    n_done: int = 0,
) -> None:
    """Run all tasks, with a progress bar where there can be one and plain lines elsewhere."""
    console = Console(stderr=True)
    forecast, total = Forecast(tasks, jobs), n_done + len(tasks)
    live = (console.is_terminal or console.is_jupyter) and not quiet
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    columns.append(TextColumn("{task.fields[left]} left"))
    last_log = time.monotonic()
    printed: set[str] = set()
    with Progress(*columns, console=console, transient=True, disable=not live) as progress:
        bar = progress.add_task("starting", total=total, completed=n_done, left="-:--:--")
        for record in records:
            if record is None:
                continue
            task, n_done = record.task, n_done + 1
            forecast.add(task, record.seconds)
            left = format_duration(forecast.seconds_left())
            name = f"{task.method_name} on {task.dataset_name}"
            progress.update(bar, completed=n_done, left=left, description=escape(name))
            failure = f"{name} {record.outcome.status}: {record.outcome.error}"
            if not record.done and failure not in printed:
                printed.add(failure)
                console.print(failure, markup=False, highlight=False, soft_wrap=True)
            log_due = time.monotonic() - last_log > LOG_INTERVAL_SECONDS or n_done == total
            if not live and log_due:
                last_log = time.monotonic()
                console.print(f"{n_done} of {total} fits, {left} left", highlight=False)


def print_failures(console: Console, results: Results) -> None:
    """Print one line for each method and kind of failure."""
    for dataset, method, status, error, count in results.failure_summary():
        failure = f"{method} on {dataset}: {count} {status}: {error}"
        console.print(failure, markup=False, highlight=False, soft_wrap=True)
