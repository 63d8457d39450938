"""The command line: ``consilience compare``, ``bench``, and lists of what they know.

Mistakes of the caller end with one sentence on standard error and exit code 2.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np

try:
    import msgspec  # noqa: F401 (the engine needs it)
    import typer
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.table import Table
except ImportError as error:
    raise SystemExit(
        f"consilience: the command line needs {error.name}; pip install 'consilience[cli]'"
    ) from None

from consilience.benchmark.markdown import shown, shown_paper
from consilience.benchmark.planning import plan, select
from consilience.benchmark.progress import Forecast, duration
from consilience.benchmark.protocol import Folds
from consilience.benchmark.publish import raw_csv, write_file, write_results
from consilience.benchmark.recipes import RECIPES, get_recipes
from consilience.benchmark.results import Key, Place, Results, collect, rank
from consilience.benchmark.run import pending, run_tasks
from consilience.benchmark.store import Record, Store, StoreError
from consilience.benchmark.suite import Suite, load_suite, suite_names
from consilience.benchmark.tasks import Task, cross_validation
from consilience.datasets import DATASETS, DatasetError, load_dataset

__all__ = ["app", "main"]

LOG_SECONDS = 30.0  # between two lines of a log

app = typer.Typer(
    help="Compare classifiers on samples described by several views.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


Jobs = Annotated[int, typer.Option(help="Number of worker processes.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Plain lines for a log, no live display.")]


@app.command()
def compare(
    dataset: Annotated[str, typer.Argument(help="Name of a data set; see 'datasets'.")],
    methods: Annotated[
        str | None, typer.Option(help="Methods, separated by commas; all of them by default.")
    ] = None,
    cv: Annotated[int, typer.Option(help="Number of folds.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of folds and methods.")] = 0,
    jobs: Jobs = 1,
    quiet: Quiet = False,
) -> None:
    """Cross-validate methods on a data set and print their ranking."""
    if dataset not in DATASETS:
        raise ValueError(f"unknown data set {dataset!r}; known are {', '.join(DATASETS)}")
    recipes = get_recipes([name.strip() for name in methods.split(",")] if methods else None)
    bunch = load_dataset(dataset)
    smallest = int(np.unique(bunch.target, return_counts=True)[1].min())
    if not 2 <= cv <= smallest:
        raise ValueError(f"--cv must lie between 2 and {smallest}, the size of the least class")
    _check_seed_and_jobs(seed, jobs)
    console = Console()
    console.print(f"[bold]{dataset}[/]: {len(np.unique(bunch.target))} classes")
    console.print(repr(bunch.data), highlight=False, markup=False)
    tasks = cross_validation(dataset, [recipe.name for recipe in recipes], Folds(cv), seed=seed)
    with Store(":memory:") as store:
        _follow(run_tasks(tasks, store, jobs=jobs), tasks, jobs, quiet)
        results = collect(tasks, store.records())
    ranked = rank(results, dataset)
    console.print(_ranking_table(ranked, f"Accuracy, {cv}-fold cross-validation"))
    _print_failures(console, results)
    if all(place.failed for place in ranked):
        raise typer.Exit(1)


@app.command()
def bench(
    suite: Annotated[str, typer.Argument(help="Name of a suite, or the path of a .toml file.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results; bench/SUITE by default.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="Write Markdown and csv tables to this folder too.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Part of the suite, such as dataset=digits or train_size=100; repeatable."
        ),
    ] = None,
    jobs: Jobs = 1,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which a fit is stopped.")
    ] = None,
    memory: Annotated[
        float | None, typer.Option(help="Gigabytes that a fit may take beyond its data.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to run on instead.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Do fits again that failed.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run a suite, or what is left of it, and print its tables beside the paper's."""
    study = load_suite(suite)
    _check_seed_and_jobs(study.seed, jobs)
    tasks, notes = plan(study)
    tasks = select(tasks, only or [])
    notes += [f"only {part}" for part in only or []]
    out = Path("bench") / study.name if out is None else out
    for folder in filter(None, (out, results)):
        _make_folder(folder)
    limit = None if memory is None else int(memory * 2**30)
    with Store(out / "results.sqlite") as store, _cluster(scheduler) as client:
        left = list(pending(tasks, store, retry=retry).values())
        run = run_tasks(left, store, jobs=jobs, client=client, timeout=timeout, memory=limit)
        threads = jobs if client is None else sum(client.nthreads().values())
        try:
            _follow(run, left, threads, quiet, done=len(tasks) - len(left))
        except KeyboardInterrupt:
            print("consilience: stopped; the same command goes on from here", file=sys.stderr)
            raise typer.Exit(1) from None
        found = collect(tasks, store.records())
        used = {record.runner for record in found.records}
        runs = [run for key, run in store.environments().items() if key in used]
    write_file(out / "results.csv", raw_csv(found))
    for folder in [out] + ([results] if results else []):
        written = write_results(study, found, runs, folder, notes)
    console = Console()
    for note in notes:
        console.print(note, markup=False)
    for dataset in found.datasets:
        console.print(_suite_table(study, found, dataset))
    _print_failures(console, found)
    console.print("tables: " + ", ".join(map(str, written)), markup=False, soft_wrap=True)
    if found.failures:
        raise typer.Exit(1)


@app.command("methods")
def list_methods() -> None:
    """List the methods that 'compare' knows."""
    table = Table("method", "what it does", "from")
    for recipe in RECIPES.values():
        table.add_row(recipe.name, recipe.summary, recipe.source)
    Console().print(table)


@app.command("datasets")
def list_datasets() -> None:
    """List the data sets that 'compare' knows by name, and whether they are on this machine."""
    table = Table("data set", "what it is", "here")
    for dataset in DATASETS.values():
        table.add_row(dataset.name, dataset.summary, "yes" if dataset.is_here() else "no")
    Console().print(table)


@app.command()
def fetch(
    dataset: Annotated[str, typer.Argument(help="Name of a data set; see 'datasets'.")],
    quiet: Annotated[bool, typer.Option(help="Show no progress bar.")] = False,
) -> None:
    """Download a data set into the folder of data sets, unless it is there, and describe it."""
    bunch = load_dataset(dataset, progress=False if quiet else None)
    console = Console()
    console.print(repr(bunch.data), highlight=False, markup=False)
    console.print(bunch.DESCR, highlight=False, markup=False)


@app.command("suites")
def list_suites() -> None:
    """List the suites that 'bench' knows."""
    table = Table("suite", "what it is", "from")
    for name in suite_names():
        study = load_suite(name)
        table.add_row(name, study.title, study.reference)
    Console().print(table)


def _check_seed_and_jobs(seed: int, jobs: int) -> None:
    if jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {jobs}")
    if not 0 <= seed < 2**31:
        raise ValueError(f"--seed must lie between 0 and {2**31 - 1}, got {seed}")


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"the folder {path} cannot be made: {error.strerror}") from None


@contextlib.contextmanager
def _cluster(address: str | None) -> Iterator[Any]:
    """A client of a Dask scheduler, or None."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--scheduler needs Dask; pip install 'consilience[dask]'") from None
    with Client(address) as client:
        yield client


def _follow(
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
    shown = time.monotonic()
    with Progress(*columns, console=console, transient=True, disable=not live) as progress:
        bar = progress.add_task("starting", total=total, completed=done, left="-:--:--")
        for record in records:
            if record is None:
                continue
            task, done = record.task, done + 1
            forecast.add(task, record.seconds)
            left = duration(forecast.seconds_left())
            name = f"{task.who} on {task.where}"
            progress.update(bar, completed=done, left=left, description=escape(name))
            if not record.done:
                what = f"{name} {record.outcome.status}: {record.outcome.error}"
                console.print(what, markup=False, highlight=False, soft_wrap=True)
            if not live and (time.monotonic() - shown > LOG_SECONDS or done == total):
                shown = time.monotonic()
                console.print(f"{done} of {total} fits, {left} left", highlight=False)


def _ranking_table(ranked: list[Place], title: str) -> Table:
    table = Table(title=title)
    for column in ("rank", "method", "accuracy", "± between folds", "fit seconds"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for number, place in enumerate(ranked, start=1):
        if place.failed:
            table.add_row("-", place.method, "failed", "", "")
        else:
            values = f"{place.score:.4f}", f"{place.deviation:.4f}", f"{place.fit_seconds:.2f}"
            table.add_row(str(number), place.method, *values)
    return table


def _suite_table(study: Suite, found: Results, dataset: str) -> Table:
    """Means of one data set, the paper's in brackets."""
    table = Table("method", title=escape(dataset))
    columns = [(c, m) for c in found.conditions for m in study.metrics]
    for condition, metric in columns:
        several = len(found.conditions) > 1
        table.add_column(f"{metric}\n{condition}" if several else metric, justify="right")
    for method in found.methods:
        row = [_with_paper(study, found, Key(dataset, c, method), m) for c, m in columns]
        if any(row):
            table.add_row(escape(method), *map(escape, row))
    return table


def _with_paper(study: Suite, found: Results, key: Key, metric: str) -> str:
    paper = shown_paper(study, key, metric)
    return shown(found.cell(key, metric), metric) + (f" [{paper}]" if paper else "")


def _print_failures(console: Console, results: Results) -> None:
    for dataset, method, status, error, count in results.kinds_of_failure():
        what = f"{method} on {dataset}: {count} {status}: {error}"
        console.print(what, markup=False, highlight=False, soft_wrap=True)


def _fail(message: str, code: int = 2) -> NoReturn:
    print(f"consilience: {message}", file=sys.stderr)
    raise SystemExit(code)


def main(arguments: list[str] | None = None) -> None:
    """Entry point: run a command; a caller's mistake is one sentence and exit code 2."""
    command = typer.main.get_command(app)
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        arguments = arguments or ["--help"]
        code = command.main(arguments, prog_name="consilience", standalone_mode=False)
    except typer.Abort:
        raise SystemExit(1) from None
    except (ValueError, TypeError) as error:
        _fail(str(error))
    except (DatasetError, StoreError) as error:
        _fail(str(error), code=1)
    except OSError as error:  # a full disk, a file that must not be written
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), code=1)
    except Exception as error:
        # click's usage errors, whichever package typer takes them from
        if hasattr(error, "format_message"):
            _fail(error.format_message().replace("\n", " "))
        raise
    raise SystemExit(code if isinstance(code, int) else 0)
