"""The command line: ``consilience compare``, ``methods``, ``datasets``, ``fetch``.

Mistakes of the caller end with one sentence on standard error and exit code 2.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any, NoReturn

import numpy as np

try:
    import typer
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining
    from rich.table import Table
except ImportError as error:
    raise SystemExit(
        f"consilience: the command line needs {error.name}; pip install 'consilience[cli]'"
    ) from None

from consilience.benchmark.recipes import RECIPES, get_recipes
from consilience.benchmark.run import FoldResult, MethodSummary, cross_validate_recipes, rank
from consilience.datasets import DATASETS, DatasetError, load_dataset

__all__ = ["app", "main"]

app = typer.Typer(
    help="Compare classifiers on samples described by several views.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def compare(
    dataset: Annotated[str, typer.Argument(help="Name of a data set; see 'datasets'.")],
    methods: Annotated[
        str | None, typer.Option(help="Methods, separated by commas; all of them by default.")
    ] = None,
    cv: Annotated[int, typer.Option(help="Number of folds.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of folds and methods.")] = 0,
    jobs: Annotated[int, typer.Option(help="Number of processes.")] = 1,
) -> None:
    """Cross-validate methods on a data set and print their ranking."""
    if dataset not in DATASETS:
        raise ValueError(f"unknown data set {dataset!r}; known are {', '.join(DATASETS)}")
    recipes = get_recipes([name.strip() for name in methods.split(",")] if methods else None)
    bunch = load_dataset(dataset)
    smallest = int(np.unique(bunch.target, return_counts=True)[1].min())
    if not 2 <= cv <= smallest:
        raise ValueError(f"--cv must lie between 2 and {smallest}, the size of the least class")
    if jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {jobs}")
    if not 0 <= seed < 2**31:
        raise ValueError(f"--seed must lie between 0 and {2**31 - 1}, got {seed}")
    console = Console()
    console.print(f"[bold]{dataset}[/]: {len(np.unique(bunch.target))} classes")
    console.print(repr(bunch.data), highlight=False, markup=False)
    results = cross_validate_recipes(
        recipes, bunch.data, bunch.target, n_splits=cv, seed=seed, n_jobs=jobs
    )
    done = _with_progress(results, total=len(recipes) * cv)
    summaries = rank(done)
    console.print(_ranking_table(summaries, cv))
    for failed in [s for s in summaries if s.error]:
        console.print(f"{failed.method} failed: {failed.error}", markup=False)
    if all(s.error for s in summaries):
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


def _with_progress(results: Any, total: int) -> list[FoldResult]:
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining()]
    done = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("fitting", total=total)
        for result in results:
            done.append(result)
            progress.update(task, advance=1, description=f"{result.method:<16}")
    return done


def _ranking_table(summaries: list[MethodSummary], cv: int) -> Table:
    table = Table(title=f"Accuracy, {cv}-fold cross-validation")
    for column in ("rank", "method", "accuracy", "± between folds", "fit seconds"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for place, s in enumerate(summaries, start=1):
        if s.error:
            table.add_row("-", s.method, "failed", "", "")
        else:
            numbers = f"{s.accuracy:.4f}", f"{s.deviation:.4f}", f"{s.fit_seconds:.2f}"
            table.add_row(str(place), s.method, *numbers)
    return table


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
    except DatasetError as error:
        _fail(str(error), code=1)
    except Exception as error:
        # click's usage errors, whichever package typer takes them from
        if hasattr(error, "format_message"):
            _fail(error.format_message().replace("\n", " "))
        raise
    raise SystemExit(code if isinstance(code, int) else 0)
