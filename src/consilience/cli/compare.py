"""``consilience compare``: parse the options, call the comparison, print the ranking."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from consilience._suggest import suggest
from consilience.benchmark.cluster import n_threads
from consilience.benchmark.console import run_with_progress
from consilience.benchmark.metrics import find_metric, metric_names
from consilience.benchmark.store import StoreError
from consilience.cli.app import app
from consilience.cli.common import (
    Quiet,
    Scheduler,
    SigningKey,
    check_seed_and_jobs,
    connect,
    make_importable,
    n_cores,
    parse_costs,
    parse_list,
    parse_seconds,
    read_signing_key,
)
from consilience.cli.reading import (
    Comment,
    Decimal,
    Delimiter,
    Encoding,
    Keys,
    Missing,
    NormaliseKeys,
    Transpose,
    reading_arguments,
)
from consilience.comparison._methods import read_methods
from consilience.comparison._result import ComparisonResult
from consilience.comparison.execution import (
    Execution,
    Plan,
    claim_output,
    plan_comparison,
    run_comparison,
)
from consilience.comparison.external import ExternalFiles, check_external
from consilience.comparison.features import write_var_copies
from consilience.comparison.folder import (
    CARD_FILE_NAME,
    FEATURES_FILE_NAME,
    MODEL_FILE_NAME,
    REPORT_FILE_NAME,
)
from consilience.comparison.inputs import ComparisonInput, read_dataset, read_files
from consilience.comparison.ranking import format_p_value, ranking
from consilience.comparison.record import DataSummary, Options, Run
from consilience.comparison.study import StudyResults, failures
from consilience.comparison.trust import check_costs
from consilience.datasets import DATASETS
from consilience.tables import parse_files
from consilience.tables._var_columns import VarCopy, plan_var_copies

__all__ = ["compare"]

MAX_NAMED_CLASSES = 8
# options of the terminal by the names of the arguments they become
OPTION_NAMES = {
    "drop_rare": "drop-rare",
    "normalised_keys": "normalise-keys",
    "keys": "key",
    "reading": "delimiter or another option of text files",
}


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
            help="Column to use although it looks like an identifier or a date; repeatable, or "
            "separated by commas."
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Column to leave out; repeatable, or separated by commas."),
    ] = None,
    key: Keys = None,
    normalise_keys: NormaliseKeys = False,
    transpose: Transpose = None,
    test: Annotated[
        list[str] | None,
        typer.Option(help="File of an external cohort, path or view=path, to score the model on."),
    ] = None,
    unlabelled: Annotated[
        str,
        typer.Option(help="Rows without a label: drop, or use by methods that learn from them."),
    ] = "drop",
    drop_rare: Annotated[
        int, typer.Option(help="Leave out classes with fewer samples than this.")
    ] = 0,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    comment: Comment = None,
    na: Missing = None,
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
    signing_key: SigningKey = None,
    cv: Annotated[int, typer.Option(help="Number of folds.")] = 5,
    repeats: Annotated[int, typer.Option(help="Number of repeats of the cross-validation.")] = 2,
    metric: Annotated[str, typer.Option(help=f"One of {metric_names()}.")] = "accuracy",
    positive: Annotated[
        str | None,
        typer.Option(help="Positive one of two classes for f1 and others; the second by default."),
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Tune methods by the metric inside every fold.")
    ] = False,
    features: Annotated[
        bool,
        typer.Option(
            "--features", help="Also rank all features for the best method: report, features.csv."
        ),
    ] = False,
    write_var: Annotated[
        bool,
        typer.Option(
            "--write-var",
            help="Write copies of h5ad and h5mu files into the --out folder, with the importance "
            "of the features in .var; implies --features.",
        ),
    ] = False,
    time_budget: Annotated[
        str | None,
        typer.Option(
            help="Time for everything, such as 90s, 10m or 2h; slow methods are left out."
        ),
    ] = None,
    timeout: Annotated[
        str | None, typer.Option(help="Time for a single fit, such as 30s; none by default.")
    ] = None,
    allow_partial: Annotated[
        bool,
        typer.Option(
            "--allow-partial", help="Choose a best method even if the time ended before all splits."
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Set another study in the --out folder aside.")
    ] = False,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Fit the best method once more without 30 % of the samples, so that 'predict' "
            "can add prediction sets, conflicts between views and advice.",
        ),
    ] = False,
    costs: Annotated[
        str | None,
        typer.Option(
            help="Costs of measuring views, such as rna=300,protein=900: accuracy against cost in "
            "the report; implies --calibrate."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of folds and methods.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Number of worker processes; one per core by default.")
    ] = None,
    scheduler: Scheduler = None,
    quiet: Quiet = False,
) -> None:
    """Compare methods on your tables or a data set: ranking, importance of views, report, model."""
    started = time.monotonic()
    jobs = n_cores() if jobs is None else jobs
    check_seed_and_jobs(seed, jobs)
    find_metric(metric, "--metric")
    make_importable(".")
    chosen = read_methods("all" if methods == "all" else parse_list(methods) or None)
    budget = parse_seconds(time_budget)
    fit_limit = parse_seconds(timeout, "--timeout")
    secret = read_signing_key(signing_key)
    options = Options(
        [], cv, repeats, metric, seed, tune, positive=positive or "", allow_partial=allow_partial
    )
    reading = reading_arguments(
        delimiter, decimal, encoding, comment, na, transpose, key, normalise_keys
    )
    table_options = {
        "target": target, "on": on, "views": views, "groups": groups, "drop_rare": drop_rare,
        "unlabelled": unlabelled,
        "categorical": parse_list(categorical), "keep": parse_list(",".join(keep or [])),
        "drop": parse_list(",".join(drop or [])),
        **reading,
    }  # fmt: skip
    external = ExternalFiles(parse_files(test), reading) if test else None
    if out is None and (external is not None or write_var):
        raise ValueError(f"{'--write-var' if write_var else '--test'} needs --out FOLDER")
    command = ["consilience", *sys.argv[1:]] if sys.argv[1:2] == ["compare"] else []
    data = _read_inputs(inputs, table_options)
    if external is not None:
        if not data.target:
            raise ValueError(f"--test needs files as well, but {inputs[0]} is a data set")
        check_external(external, data)
    copies = _plan_copies(data, out) if write_var else []
    prices = parse_costs(costs)
    check_costs(prices, data.problem)
    plan = plan_comparison(data, chosen, options, command)
    follow = partial(run_with_progress, quiet=quiet)
    execution = Execution(
        out=out,
        jobs=jobs,
        time_budget=budget,
        timeout=fit_limit,
        started=started,
        trusted=tuple(trust or ()),
        force=force,
        follow=follow,
        signing_key=secret,
        external=external,
        calibrate=calibrate or prices is not None,
        costs=prices,
        features=features or write_var,
    )
    claim_output(plan, execution)
    console = Console()
    _print_plan(console, plan)
    n_warnings = len(plan.run.warnings)
    with connect(scheduler) as client:
        if client is not None:
            execution = replace(execution, client=client, jobs=n_threads(client))
        result = _run(plan, execution)
    _print_result(console, result, out, result._run.warnings[n_warnings:])
    if copies and result.features_ is not None:
        write_var_copies(copies, result.features_)
        _say(console, f"var:    {', '.join(str(copy.target) for copy in copies)}")
    if result.best_method_ is None:
        raise typer.Exit(1)


def _plan_copies(data: ComparisonInput, out: Path | None) -> list[VarCopy]:
    files = data.source.files if data.source is not None else ()
    assert out is not None
    return plan_var_copies(files, out)


def _run(plan: Plan, execution: Execution) -> ComparisonResult:
    try:
        return run_comparison(plan, execution)
    except StoreError as error:
        raise ValueError(str(error)) from None
    except KeyboardInterrupt:
        message = "" if execution.out is None else "; run the same command to continue"
        print(f"consilience: stopped{message}", file=sys.stderr)
        raise


def _read_inputs(inputs: list[str], options: dict[str, Any]) -> ComparisonInput:
    if len(inputs) == 1 and not set("=#") & set(inputs[0]) and not Path(inputs[0]).exists():
        name = inputs[0]
        if name in DATASETS:
            given = [
                f"--{OPTION_NAMES.get(key, key)}"
                for key, value in options.items()
                if value and (key, value) != ("unlabelled", "drop")
            ]
            if given:
                raise ValueError(
                    f"{', '.join(given)} can be used with files only, but {name} is a data set"
                )
            return read_dataset(name)
        if not Path(name).suffix:
            raise ValueError(
                f"unknown data set {name!r}{suggest(name, DATASETS)}; known are "
                f"{', '.join(DATASETS)}; there is no file of that name either"
            )
    return read_files(parse_files(inputs, DATASETS), **options)


def _say(console: Console, message: str) -> None:
    """Print a message: in lines that fit a terminal, in one line of a log."""
    if console.is_terminal:
        message = fill(message, console.width, subsequent_indent="  ", break_on_hyphens=False)
    console.print(message, highlight=False, markup=False, soft_wrap=True)


def _describe_samples(data: DataSummary) -> str:
    classes = [f"{name} {count}" for name, count in zip(data.classes, data.counts, strict=True)]
    if len(classes) > MAX_NAMED_CLASSES:
        classes = [*classes[:MAX_NAMED_CLASSES], "…"]
    views = "1 view" if len(data.views) == 1 else f"{len(data.views)} views"
    return f"{data.samples} samples, {views}, {len(data.classes)} classes ({', '.join(classes)})"


def _print_plan(console: Console, plan: Plan) -> None:
    say = partial(_say, console)
    say(_describe_samples(plan.run.data))
    for warning in plan.run.warnings:
        say(f"warning: {warning}")
    for note in plan.run.data.notes:
        say(f"note: {note}")
    missing = {view.name: view.missing_rows for view in plan.run.data.views}
    for view, columns in plan.run.data.describe_columns().items():
        lacking = f"; missing for {missing[view]} samples" if missing.get(view) else ""
        say(f"{view}: {columns}{lacking}")
    for reason, excluded in plan.run.methods_by_reason().items():
        say(f"not applicable: {', '.join(excluded)}, because {reason}")


def _print_result(
    console: Console, result: ComparisonResult, out: Path | None, new_warnings: Sequence[str]
) -> None:
    run, results = result._run, result._results
    say = partial(_say, console)
    if results.n_splits:
        console.print(_ranking_table(run, results))
    for name, own in run.own_methods.items():
        say(f"{name}: {own.summary}")
    for failure in failures(run, results):
        say(
            f"{failure.method}, {failure.stage}: {failure.n_fits} {failure.status}: {failure.error}"
        )
    for sentence in result.verdict_:
        say(sentence)
    if result.features_ is not None and run.features is not None:
        summary = run.features
        say(
            f"{summary.n_selected} of {summary.n_features} features at a false discovery rate of "
            f"{summary.fdr:g}; the most important for {results.best}:"
        )
        say(str(result.features_))
    for note in run.notes:
        say(note)
    for warning in new_warnings:
        say(f"warning: {warning}")
    if not results.is_complete and out is not None:
        say("run the same command to continue, or with --allow-partial to choose from these splits")
    if out is None:
        say("nothing was written; use --out FOLDER to get a report and a model")
        return
    say(f"report: {out / REPORT_FILE_NAME}")
    if result.features_ is not None:
        say(f"features: {out / FEATURES_FILE_NAME}")
    if run.external is not None:
        value = run.external.metrics.get(run.options.metric)
        score = "" if value is None else f"{run.metric_title} {value:.4f} "
        say(f"test:   {score}on {run.external.samples} samples of {', '.join(run.external.files)}")
    if run.best:
        say(f"model:  {out / MODEL_FILE_NAME} ({run.best}); card: {out / CARD_FILE_NAME}")


def _ranking_table(run: Run, results: StudyResults) -> Table:
    """The ranking with confidence intervals, as in the report."""
    title = run.options.split_description
    if not results.is_complete:
        title += f", {results.n_splits} of {results.n_planned} splits complete: partial result"
    table = Table(title=title)
    for column in ("rank", "method", run.metric_title, "95 % interval", "p", "fit (s)"):
        table.add_column(escape(column), justify="left" if column == "method" else "right")
    for row in ranking(run, results):
        if not row.complete:
            table.add_row("-", escape(row.method), "no score", "", "", "")
            continue
        values = (
            f"{row.score:.4f}",
            f"{row.low:.3f} – {row.high:.3f}",
            format_p_value(row.p_value),
            f"{row.fit_seconds:.2f}",
        )
        table.add_row(str(row.rank or "-"), escape(row.method), *values)
    return table
