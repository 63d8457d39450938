"""The command line: ``consilience compare``, ``predict``, ``report``, ``bench``, and lists.

Mistakes of the caller end with one sentence on standard error and exit code 2.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import warnings
from collections.abc import Iterator
from importlib.metadata import version
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

from consilience import io
from consilience.benchmark.markdown import shown, shown_paper
from consilience.benchmark.planning import plan, select
from consilience.benchmark.progress import Forecast, duration
from consilience.benchmark.publish import raw_csv, write_file, write_results
from consilience.benchmark.recipes import RECIPES, get_recipes
from consilience.benchmark.results import Key, Results, collect
from consilience.benchmark.run import pending, run_tasks
from consilience.benchmark.store import Record, Store, StoreError
from consilience.benchmark.suite import Suite, load_suite, suite_names
from consilience.benchmark.tasks import Task
from consilience.compare.defaults import METRICS, default_methods
from consilience.compare.inputs import Compared, parse_files, read_data_set, read_tables
from consilience.compare.predict import load_model, predict_files
from consilience.compare.record import Options, Run, read_run
from consilience.compare.study import Stages, check_design, refit, run_stages, stages
from consilience.datasets import DATASETS, DatasetError, load_dataset
from consilience.report import write_report
from consilience.report.tables import ranking
from consilience.tables import TableModel

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
    inputs: Annotated[
        list[str],
        typer.Argument(help="A data set by name (see 'datasets'), or files: path or view=path."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder of report, results and model; none by default.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column with the labels.")] = None,
    on: Annotated[
        str | None, typer.Option(help="Key column to join files by; by row order without it.")
    ] = None,
    views: Annotated[
        str | None,
        typer.Option(help="Views within one file, such as 'blood=hb:crp,x7,image=f1:f64'."),
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="Column of samples that must stay together.")
    ] = None,
    categorical: Annotated[
        str | None, typer.Option(help="Columns whose numbers are names, separated by commas.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Between the cells of csv files.")] = None,
    methods: Annotated[
        str | None,
        typer.Option(help="Methods, separated by commas, or 'all'; a good set by default."),
    ] = None,
    cv: Annotated[int, typer.Option(help="Number of folds.")] = 5,
    repeats: Annotated[int, typer.Option(help="Rounds of folds.")] = 2,
    metric: Annotated[str, typer.Option(help=f"One of {', '.join(METRICS)}.")] = "accuracy",
    tune: Annotated[bool, typer.Option("--tune", help="Tune methods inside every fold.")] = False,
    time_budget: Annotated[
        str | None, typer.Option(help="Begin no fit after this time, such as 90s, 10m or 2h.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of folds and methods.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Number of worker processes; one per core by default.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Compare methods on your tables or a data set: ranking, importance of views, report, model."""
    jobs = _cores() if jobs is None else jobs
    _check_seed_and_jobs(seed, jobs)
    if metric not in METRICS:
        raise ValueError(f"--metric must be one of {', '.join(METRICS)}, got {metric!r}")
    names = None if methods == "all" else _split(methods) or default_methods()
    recipes = [recipe.name for recipe in get_recipes(names)]
    budget = _budget(time_budget)
    table_options = {
        "target": target, "on": on, "views": views, "groups": groups, "delimiter": delimiter,
        "categorical": _split(categorical),
    }  # fmt: skip
    compared = _read_inputs(inputs, table_options)
    run = Run(
        version=version("consilience"),
        command=["consilience", *sys.argv[1:]] if sys.argv[1:2] == ["compare"] else [],
        options=Options(recipes, cv, repeats, metric, seed, tune),
        data=compared.summary,
        inputs=compared.inputs,
        target=target or "",
    )
    check_design(run, compared.problem)
    if out is not None:
        _make_folder(out)
    console = Console()
    console.print(repr(compared.problem.data), highlight=False, markup=False)
    for note in compared.summary.notes:
        console.print(f"note: {note}", highlight=False, markup=False)
    try:
        found = _compare(run, compared, out, jobs, budget, quiet, console)
    except StoreError as error:
        raise ValueError(str(error)) from None
    if found.best is None:
        raise typer.Exit(1)


def _compare(
    run: Run,
    compared: Compared,
    out: Path | None,
    jobs: int,
    budget: float | None,
    quiet: bool,
    console: Console,
) -> Stages:
    """Run the study, write what it found, and print the ranking."""
    end = None if budget is None else time.monotonic() + budget
    problems = {run.data.name: compared.problem}

    def do(tasks: list[Task]) -> None:
        left = list(pending(tasks, store).values())
        rest = None if end is None else max(0.0, end - time.monotonic())
        _follow(
            run_tasks(left, store, problems=problems, jobs=jobs, budget=rest),
            left,
            jobs,
            quiet,
            done=len(tasks) - len(left),
        )

    with Store(":memory:" if out is None else out / "results.sqlite") as store:
        if out is not None:
            run.write(out)
        try:
            found = run_stages(run, store, do)
        except KeyboardInterrupt:
            said = "" if out is None else "; the same command goes on from here"
            print(f"consilience: stopped{said}", file=sys.stderr)
            raise typer.Exit(1) from None
        if found.n_splits:
            console.print(_ranking(run, found))
        _print_failures(console, found.main)
        if found.n_splits < found.n_planned:
            said = f"the time was up: {found.n_splits} of {found.n_planned} splits are complete"
            run.notes.append(said)
            console.print(said + ("; the same command goes on" if out else ""), highlight=False)
        if out is None:
            console.print("nothing was written; --out FOLDER leaves a report and a model")
        else:
            _write_outputs(run, compared, found, store, out, console)
    return found


def _write_outputs(
    run: Run, compared: Compared, found: Stages, store: Store, out: Path, console: Console
) -> None:
    write_file(out / "results.csv", raw_csv(found.main))
    if found.best is not None:
        fitted = refit(run, compared.problem, found.best)
        model = TableModel(fitted, compared.views, found.best, run.target, compared.one_file)
        io.save(model, out / "model.skops")
        run.best = found.best
    run.write(out)
    page = write_report(run, found, store, out)
    console.print(f"report: {page}", highlight=False, markup=False, soft_wrap=True)
    if run.best:
        console.print(f"model:  {out / 'model.skops'} ({run.best})", highlight=False, markup=False)


def _read_inputs(inputs: list[str], options: dict[str, Any]) -> Compared:
    if len(inputs) == 1 and not Path(inputs[0]).exists():
        name = inputs[0]
        if name in DATASETS:
            given = [f"--{key}" for key, value in options.items() if value]
            if given:
                raise ValueError(f"{', '.join(given)} is for files, and {name} is a data set")
            return read_data_set(name)
        if not Path(name).suffix:
            raise ValueError(
                f"unknown data set {name!r}; known are {', '.join(DATASETS)}; nor is it a file"
            )
    return read_tables(parse_files(inputs), **options)


def _ranking(run: Run, found: Stages) -> Table:
    """The ranking with intervals, as in the report."""
    metric = run.options.metric.replace("_", " ")
    table = Table(title=f"{run.options.repeats} × {run.options.cv}-fold cross-validation")
    for column in ("rank", "method", metric, "95 % interval", "p", "fit seconds"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for number, row in enumerate(ranking(run, found.main), start=1):
        if not row.complete:
            table.add_row("-", escape(row.method), "no score", "", "", "")
            continue
        p = "" if np.isnan(row.p_value) else f"{row.p_value:.3f}"
        interval = "" if np.isnan(row.low) else f"{row.low:.3f} – {row.high:.3f}"
        values = f"{row.score:.4f}", interval, p, f"{row.fit_seconds:.2f}"
        table.add_row(str(number), escape(row.method), *values)
    return table


def _split(text: str | None) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


def _budget(text: str | None) -> float | None:
    """Seconds of ``90``, ``90s``, ``10m`` or ``2h``."""
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


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="model.skops of a comparison.")],
    files: Annotated[list[str], typer.Argument(help="Files: path or view=path.")],
    on: Annotated[
        str | None, typer.Option(help="Key column to join files by; by row order without it.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File of the predictions; standard output by default.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Between the cells of csv files.")] = None,
) -> None:
    """Predict the labels of new samples; views that no file has are missing."""
    fitted = load_model(model)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*have no view at all", category=UserWarning)
        found = predict_files(fitted, parse_files(files), on=on, delimiter=delimiter)
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    if out is None:
        print(found.to_csv(), end="")
        return
    _make_folder(out.parent)
    write_file(out, found.to_csv())
    print(f"{len(found.ids)} predictions: {out}")


@app.command("report")
def rebuild_report(
    folder: Annotated[Path, typer.Argument(help="Folder of a comparison.")],
) -> None:
    """Write the page of a comparison again from its results."""
    run = read_run(folder)
    database = folder / "results.sqlite"
    if not database.exists():
        raise ValueError(f"{folder} holds no results: there is no {database.name} in it")
    try:
        with Store(database) as store:
            path = write_report(run, stages(run, store.records()), store, folder)
    except StoreError as error:
        raise ValueError(str(error)) from None
    print(f"report: {path}")


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
    except OSError as error:
        if error.filename is None and error.strerror is None:
            raise
        _fail(f"{error.filename or 'writing'}: {error.strerror}")
    except Exception as error:
        # click's usage errors, whichever package typer takes them from
        if hasattr(error, "format_message"):
            _fail(error.format_message().replace("\n", " "))
        raise
    raise SystemExit(code if isinstance(code, int) else 0)
