"""Build ``report.html``: tables and figures of a run, in one page that loads nothing."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from consilience.benchmark.publish import write_file
from consilience.benchmark.results import LOWER_IS_BETTER
from consilience.benchmark.store import Store
from consilience.compare.predict import MODEL_FILE_NAME
from consilience.compare.record import Run
from consilience.compare.study import StudyResults
from consilience.report import figures, summaries

__all__ = ["build_page", "write_report"]

FILE = "report.html"
SIGNIFICANT = 0.05
MANY_CLASSES = 60
METHODS_WITHOUT_VIEW = 5  # columns of the table of missing views
FILES_SHOWN = 3  # in the command that predicts


def write_report(run: Run, stages: StudyResults, store: Store, folder: Path) -> Path:
    """Write the page as a whole or not at all."""
    path = folder / FILE
    write_file(path, build_page(run, stages, store))
    return path


def build_page(run: Run, stages: StudyResults, store: Store) -> str:
    """The page as text."""
    environment = Environment(
        loader=PackageLoader("consilience.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=_number, seconds=_seconds, percent=_percent, p=summaries.format_p_value
    )
    return environment.get_template("page.html.j2").render(**_content(run, stages, store))


def _content(run: Run, stages: StudyResults, store: Store) -> dict[str, Any]:
    rows = summaries.ranking(run, stages.main)
    known = [row for row in rows if row.complete]
    used = {record.runner for record in stages.main.records}
    runs = [value for key, value in store.environments().items() if key in used]
    return {
        "run": run,
        "metric": run.options.metric.replace("_", " "),
        "rows": rows,
        "stages": stages,
        "lower": run.options.metric in LOWER_IS_BETTER,
        "equal": [row for row in known[1:] if row.p_value >= SIGNIFICANT],
        "single": next((row for row in known if row.method == "Best view"), None),
        "gaps": any(view.missing_rows or view.missing_cells for view in run.data.views),
        "command": shlex.join(run.command),
        "predict_command": _predict_command(run),
        "environment": runs[-1] if runs else {},
        "failures": stages.main.failure_summary(),
        "remarks": summaries.remarks(stages.main),
        **_drawn(run, stages, store, rows, known),
    }


def _predict_command(run: Run) -> str:
    """How to predict new samples; all views are in one file, or each has its own."""
    views = [view.name for view in run.data.views]
    files = (
        ["NEW_FILE"] if run.single_file else [f"{view}=NEW_FILE" for view in views[:FILES_SHOWN]]
    )
    files += ["..."] if len(views) > FILES_SHOWN and not run.single_file else []
    key = ["--on", run.on] if run.on else []
    return shlex.join(
        ["consilience", "predict", MODEL_FILE_NAME, *files, *key, "--out", "predictions.csv"]
    )


def _drawn(
    run: Run,
    stages: StudyResults,
    store: Store,
    rows: list[summaries.Row],
    known: list[summaries.Row],
) -> dict[str, Any]:
    """Figures, and the numbers beside them; None where there is nothing to show."""
    nothing = dict.fromkeys(
        (
            "ranking_svg", "time_svg", "confusion_svg", "calibration_svg", "curve_svg",
            "importance_svg", "calibrated", "calibrated_method", "lost", "errors", "curves",
        )
    )  # fmt: skip
    if not known:
        return {**nothing, "importances": []}
    metric, best = run.options.metric.replace("_", " "), known[0].method
    parts = summaries.out_of_fold(run, store, stages.main, best)
    table = summaries.confusion(run, parts)
    method, calibrated = _calibrated(run, stages, store, known)
    curves = summaries.curves(run, stages)
    permutation = summaries.importance(stages, "permutation")
    shapley = summaries.importance(stages, "shapley")
    several = len(run.data.views) > 1
    lost = summaries.missing_views(stages.main, [r.method for r in known[:METHODS_WITHOUT_VIEW]])
    show_confusion = len(run.data.classes) <= MANY_CLASSES
    return {
        "ranking_svg": figures.ranking_figure(rows, metric),
        "time_svg": figures.time_figure(rows, metric),
        "confusion_svg": figures.confusion_figure(table, run.data.classes)
        if show_confusion
        else None,
        "errors": _common_errors(table, run.data.classes),
        "calibration_svg": None if calibrated is None else figures.calibration_figure(calibrated),
        "calibrated": calibrated,
        "calibrated_method": method,
        "curve_svg": figures.curve_figure(curves, metric) if curves else None,
        "curves": curves,
        "importance_svg": figures.importance_figure(permutation, shapley) if permutation else None,
        "importances": [
            (view, *permutation[view], *shapley.get(view, (np.nan, np.nan)))
            for view in sorted(permutation, key=lambda v: -shapley.get(v, (0.0, 0.0))[0])
        ],
        "lost": lost if several else None,
    }


def _calibrated(
    run: Run, stages: StudyResults, store: Store, known: list[summaries.Row]
) -> tuple[str | None, summaries.Calibration | None]:
    """Calibration of the best method that has probabilities."""
    for row in known:
        result = summaries.calibration(summaries.out_of_fold(run, store, stages.main, row.method))
        if result is not None:
            return row.method, result
    return None, None


def _common_errors(table: np.ndarray, classes: list[str]) -> list[tuple[str, str, int, int]]:
    """Pairs of classes that are mistaken most often: true, predicted, how often, out of."""
    wrong = table * (1 - np.eye(len(classes), dtype=int))
    order = np.argsort(-wrong, axis=None, kind="stable")[:5]
    pairs = [divmod(int(place), len(classes)) for place in order]
    return [
        (classes[i], classes[j], int(wrong[i, j]), int(table[i].sum()))
        for i, j in pairs
        if wrong[i, j]
    ]


def _number(value: float, digits: int = 4) -> str:
    return "–" if value is None or np.isnan(value) else f"{value:.{digits}f}"


def _seconds(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.{1 if value >= 100 else 2 if value >= 1 else 3}f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
