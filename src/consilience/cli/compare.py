"""``consilience compare``: read the data, run the study, print the ranking, write the results."""

from __future__ import annotations

import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from consilience import io
from consilience.benchmark.publish import raw_csv, write_file
from consilience.benchmark.recipes import get_recipes
from consilience.benchmark.run import pending_tasks, run_tasks
from consilience.benchmark.store import Store, StoreError
from consilience.benchmark.tasks import Task
from consilience.cli.app import app
from consilience.cli.common import (
    Quiet,
    check_seed_and_jobs,
    make_folder,
    print_failures,
    run_with_progress,
)
from consilience.compare.defaults import DEFAULT_METHODS, METRICS
from consilience.compare.inputs import ComparisonInput, parse_files, read_dataset, read_tables
from consilience.compare.predict import MODEL_FILE_NAME
from consilience.compare.record import Options, Run
from consilience.compare.study import (
    StudyResults,
    applicable,
    check_cross_validation,
    refit,
    run_study,
)
from consilience.datasets import DATASETS
from consilience.report import write_report
from consilience.report.summaries import format_p_value, ranking
from consilience.tables import TableModel

__all__ = ["compare"]


@app.command()
def compare(
    inputs: Annotated[
        list[str],
        typer.Argument(help="A data set by name (see 'datasets'), or files: path or view=path."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for report, results and model; nothing is written without it."),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column with the labels.")] = None,
    on: Annotated[
        str | None, typer.Option(help="Key column to join files on; without it, by row order.")
    ] = None,
    views: Annotated[
        str | None,
        typer.Option(help="Views within one file, such as 'blood=hb:crp,x7,image=f1:f64'."),
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="Column of groups; a group is never split between folds.")
    ] = None,
    categorical: Annotated[
        str | None,
        typer.Option(help="Columns whose numbers are categories, separated by commas."),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Delimiter of csv files.")] = None,
    methods: Annotated[
        str | None,
        typer.Option(help="Methods, separated by commas, or 'all'; a selection by default."),
    ] = None,
    cv: Annotated[int, typer.Option(help="Number of folds.")] = 5,
    repeats: Annotated[int, typer.Option(help="Number of repeats of the cross-validation.")] = 2,
    metric: Annotated[str, typer.Option(help=f"One of {', '.join(METRICS)}.")] = "accuracy",
    tune: Annotated[bool, typer.Option("--tune", help="Tune methods inside every fold.")] = False,
    time_budget: Annotated[
        str | None, typer.Option(help="Start no fit after this time, such as 90s, 10m or 2h.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of folds and methods.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Number of worker processes; one per core by default.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Compare methods on your tables or a data set: ranking, importance of views, report, model."""
    jobs = _n_cores() if jobs is None else jobs
    check_seed_and_jobs(seed, jobs)
    if metric not in METRICS:
        raise ValueError(f"--metric must be one of {', '.join(METRICS)}, got {metric!r}")
    names = None if methods == "all" else _parse_list(methods) or list(DEFAULT_METHODS)
    recipes = [recipe.name for recipe in get_recipes(names)]
    budget = _parse_seconds(time_budget)
    table_options = {
        "target": target, "on": on, "views": views, "groups": groups, "delimiter": delimiter,
        "categorical": _parse_list(categorical),
    }  # fmt: skip
    data = _read_inputs(inputs, table_options)
    recipes, not_applicable = applicable(recipes, data.summary, metric)
    run = Run(
        version=version("consilience"),
        command=["consilience", *sys.argv[1:]] if sys.argv[1:2] == ["compare"] else [],
        options=Options(recipes, cv, repeats, metric, seed, tune),
        data=data.summary,
        inputs=data.inputs,
        target=target or "",
        on=on or "",
        single_file=data.single_file,
        not_applicable=not_applicable,
    )
    check_cross_validation(run, data.problem)
    if out is not None:
        make_folder(out)
    console = Console()
    console.print(repr(data.problem.data), highlight=False, markup=False)
    for note in data.summary.notes:
        console.print(f"note: {note}", highlight=False, markup=False)
    for reason, excluded in run.methods_by_reason().items():
        message = f"not applicable: {', '.join(excluded)}, because {reason}"
        console.print(message, highlight=False, markup=False, soft_wrap=True)
    try:
        results = _compare(run, data, out, jobs, budget, quiet, console)
    except StoreError as error:
        raise ValueError(str(error)) from None
    if results.best is None:
        raise typer.Exit(1)


def _compare(
    run: Run,
    data: ComparisonInput,
    out: Path | None,
    jobs: int,
    budget: float | None,
    quiet: bool,
    console: Console,
) -> StudyResults:
    """Run the study, print the ranking, and write the results."""
    deadline = None if budget is None else time.monotonic() + budget
    problems = {run.data.name: data.problem}

    def run_batch(tasks: list[Task]) -> None:
        pending = list(pending_tasks(tasks, store).values())
        seconds_left = None if deadline is None else max(0.0, deadline - time.monotonic())
        run_with_progress(
            run_tasks(pending, store, problems=problems, jobs=jobs, budget=seconds_left),
            pending,
            jobs,
            quiet,
            n_done=len(tasks) - len(pending),
        )

    with Store(":memory:" if out is None else out / "results.sqlite") as store:
        if out is not None:
            run.write(out)
        try:
            results = run_study(run, store, run_batch)
        except KeyboardInterrupt:
            message = "" if out is None else "; run the same command to continue"
            print(f"consilience: stopped{message}", file=sys.stderr)
            raise typer.Exit(1) from None
        if results.n_splits:
            console.print(_ranking_table(run, results))
        print_failures(console, results.main)
        if results.n_splits < results.n_planned:
            message = (
                f"time budget exceeded: {results.n_splits} of {results.n_planned} splits are "
                "complete"
            )
            run.notes.append(message)
            hint = "; run the same command to continue" if out else ""
            console.print(message + hint, highlight=False)
        if out is None:
            console.print("nothing was written; use --out FOLDER to get a report and a model")
        else:
            _write_outputs(run, data, results, store, out, console)
    return results


def _write_outputs(
    run: Run,
    data: ComparisonInput,
    results: StudyResults,
    store: Store,
    out: Path,
    console: Console,
) -> None:
    write_file(out / "results.csv", raw_csv(results.main))
    if results.best is not None:
        fitted = refit(run, data.problem, results.best)
        model = TableModel(fitted, data.views, results.best, run.target, data.single_file, run.on)
        io.save(model, out / MODEL_FILE_NAME)
        run.best = results.best
    run.write(out)
    page = write_report(run, results, store, out)
    console.print(f"report: {page}", highlight=False, markup=False, soft_wrap=True)
    if run.best:
        console.print(
            f"model:  {out / MODEL_FILE_NAME} ({run.best})", highlight=False, markup=False
        )


def _read_inputs(inputs: list[str], options: dict[str, Any]) -> ComparisonInput:
    if len(inputs) == 1 and not Path(inputs[0]).exists():
        name = inputs[0]
        if name in DATASETS:
            given = [f"--{key}" for key, value in options.items() if value]
            if given:
                raise ValueError(
                    f"{', '.join(given)} can be used with files only, but {name} is a data set"
                )
            return read_dataset(name)
        if not Path(name).suffix:
            raise ValueError(
                f"unknown data set {name!r}; known are {', '.join(DATASETS)}; there is no file of "
                "that name either"
            )
    return read_tables(parse_files(inputs), **options)


def _ranking_table(run: Run, results: StudyResults) -> Table:
    """The ranking with confidence intervals, as in the report."""
    metric = run.options.metric.replace("_", " ")
    table = Table(title=f"{run.options.repeats} × {run.options.cv}-fold cross-validation")
    for column in ("rank", "method", metric, "95 % interval", "p", "fit (s)"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for number, row in enumerate(ranking(run, results.main), start=1):
        if not row.complete:
            table.add_row("-", escape(row.method), "no score", "", "", "")
            continue
        interval = "" if np.isnan(row.low) else f"{row.low:.3f} – {row.high:.3f}"
        values = f"{row.score:.4f}", interval, format_p_value(row.p_value), f"{row.fit_seconds:.2f}"
        table.add_row(str(number), escape(row.method), *values)
    return table


def _parse_list(text: str | None) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


def _parse_seconds(text: str | None) -> float | None:
    """Convert ``90``, ``90s``, ``10m`` or ``2h`` to seconds."""
    if text is None:
        return None
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, "s")
    try:
        seconds = float(number) * units[unit]
    except ValueError:
        raise ValueError(f"--time-budget must be like 90s, 10m or 2h, got {text!r}") from None
    if not 0 < seconds < float("inf"):
        raise ValueError(f"--time-budget must be positive, got {text!r}")
    return seconds


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
