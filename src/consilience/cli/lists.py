"""Commands about methods and data sets: ``methods``, ``datasets`` and ``fetch``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from consilience.cli.app import app
from consilience.cli.common import make_importable
from consilience.datasets import DATASETS, load_dataset
from consilience.methods import METHODS

__all__ = ["fetch", "list_datasets", "list_methods"]


@app.command("methods")
def list_methods() -> None:
    """List the available methods."""
    make_importable(".")
    table = Table("method", "description", "reference")
    for method in METHODS.values():
        table.add_row(method.name, method.summary, method.reference)
    Console().print(table)


@app.command("datasets")
def list_datasets() -> None:
    """List the available data sets and whether they have been downloaded."""
    table = Table("data set", "description", "downloaded")
    for dataset in DATASETS.values():
        table.add_row(dataset.name, dataset.summary, "yes" if dataset.is_available() else "no")
    Console().print(table)


@app.command()
def fetch(
    dataset: Annotated[str, typer.Argument(help="Name of a data set; see 'datasets'.")],
    quiet: Annotated[bool, typer.Option(help="Do not show a progress bar.")] = False,
) -> None:
    """Download a data set, unless that has been done before, and describe it."""
    bunch = load_dataset(dataset, progress=False if quiet else None)
    console = Console()
    console.print(repr(bunch.data), highlight=False, markup=False)
    console.print(bunch.DESCR, highlight=False, markup=False)
