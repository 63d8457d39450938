"""``consilience bench`` and ``suites``: studies that are written down in a file."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from consilience.benchmark.markdown import format_cell, format_paper_cell
from consilience.benchmark.planning import plan, select_tasks
from consilience.benchmark.publish import raw_csv, write_file, write_results
from consilience.benchmark.results import CellKey, Results, collect_results
from consilience.benchmark.run import pending_tasks, run_tasks
from consilience.benchmark.store import Store
from consilience.benchmark.suite import Suite, load_suite, suite_names
from consilience.cli.app import app
from consilience.cli.common import (
    Quiet,
    check_seed_and_jobs,
    make_folder,
    print_failures,
    run_with_progress,
)

__all__ = ["bench", "list_suites"]


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
    jobs: Annotated[int, typer.Option(help="Number of worker processes.")] = 1,
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
    check_seed_and_jobs(study.seed, jobs)
    tasks, notes = plan(study)
    tasks = select_tasks(tasks, only or [])
    notes += [f"only {part}" for part in only or []]
    out = Path("bench") / study.name if out is None else out
    for folder in filter(None, (out, results)):
        make_folder(folder)
    limit = None if memory is None else int(memory * 2**30)
    with Store(out / "results.sqlite") as store, _cluster(scheduler) as client:
        left = list(pending_tasks(tasks, store, retry=retry).values())
        run = run_tasks(left, store, jobs=jobs, client=client, timeout=timeout, memory=limit)
        threads = jobs if client is None else sum(client.nthreads().values())
        try:
            run_with_progress(run, left, threads, quiet, done=len(tasks) - len(left))
        except KeyboardInterrupt:
            print("consilience: stopped; the same command goes on from here", file=sys.stderr)
            raise typer.Exit(1) from None
        results_ = collect_results(tasks, store.records())
        used = {record.runner for record in results_.records}
        runs = [run for key, run in store.environments().items() if key in used]
    write_file(out / "results.csv", raw_csv(results_))
    for folder in [out] + ([results] if results else []):
        written = write_results(study, results_, runs, folder, notes)
    console = Console()
    for note in notes:
        console.print(note, markup=False)
    for dataset in results_.datasets:
        console.print(_suite_table(study, results_, dataset))
    print_failures(console, results_)
    console.print("tables: " + ", ".join(map(str, written)), markup=False, soft_wrap=True)
    if results_.failures:
        raise typer.Exit(1)


@app.command("suites")
def list_suites() -> None:
    """List the suites that 'bench' knows."""
    table = Table("suite", "what it is", "from")
    for name in suite_names():
        study = load_suite(name)
        table.add_row(name, study.title, study.reference)
    Console().print(table)


@contextlib.contextmanager
def _cluster(scheduler_address: str | None) -> Iterator[Any]:
    """A client of a Dask scheduler, or None."""
    if scheduler_address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--scheduler needs Dask; pip install 'consilience[dask]'") from None
    with Client(scheduler_address) as client:
        yield client


def _suite_table(study: Suite, results_: Results, dataset: str) -> Table:
    """Means of one data set, the paper's in brackets."""
    table = Table("method", title=escape(dataset))
    columns = [(c, m) for c in results_.conditions for m in study.metrics]
    for condition, metric in columns:
        several = len(results_.conditions) > 1
        table.add_column(f"{metric}\n{condition}" if several else metric, justify="right")
    for method in results_.methods:
        row = [_with_paper(study, results_, CellKey(dataset, c, method), m) for c, m in columns]
        if any(row):
            table.add_row(escape(method), *map(escape, row))
    return table


def _with_paper(study: Suite, results_: Results, key: CellKey, metric: str) -> str:
    paper = format_paper_cell(study, key, metric)
    return format_cell(results_.cell(key, metric), metric) + (f" [{paper}]" if paper else "")
