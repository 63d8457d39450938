"""``consilience compare``: parse the options, call the comparison, print the ranking."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from consilience.benchmark.console import print_failures, run_with_progress
from consilience.benchmark.store import StoreError
from consilience.benchmark.work import QUALITY_METRICS
from consilience.cli.app import app
from consilience.cli.common import (
    Quiet,
    check_seed_and_jobs,
    make_folder,
    make_importable,
    n_cores,
    parse_list,
    parse_seconds,
)
from consilience.comparison._compare import (
    Execution,
    Plan,
    plan_comparison,
    read_methods,
    run_comparison,
)
from consilience.comparison._result import ComparisonResult
from consilience.comparison.inputs import ComparisonInput, read_dataset, read_files
from consilience.comparison.prediction import MODEL_FILE_NAME
from consilience.comparison.record import Options, Run
from consilience.comparison.report.page import REPORT_FILE_NAME
from consilience.comparison.report.summaries import format_p_value, ranking
from consilience.comparison.study import StudyResults
from consilience.datasets import DATASETS
from consilience.tables import parse_files

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
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to use although it looks like an identifier, a date or free text; "
            "repeatable, or separated by commas."
        ),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Delimiter of csv files.")] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods, separated by commas, or 'all'; your own as module:Class. "
            "A selection by default."
        ),
    ] = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(help="Module whose classes may be saved in the model; repeatable."),
    ] = None,
    cv: Annotated[int, typer.Option(help="Number of folds.")] = 5,
    repeats: Annotated[int, typer.Option(help="Number of repeats of the cross-validation.")] = 2,
    metric: Annotated[str, typer.Option(help=f"One of {', '.join(QUALITY_METRICS)}.")] = "accuracy",
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
    jobs = n_cores() if jobs is None else jobs
    check_seed_and_jobs(seed, jobs)
    if metric not in QUALITY_METRICS:
        raise ValueError(f"--metric must be one of {', '.join(QUALITY_METRICS)}, got {metric!r}")
    make_importable(".")
    chosen = read_methods("all" if methods == "all" else parse_list(methods) or None)
    budget = parse_seconds(time_budget)
    options = Options([], cv, repeats, metric, seed, tune)
    table_options = {
        "target": target, "on": on, "views": views, "groups": groups, "delimiter": delimiter,
        "categorical": parse_list(categorical), "keep": parse_list(",".join(keep or [])),
    }  # fmt: skip
    command = ["consilience", *sys.argv[1:]] if sys.argv[1:2] == ["compare"] else []
    plan = plan_comparison(_read_inputs(inputs, table_options), chosen, options, command)
    if out is not None:
        make_folder(out)
    console = Console()
    _print_plan(console, plan)
    follow = partial(run_with_progress, quiet=quiet)
    try:
        result = run_comparison(plan, Execution(out, jobs, budget, tuple(trust or ()), follow))
    except StoreError as error:
        raise ValueError(str(error)) from None
    except KeyboardInterrupt:
        message = "" if out is None else "; run the same command to continue"
        print(f"consilience: stopped{message}", file=sys.stderr)
        raise typer.Exit(1) from None
    _print_result(console, result, out)
    if result.best_method_ is None:
        raise typer.Exit(1)


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
    return read_files(parse_files(inputs, DATASETS), **options)


def _print_plan(console: Console, plan: Plan) -> None:
    say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    say(repr(plan.data.problem.data))
    for note in plan.run.data.notes:
        say(f"note: {note}")
    for view, columns in plan.run.data.describe_columns().items():
        say(f"{view}: {columns}")
    for reason, excluded in plan.run.methods_by_reason().items():
        say(f"not applicable: {', '.join(excluded)}, because {reason}")


def _print_result(console: Console, result: ComparisonResult, out: Path | None) -> None:
    run, results = result._run, result._results
    say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    if results.n_splits:
        console.print(_ranking_table(run, results))
    for name, own in run.own_methods.items():
        say(f"{name}: {own.summary}")
    print_failures(console, results.main)
    is_complete = results.n_splits == results.n_planned
    for note in run.notes:
        say(note + ("" if is_complete or out is None else "; run the same command to continue"))
    if out is None:
        say("nothing was written; use --out FOLDER to get a report and a model")
        return
    say(f"report: {out / REPORT_FILE_NAME}")
    if run.best:
        say(f"model:  {out / MODEL_FILE_NAME} ({run.best})")


def _ranking_table(run: Run, results: StudyResults) -> Table:
    """The ranking with confidence intervals, as in the report."""
    metric = run.options.metric.replace("_", " ")
    table = Table(title=run.options.split_description)
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
