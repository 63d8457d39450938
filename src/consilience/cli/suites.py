"""``consilience bench`` and ``suites``: studies that are defined in a file."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from consilience._atomic_write import write_atomically
from consilience.benchmark.cluster import n_threads
from consilience.benchmark.console import print_failures, run_with_progress
from consilience.benchmark.markdown import format_cell, format_paper_cell
from consilience.benchmark.planning import first_splits, plan, select_tasks
from consilience.benchmark.publish import raw_csv, write_results
from consilience.benchmark.published import published_runs
from consilience.benchmark.published_fits import fits_path, reuse_fits, write_fits
from consilience.benchmark.results import CellKey, Results, collect_results
from consilience.benchmark.run import pending_tasks, run_tasks
from consilience.benchmark.store import Store
from consilience.benchmark.suite import Suite, load_suite, suite_names
from consilience.cli.app import app
from consilience.cli.common import (
    Quiet,
    Scheduler,
    check_positive,
    check_seed_and_jobs,
    connect,
    make_folder,
    make_importable,
)

__all__ = ["bench", "list_suites"]


@app.command()
def bench(
    suite: Annotated[str, typer.Argument(help="Name of a suite, or the path of a .toml file.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; bench/SUITE by default.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="Also write Markdown and csv tables to this folder.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Run part of the suite, such as dataset=digits or train_size=100; repeatable."
        ),
    ] = None,
    splits: Annotated[
        int | None, typer.Option(help="Run the first so many splits of each data set only.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Number of worker processes.")] = 1,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which a fit is stopped.")
    ] = None,
    memory: Annotated[
        float | None, typer.Option(help="Gigabytes that a fit may use beyond its data.")
    ] = None,
    scheduler: Scheduler = None,
    retry: Annotated[bool, typer.Option("--retry", help="Repeat fits that failed.")] = False,
    reuse: Annotated[
        bool,
        typer.Option(
            "--reuse", help="Do not repeat fits that were published in the folder of --results."
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run a suite, or what is left of it, and print its tables next to the paper's."""
    make_importable(".")
    if suite.endswith(".toml"):
        make_importable(Path(suite).parent)
    study = load_suite(suite)
    check_seed_and_jobs(study.seed, jobs)
    check_positive("--timeout", timeout)
    check_positive("--memory", memory)
    check_positive("--splits", splits)
    if reuse and results is None:
        raise ValueError("--reuse needs --results, the folder with the published fits")
    planned, notes = plan(study)
    tasks = first_splits(select_tasks(planned, only or []), splits)
    notes += [f"only {part}" for part in only or []]
    out = Path("bench") / study.name if out is None else out
    for folder in filter(None, (out, results)):
        make_folder(folder)
    limit = None if memory is None else int(memory * 2**30)
    published = None if results is None else fits_path(results, study.name)
    with Store(out / "results.sqlite") as store, connect(scheduler) as client:
        if reuse and published is not None and published.exists():
            n_reused = reuse_fits(published, planned, store)
            print(f"{n_reused} fits are taken from {published}", file=sys.stderr)
        pending = list(pending_tasks(tasks, store, retry=retry).values())
        records = run_tasks(pending, store, jobs=jobs, client=client, timeout=timeout, memory=limit)
        threads = jobs if client is None else n_threads(client)
        try:
            run_with_progress(records, pending, threads, quiet, n_done=len(tasks) - len(pending))
        except KeyboardInterrupt:
            print("consilience: stopped; run the same command to continue", file=sys.stderr)
            raise
        collected = collect_results(tasks, store.records(), planned)
        environments = store.environments()
        if published is not None:
            known = collect_results(planned, store.records()).records
            write_fits(published, known, environments)
    runners = {record.runner for record in collected.records}
    machines = [machine for runner, machine in environments.items() if runner in runners]
    write_atomically(out / "results.csv", raw_csv(collected))
    options = _options(only or [], splits)
    for folder in [out] + ([results] if results else []):
        written = write_results(study, collected, machines, folder, notes, options)
    console = Console()
    for note in notes:
        console.print(note, markup=False)
    for dataset in collected.datasets:
        console.print(_suite_table(study, collected, dataset))
    print_failures(console, collected)
    console.print("tables: " + ", ".join(map(str, written)), markup=False, soft_wrap=True)
    if collected.failures:
        raise typer.Exit(1)


@app.command("suites")
def list_suites() -> None:
    """List the bundled suites, and when each was run and published with which version."""
    table = Table("suite", "description", "source", "run")
    runs = published_runs()
    for name in suite_names():
        study, run = load_suite(name), runs.get(name)
        text = "not published"
        if run is not None:
            text = f"{run.coverage}, {run.date}, version {run.version}"
            if run.sha256 != study.sha256:
                text += " (of an earlier form of the suite)"
        table.add_row(name, study.title, study.reference, text)
    Console().print(table)


def _options(only: list[str], splits: int | None) -> str:
    """The options that say which part of a suite is run, as on the command line."""
    parts = [f"--only {shlex.quote(part)}" for part in only]
    parts += [] if splits is None else [f"--splits {splits}"]
    return "".join(f" {part}" for part in parts)


def _suite_table(study: Suite, collected: Results, dataset: str) -> Table:
    """Mean scores on one data set, with the paper's in brackets."""
    table = Table("method", title=escape(dataset))
    columns = [(c, m) for c in collected.conditions for m in study.metrics]
    for condition, metric in columns:
        several = len(collected.conditions) > 1
        table.add_column(f"{metric}\n{condition}" if several else metric, justify="right")
    for method in collected.methods:
        row = [_with_paper(study, collected, CellKey(dataset, c, method), m) for c, m in columns]
        if any(row):
            table.add_row(escape(method), *map(escape, row))
    return table


def _with_paper(study: Suite, collected: Results, key: CellKey, metric: str) -> str:
    paper = format_paper_cell(study, key, metric)
    return format_cell(collected.cell(key, metric), metric) + (f" [{paper}]" if paper else "")
