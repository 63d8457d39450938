"""What is done with the results of a comparison: ``predict`` and ``report``."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from consilience.benchmark.publish import write_file
from consilience.benchmark.store import Store, StoreError
from consilience.cli.app import app
from consilience.cli.common import make_folder
from consilience.compare.inputs import parse_files
from consilience.compare.predict import load_model, predict_files
from consilience.compare.record import read_run
from consilience.compare.study import stages
from consilience.report import write_report

__all__ = ["predict", "rebuild_report"]


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="model.skops of a comparison, or its folder.")],
    files: Annotated[list[str], typer.Argument(help="Files: path or view=path.")],
    on: Annotated[
        str | None, typer.Option(help="Key column to join files by; that of the comparison.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File of the predictions; standard output by default.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Between the cells of csv files.")] = None,
) -> None:
    """Predict the labels of new samples; views that no file has are missing."""
    if out is not None and out.is_dir():
        raise ValueError(f"{out} is a folder; --out names the file of the predictions")
    fitted = load_model(model)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*have no view at all", category=UserWarning)
        result = predict_files(fitted, parse_files(files), on=on, delimiter=delimiter)
    for note in result.notes:
        print(f"note: {note}", file=sys.stderr)
    if out is None:
        print(result.to_csv(), end="")
        return
    make_folder(out.parent)
    write_file(out, result.to_csv())
    print(f"{len(result.ids)} predictions: {out}")


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
