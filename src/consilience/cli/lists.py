"""What there is to compare: ``methods``, ``datasets`` and ``fetch``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from consilience.benchmark.recipes import RECIPES
from consilience.cli.app import app
from consilience.datasets import DATASETS, load_dataset

__all__ = ["fetch", "list_datasets", "list_methods"]


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
        table.add_row(dataset.name, dataset.summary, "yes" if dataset.is_available() else "no")
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
