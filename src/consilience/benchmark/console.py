"""Progress of a run: a bar in a terminal or notebook, plain lines elsewhere, and failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
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
    stage: str = "",
    running: Callable[[], list[Task]] | None = None,
) -> None:
    """Run all tasks and show the stage, how far it is, what is running, and which tasks fail."""
    console = Console(stderr=True)
    forecast, total = Forecast(tasks, jobs), n_done + len(tasks)
    printed: set[str] = set()
    with _progress_of(console, quiet, total, n_done) as show:
        for record in records:
            now = _describe_running(stage, [] if running is None else running())
            if record is None:
                if now:
                    show(n_done, format_duration(forecast.seconds_left()), now)
                continue
            task, n_done = record.task, n_done + 1
            forecast.add(task, record.seconds)
            name = f"{task.method_name} on {task.dataset_name}"
            show(n_done, format_duration(forecast.seconds_left()), now or name)
            failure = f"{name} {record.outcome.status}: {record.outcome.error}"
            if not record.done and failure not in printed:
                printed.add(failure)
                console.print(failure, markup=False, highlight=False, soft_wrap=True)


def _describe_running(stage: str, tasks: list[Task]) -> str:
    names = ", ".join(dict.fromkeys(task.method_name for task in tasks))
    return f"{stage}: {names}" if stage and names else stage or names


# shows the number of tasks that have ended, the time left, and the name of the last one
Show = Callable[[int, str, str], None]


def _progress_of(
    console: Console, quiet: bool, total: int, n_done: int
) -> AbstractContextManager[Show]:
    if console.is_jupyter and not quiet:
        return _notebook_line(total)
    # a dumb terminal cannot go back in a line
    if console.is_terminal and not console.is_dumb_terminal and not quiet:
        return _terminal_bar(console, total, n_done)
    return _log_lines(console, total)


@contextmanager
def _terminal_bar(console: Console, total: int, n_done: int) -> Iterator[Show]:
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    columns.append(TextColumn("{task.fields[left]} left"))
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("starting", total=total, completed=n_done, left="-:--:--")
        yield lambda done, left, name: progress.update(
            bar, completed=done, left=left, description=escape(name)
        )


@contextmanager
def _notebook_line(total: int) -> Iterator[Show]:
    """One line of output that changes; unlike rich's bar, it needs no widgets."""
    from IPython.display import display

    handle = display({"text/plain": f"{total} fits"}, raw=True, display_id=True)
    yield lambda done, left, name: handle.update(
        {"text/plain": f"{done} of {total} fits, {left} left: {name}"}, raw=True
    )
    handle.update({"text/plain": f"{total} fits"}, raw=True)


@contextmanager
def _log_lines(console: Console, total: int) -> Iterator[Show]:
    last_log = time.monotonic()

    def show(done: int, left: str, name: str) -> None:
        nonlocal last_log
        if time.monotonic() - last_log > LOG_INTERVAL_SECONDS or done == total:
            last_log = time.monotonic()
            line = f"{done} of {total} fits, {left} left; {name}"
            console.print(line, highlight=False, markup=False, soft_wrap=True)

    yield show


def print_failures(console: Console, results: Results) -> None:
    """Print one line for each method and kind of failure."""
    for dataset, method, status, error, count in results.failure_summary():
        failure = f"{method} on {dataset}: {count} {status}: {error}"
        console.print(failure, markup=False, highlight=False, soft_wrap=True)
