"""What several commands share: options, folders, progress, and the list of failures."""

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

LOG_SECONDS = 30.0  # between two lines of a log
Quiet = Annotated[bool, typer.Option("--quiet", help="Plain lines for a log, no live display.")]


def check_seed_and_jobs(seed: int, jobs: int) -> None:
    """Refuse what neither the random generators nor the pool would take."""
    if jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {jobs}")
    if not 0 <= seed < 2**31:
        raise ValueError(f"--seed must lie between 0 and {2**31 - 1}, got {seed}")


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"the folder {path} cannot be made: {error.strerror}") from None


def run_with_progress(
    records: Iterator[Record | None],
    tasks: list[Task],
    jobs: int,
    quiet: bool,
    done: int = 0,
) -> None:
    """Run to the end, with a live display on a terminal and plain lines elsewhere."""
    console = Console(stderr=True)
    forecast, total = Forecast(tasks, jobs), done + len(tasks)
    live = console.is_terminal and not quiet
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    columns.append(TextColumn("{task.fields[left]} left"))
    format_list = time.monotonic()
    message: set[str] = set()
    with Progress(*columns, console=console, transient=True, disable=not live) as progress:
        bar = progress.add_task("starting", total=total, completed=done, left="-:--:--")
        for record in records:
            if record is None:
                continue
            task, done = record.task, done + 1
            forecast.add(task, record.seconds)
            left = format_duration(forecast.seconds_left())
            name = f"{task.method_name} on {task.dataset_name}"
            progress.update(bar, completed=done, left=left, description=escape(name))
            what = f"{name} {record.outcome.status}: {record.outcome.error}"
            if not record.done and what not in message:
                message.add(what)
                console.print(what, markup=False, highlight=False, soft_wrap=True)
            if not live and (time.monotonic() - format_list > LOG_SECONDS or done == total):
                format_list = time.monotonic()
                console.print(f"{done} of {total} fits, {left} left", highlight=False)


def print_failures(console: Console, results: Results) -> None:
    """One line for each method and kind of failure."""
    for dataset, method, status, error, count in results.failure_summary():
        what = f"{method} on {dataset}: {count} {status}: {error}"
        console.print(what, markup=False, highlight=False, soft_wrap=True)
