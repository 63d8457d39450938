"""Commands that use the results of a comparison: ``predict`` and ``report``."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from textwrap import wrap
from typing import Annotated

import numpy as np
import typer

from consilience._atomic_write import write_atomically
from consilience._suggest import suggest
from consilience.benchmark.store import Store, StoreError
from consilience.cli.app import app
from consilience.cli.common import (
    SigningKey,
    make_folder,
    make_importable,
    parse_costs,
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
from consilience.comparison.explanation import explain_samples
from consilience.comparison.folder import MODEL_FILE_NAME, STORE_FILE_NAME
from consilience.comparison.prediction import (
    PredictionTable,
    load_model,
    predict_files,
    read_samples,
)
from consilience.comparison.record import read_run
from consilience.comparison.report import write_report
from consilience.comparison.study import collect_study
from consilience.comparison.trust_columns import TrustColumns
from consilience.tables import parse_files

__all__ = ["explain", "predict", "rebuild_report"]

MAX_EXPLAINED = 10
LINE_WIDTH = 80


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="model.skops of a comparison, or its folder.")],
    files: Annotated[list[str], typer.Argument(help="Files: path or view=path.")],
    on: Annotated[
        str | None,
        typer.Option(help="Key column to join files on; by default that of the comparison."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File for the predictions; standard output by default.")
    ] = None,
    key: Keys = None,
    normalise_keys: NormaliseKeys = False,
    transpose: Transpose = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    comment: Comment = None,
    na: Missing = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(help="Module whose classes the model may contain; repeatable."),
    ] = None,
    signing_key: SigningKey = None,
    sets: Annotated[
        float | None,
        typer.Option(
            help="Add the set of classes that misses the right one with this probability, such as "
            "0.1; needs a model of 'compare --calibrate', as the next three options do."
        ),
    ] = None,
    conflict: Annotated[
        bool,
        typer.Option("--conflict", help="Add the view that contradicts the others, and how far."),
    ] = False,
    advice: Annotated[
        bool, typer.Option("--advice", help="Add the missing view to measure next.")
    ] = False,
    costs: Annotated[
        str | None,
        typer.Option(
            help="Costs of views for --advice, such as rna=300,protein=900; by default those of "
            "the comparison, or equal ones."
        ),
    ] = None,
) -> None:
    """Predict the labels of new samples; views without a file are missing."""
    if out is not None and out.is_dir():
        raise ValueError(f"{out} is a folder; --out must be a file for the predictions")
    if out is not None and out.exists() and not out.is_file():
        raise ValueError(f"--out {out} cannot be written: it is not a regular file")
    if costs and not advice:
        raise ValueError("--costs needs --advice")
    wanted = TrustColumns(sets, conflict, advice, parse_costs(costs))
    if trust:
        make_importable(".")
    fitted = load_model(model, trusted=trust or (), key=read_signing_key(signing_key))
    given = parse_files(files)
    if out is not None and out.exists():
        for path in [*(file.path for file in given), model, model / MODEL_FILE_NAME]:
            if path.exists() and out.samefile(path):
                raise ValueError(f"--out {out} is a file to read; choose another name")
    options = reading_arguments(
        delimiter, decimal, encoding, comment, na, transpose, key, normalise_keys
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*have no view at all", category=UserWarning)
        predictions = predict_files(fitted, given, on=on, trust=wanted, **options)
    for note in predictions.notes:
        print(f"note: {note}", file=sys.stderr)
    for line in _describe_scores(predictions):
        print(line, file=sys.stderr)
    if out is None:
        print(predictions.to_csv(), end="")
        return
    make_folder(out.parent)
    write_atomically(out, predictions.to_csv())
    print(f"{len(predictions.ids)} predictions: {out}")


@app.command()
def explain(
    model: Annotated[Path, typer.Argument(help="model.skops of a comparison, or its folder.")],
    files: Annotated[list[str], typer.Argument(help="Files: path or view=path.")],
    sample: Annotated[
        list[str] | None,
        typer.Option(help="Key (or row number) of a sample; repeatable. By default the first ten."),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(help="Key column to join files on; by default that of the comparison."),
    ] = None,
    key: Keys = None,
    normalise_keys: NormaliseKeys = False,
    transpose: Transpose = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    comment: Comment = None,
    na: Missing = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(help="Module whose classes the model may contain; repeatable."),
    ] = None,
) -> None:
    """Say for single samples what each view says alone, and what all others say without it."""
    if trust:
        make_importable(".")
    fitted = load_model(model, trusted=trust or ())
    options = reading_arguments(
        delimiter, decimal, encoding, comment, na, transpose, key, normalise_keys
    )
    samples = read_samples(fitted, parse_files(files), on=on, **options)
    for note in samples.notes:
        print(f"note: {note}", file=sys.stderr)
    unknown = [name for name in sample or [] if name not in samples.ids]
    if unknown:
        raise ValueError(
            f"--sample {unknown[0]}: there is no such sample{suggest(unknown[0], samples.ids)}"
        )
    seen = np.flatnonzero(samples.data.present.any(axis=1))
    wanted = sample or [samples.ids[row] for row in seen[:MAX_EXPLAINED]]
    for explanation in explain_samples(fitted, samples, [samples.ids.index(n) for n in wanted]):
        print("\n".join(explanation.lines()))
    if sample is None and len(seen) > MAX_EXPLAINED:
        print(f"and {len(seen) - MAX_EXPLAINED} more; choose with --sample", file=sys.stderr)


def _describe_scores(predictions: PredictionTable) -> list[str]:
    """Metrics of the predictions, if the labels are known."""
    scores = predictions.scores
    if scores is None or not scores.samples:
        return []
    listed = ", ".join(f"{name}\xa0{value:.4f}" for name, value in scores.metrics.items())
    positive = f" (positive class: {scores.positive})" if scores.positive else ""
    text = f"scored on {scores.samples} samples with a label{positive}: {listed}"
    return [
        *(line.replace("\xa0", " ") for line in wrap(text, LINE_WIDTH, subsequent_indent="  ")),
        "(these are scores of new samples only if the comparison had no part of them)",
    ]


@app.command("report")
def rebuild_report(
    folder: Annotated[Path, typer.Argument(help="Folder of a comparison.")],
) -> None:
    """Rewrite the report of a comparison from its stored results."""
    run = read_run(folder)
    database = folder / STORE_FILE_NAME
    if not database.exists():
        raise ValueError(f"{folder} contains no results: it has no {database.name}")
    try:
        with Store(database) as store:
            path = write_report(run, collect_study(run, store.records()), store, folder)
    except StoreError as error:
        raise ValueError(str(error)) from None
    print(f"report: {path}")
