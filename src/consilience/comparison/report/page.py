"""Build ``report.html``: tables and figures of a run in one self-contained page."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from msgspec.structs import replace

from consilience._atomic_write import write_atomically
from consilience.benchmark.metrics import QUALITY_METRICS, find_metric
from consilience.benchmark.store import Store
from consilience.comparison.folder import MODEL_FILE_NAME, REPORT_FILE_NAME
from consilience.comparison.ranking import RankingRow, format_p_value, ranking
from consilience.comparison.record import Run
from consilience.comparison.report import figures, summaries
from consilience.comparison.report.curves import (
    Curves,
    class_scores,
    curves_figure,
    method_curves,
    view_curves,
)
from consilience.comparison.report.features import features_figure
from consilience.comparison.report.samples import map_figure, suspicious_samples, wrong_rows
from consilience.comparison.report.text import methods_paragraph, references
from consilience.comparison.report.trust import trust_context
from consilience.comparison.report.verdict import verdict
from consilience.comparison.report.views import pattern_figure, redundancy_figure, view_pairs
from consilience.comparison.study import StudyResults, failures

__all__ = ["build_page", "write_report"]

MAX_CONFUSION_CLASSES = 60
MAX_MISSING_VIEW_METHODS = 5  # columns of the table about missing views
MAX_COMMAND_FILES = 3  # in the example command for predictions
MAX_ERROR_PAIRS = 5
MAX_CONFUSIONS = 5
MAX_CURVES = 5
MAX_PAIRS = 15  # of views in the table
MAX_LISTED_COLUMNS = 40  # of a role; more are counted


def write_report(run: Run, results: StudyResults, store: Store, folder: Path) -> Path:
    """Write the page completely or not at all."""
    path = folder / REPORT_FILE_NAME
    write_atomically(path, build_page(run, results, store))
    return path


def build_page(run: Run, results: StudyResults, store: Store) -> str:
    """Render the page."""
    environment = Environment(
        loader=PackageLoader("consilience.comparison.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=_format_number,
        seconds=_format_seconds,
        percent=_format_percent,
        p=format_p_value,
        sentence_case=lambda text: text[:1].upper() + text[1:],
    )
    return environment.get_template("page.html.j2").render(**_context(run, results, store))


def _context(run: Run, results: StudyResults, store: Store) -> dict[str, Any]:
    rows = ranking(run, results)
    complete = [row for row in rows if row.complete and not row.is_chance]
    metric = find_metric(run.options.metric)
    runners = {record.runner for record in results.main.records}
    environments = [env for runner, env in store.environments().items() if runner in runners]
    return {
        "run": run,
        "metric": run.metric_title,
        "n_methods": len(run.options.methods) - len(run.left_out),
        "rows": rows,
        "results": results,
        "verdict": verdict(run, results, store),
        "chance_metric": metric.chance_metric.replace("_", " "),
        "lower_is_better": metric.lower_is_better,
        "has_missing": any(view.missing_rows or view.missing_cells for view in run.data.views),
        "command": shlex.join(run.command),
        "predict_command": _predict_command(run),
        "environment": environments[-1] if environments else {},
        "failures": failures(run, results),
        "method_notes": summaries.method_notes(results.main),
        "panels": _metric_panels(run, results),
        "tuned": summaries.tuned_parameters(results.main),
        "durations": summaries.durations(results.main, [row.method for row in complete]),
        "pattern_svg": pattern_figure(run),
        "features_svg": None if run.features is None else features_figure(run.features),
        "paragraph": methods_paragraph(run, results) if complete else "",
        "references": references(run, results) if complete else [],
        "max_columns": MAX_LISTED_COLUMNS,
        "max_curves": MAX_CURVES,
        "lacks_views": any(view.missing_rows for view in run.data.views),
        "n_other_patterns": run.data.samples - sum(p.samples for p in run.data.patterns),
        **trust_context(run),
        **_figures(run, results, store, rows, complete),
    }


@dataclass(frozen=True)
class MetricPanel:
    """The ranking by one metric; ``scores`` are its means by method, for the overview."""

    name: str
    title: str
    lower_is_better: bool
    chance_metric: str
    rows: list[RankingRow]
    svg: Markup
    scores: dict[str, float]


def _metric_panels(run: Run, results: StudyResults) -> list[MetricPanel]:
    """Rankings by all metrics that are defined, that of the comparison first."""
    panels: list[MetricPanel] = []
    for name in dict.fromkeys([run.options.metric, *QUALITY_METRICS]):
        metric = find_metric(name)
        if name == "f1" and len(run.data.classes) > 2:
            continue  # the same as f1_macro
        seen = replace(run, options=replace(run.options, metric=name))
        rows = ranking(seen, results)
        if not any(row.complete and not row.is_chance for row in rows):
            continue
        svg = figures.ranking_figure(rows, seen.metric_title, f"ranking-{len(panels)}")
        scores = {row.method: row.score for row in rows if row.complete}
        panels.append(
            MetricPanel(
                name,
                seen.metric_title,
                metric.lower_is_better,
                metric.chance_metric.replace("_", " "),
                rows,
                svg,
                scores,
            )
        )
    return panels


def _predict_command(run: Run) -> str:
    """Example command that predicts new samples."""
    views = [view.name for view in run.data.views]
    if run.single_file:
        files = ["NEW_FILE"]
    else:
        files = [f"{view}=NEW_FILE" for view in views[:MAX_COMMAND_FILES]]
        files += ["..."] if len(views) > MAX_COMMAND_FILES else []
    key = ["--on", run.on] if run.on else []
    return shlex.join(
        ["consilience", "predict", MODEL_FILE_NAME, *files, *key, "--out", "predictions.csv"]
    )


def _figures(
    run: Run,
    results: StudyResults,
    store: Store,
    rows: list[RankingRow],
    complete: list[RankingRow],
) -> dict[str, Any]:
    """Figures, and the numbers next to them; None where there is nothing to show."""
    nothing = dict.fromkeys(
        (
            "time_svg", "calibration_svg", "curve_svg", "roc_svg", "pr_svg", "view_roc_svg",
            "view_pr_svg", "redundancy_svg", "map_svg", "importance_svg", "calibration",
            "calibrated_method", "missing_view_scores", "common_errors", "curves",
        )
    )  # fmt: skip
    nothing |= {
        key: [] for key in ("importances", "confusions", "class_scores", "pairs", "suspicious")
    }
    if not complete:
        return nothing
    metric, best = run.metric_title, results.best
    chance = next((row.score for row in rows if row.is_chance), None)
    overview = {"time_svg": figures.time_figure(rows, metric)}
    if best is None:
        return {**nothing, **overview}
    predictions = summaries.out_of_fold_predictions(store, results.main, best)
    matrix = summaries.confusion_matrix(run, predictions)
    method, calibration = _best_calibration(results, store, complete)
    curves = summaries.learning_curves(run, results)
    permutation = summaries.importance(results, "permutation")
    shapley = summaries.importance(results, "shapley")
    several_views = len(run.data.views) > 1
    pairs = view_pairs(run, results, find_metric(run.options.metric).sign)
    best_methods = [row.method for row in complete[:MAX_MISSING_VIEW_METHODS]]
    missing_view_scores = summaries.missing_view_scores(results.main, best_methods)
    suspicious = suspicious_samples(run, results, store, [row.method for row in complete])
    return {
        **nothing,
        **overview,
        **_curve_figures(run, results, store, complete),
        "confusions": _confusions(run, results, store, complete),
        "class_scores": class_scores(matrix, run.data.classes),
        "pairs": pairs[:MAX_PAIRS],
        "n_pairs": len(pairs),
        "n_all_pairs": comb(len(run.data.views), 2),
        "redundancy_svg": redundancy_figure(run, results, metric),
        "suspicious": suspicious,
        "map_svg": map_figure(run, wrong_rows(results, store), suspicious),
        "common_errors": _common_errors(matrix, run.data.classes),
        "calibration_svg": None if calibration is None else figures.calibration_figure(calibration),
        "calibration": calibration,
        "calibrated_method": method,
        "curve_svg": figures.curve_figure(curves, metric, chance) if curves else None,
        "curves": curves,
        "importance_svg": figures.importance_figure(permutation, shapley, metric)
        if permutation
        else None,
        "importances": [
            (view, *permutation[view], *shapley.get(view, (np.nan, np.nan)))
            for view in sorted(permutation, key=lambda v: -shapley.get(v, (0.0, 0.0))[0])
        ],
        "missing_view_scores": missing_view_scores if several_views else None,
    }


def _confusions(
    run: Run, results: StudyResults, store: Store, complete: list[RankingRow]
) -> list[tuple[str, Markup]]:
    """Confusion matrices of the best methods."""
    n_classes = len(run.data.classes)
    if n_classes > MAX_CONFUSION_CLASSES:
        return []
    n_shown = MAX_CONFUSIONS if n_classes <= figures.MAX_CLASSES_WITH_COUNTS else 1
    svgs = []
    for number, row in enumerate(complete[:n_shown]):
        folds = summaries.out_of_fold_predictions(store, results.main, row.method)
        matrix = summaries.confusion_matrix(run, folds)
        svg = figures.confusion_figure(matrix, run.data.classes, f"confusion-{number}")
        svgs.append((row.method, svg))
    return svgs


def _curve_figures(
    run: Run, results: StudyResults, store: Store, complete: list[RankingRow]
) -> dict[str, Markup]:
    """ROC and precision–recall curves of methods and views."""
    methods: list[Curves] = []
    for row in complete[:MAX_CURVES]:
        folds = summaries.out_of_fold_predictions(store, results.main, row.method)
        curve = method_curves(run, row.method, folds)
        methods += [] if curve is None else [curve]
    svgs = {}
    for name, curves in (("", methods), ("view_", view_curves(results)[:MAX_CURVES])):
        if curves:
            svgs[f"{name}roc_svg"] = curves_figure(curves, "roc", f"{name}roc")
            svgs[f"{name}pr_svg"] = curves_figure(curves, "pr", f"{name}pr")
    return svgs


def _best_calibration(
    results: StudyResults, store: Store, complete: list[RankingRow]
) -> tuple[str | None, summaries.Calibration | None]:
    """Calibration of the best method that has probabilities."""
    for row in complete:
        predictions = summaries.out_of_fold_predictions(store, results.main, row.method)
        calibration = summaries.calibration(predictions)
        if calibration is not None:
            return row.method, calibration
    return None, None


def _common_errors(matrix: np.ndarray, classes: list[str]) -> list[tuple[str, str, int, int]]:
    """The most frequent errors: true class, predicted class, count, size of the true class."""
    wrong = matrix * (1 - np.eye(len(classes), dtype=int))
    order = np.argsort(-wrong, axis=None, kind="stable")[:MAX_ERROR_PAIRS]
    pairs = [divmod(int(flat_index), len(classes)) for flat_index in order]
    return [
        (classes[i], classes[j], int(wrong[i, j]), int(matrix[i].sum()))
        for i, j in pairs
        if wrong[i, j]
    ]


def _format_number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None or np.isnan(value) else f"{value:.{digits}f}"


def _format_seconds(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.{1 if value >= 100 else 2 if value >= 1 else 3}f}"


def _format_percent(value: float) -> str:
    return f"{100 * value:.1f} %"
