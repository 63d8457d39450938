"""Shared by several commands: options, folders, progress, and the list of failures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from consilience.benchmark.progress import Forecast, format_duration
from consilience.benchmark.results import Results
from consilience.benchmark.store import Record
from consilience.benchmark.tasks import Task

__all__ = ["Quiet", "check_seed_and_jobs", "make_folder", "print_failures", "run_with_progress"]

LOG_INTERVAL_SECONDS = 30.0
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print plain lines, suitable for a log, not a progress bar.")
]


def check_seed_and_jobs(seed: int, jobs: int) -> None:
    """Check the range of --seed and --jobs."""
    if jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {jobs}")
    if not 0 <= seed < 2**31:
        raise ValueError(f"--seed must be between 0 and {2**31 - 1}, got {seed}")


def make_folder(path: Path) -> None:
    """Create a folder and its parents unless they exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"the folder {path} cannot be created: {error.strerror}") from None


def run_with_progress(
    records: Iterator[Record | None],
    tasks: list[Task],
    jobs: int,
    quiet: bool,
    n_done: int = 0,
) -> None:
    """Run all tasks, with a progress bar on a terminal and plain lines elsewhere."""
    console = Console(stderr=True)
    forecast, total = Forecast(tasks, jobs), n_done + len(tasks)
    live = console.is_terminal and not quiet
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
